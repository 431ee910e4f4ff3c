// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/garbage_collector.h"

#include <utility>

#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::string_view kPodKey = "pod/";
constexpr std::string_view kSetKey = "replicaset/";
constexpr std::string_view kStrandedKey = "stranded/";
// A node may be registered again; upstream waits as long before it ends the node's pods.
constexpr Duration kNodeQuarantine = std::chrono::seconds(40);
// What the watch is about to show anyway, a new owner above all, is waited for before anybody asks.
constexpr Duration kPatience = std::chrono::milliseconds(200);

bool IsAppsKind(const ObjectView& object, std::string_view kind) {
  return object.controller && object.controller->kind == kind && object.controller->api_version == kAppsVersion;
}

std::string KeyOf(const PodView& pod) { return std::string(kPodKey) + pod.Key(); }
std::string KeyOf(const WorkloadView& set) { return std::string(kSetKey) + set.Key(); }

// The uid of the object in an answer.
std::string UidIn(const std::string& body) {
  const auto document = codec::ParseJson(body);
  if (!document.ok() || !document->is_object()) return {};
  const json::object* metadata = ObjectOf(document->get_object(), "metadata");
  return metadata == nullptr ? std::string() : std::string(StringOf(*metadata, "uid"));
}

}  // namespace

GarbageCollector::GarbageCollector(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop,
          client::WorkQueueOptions{.in_flight_max = context.options.in_flight_max, .seed = context.options.seed + 31},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })) {}

bool GarbageCollector::HasOwner(const ObjectView& object, bool is_pod) const {
  if (is_pod) {
    const ObjectIndex<WorkloadView>* owners = object.controller ? context_.OwnersOf(*object.controller) : nullptr;
    return owners == nullptr || owners->FindUid(object.controller->uid);
  }
  return !IsAppsKind(object, "Deployment") || context_.deployments.FindUid(object.controller->uid);
}

void GarbageCollector::OnSynced() {
  is_synced_ = true;
  context_.pods.ForEach([this](const PodView& pod) { OnPod(pod); });
  for (const auto& [uid, sets] : context_.replica_sets.by_owner()) {
    for (const auto& [key, set] : sets) OnReplicaSet(*set);
  }
}

void GarbageCollector::OnPod(const PodView& pod) {
  if (!is_synced_) return;
  if (!HasOwner(pod, true)) queue_->AddAfter(KeyOf(pod), kPatience);
  if (IsStranded(pod)) queue_->AddAfter(std::string(kStrandedKey) + pod.Key(), kNodeQuarantine);
}

bool GarbageCollector::IsStranded(const PodView& pod) const {
  return !pod.node_name.empty() && !context_.nodes.contains(pod.node_name);
}

void GarbageCollector::OnNodeGone(const std::string& name) {
  if (!is_synced_) return;
  context_.pods.ForEach([this, &name](const PodView& pod) {
    if (pod.node_name == name) queue_->AddAfter(std::string(kStrandedKey) + pod.Key(), kNodeQuarantine);
  });
}

void GarbageCollector::SyncStranded(const std::string& key, const std::string& pod_key, WorkQueue::Done done) {
  const auto pod = context_.pods.Find(pod_key);
  if (!pod || !IsStranded(*pod)) return done(true);
  context_.Read(ObjectPath(kCorePrefix, {}, "nodes", pod->node_name),
                [this, key, pod, done](Expected<net::Response> response) {
                  if (response.ok()) return done(true);  // the watch will show it
                  if (response.error().code != ErrorCode::kNotFound) {
                    context_.CountFailure("looking for the node of", key, response.error());
                    return done(false);
                  }
                  context_.Delete(ObjectPath(kCorePrefix, pod->namespace_name, "pods", pod->name), *pod,
                                  {.is_immediate = true}, AfterDelete(key, done));
                });
}

void GarbageCollector::OnReplicaSet(const WorkloadView& set) {
  if (is_synced_ && !HasOwner(set, false)) queue_->AddAfter(KeyOf(set), kPatience);
}

void GarbageCollector::OnPodOwnerGone(const WorkloadView& owner) {
  RememberGone(owner.uid);
  for (const auto& [key, pod] : context_.pods.Owned(owner.uid)) queue_->Add(KeyOf(*pod));
}

void GarbageCollector::OnDeploymentGone(const WorkloadView& deployment) {
  RememberGone(deployment.uid);
  for (const auto& [key, set] : context_.replica_sets.Owned(deployment.uid)) queue_->Add(KeyOf(*set));
}

void GarbageCollector::RememberGone(const std::string& uid) {
  if (gone_.size() >= kGoneMax) gone_.clear();
  gone_.insert(uid);
}

void GarbageCollector::Sync(const std::string& key, WorkQueue::Done done) {
  if (key.starts_with(kStrandedKey)) return SyncStranded(key, key.substr(kStrandedKey.size()), std::move(done));
  const bool is_pod = key.starts_with(kPodKey);
  const std::string object_key = key.substr((is_pod ? kPodKey : kSetKey).size());
  std::shared_ptr<const ObjectView> object;
  if (is_pod) {
    object = context_.pods.Find(object_key);
  } else {
    object = context_.replica_sets.Find(object_key);
  }
  if (!object || object->is_deleted || HasOwner(*object, is_pod)) return done(true);
  const std::string path = ObjectPath(is_pod ? kCorePrefix : kAppsPrefix, object->namespace_name,
                                      is_pod ? "pods" : "replicasets", object->name);
  const api::OwnerReference owner = *object->controller;
  if (gone_.contains(owner.uid)) return Collect(key, *object, path, std::move(done));
  const OwnerKind* kind = is_pod ? Context::FindOwnerKind(owner) : nullptr;
  const std::string owner_path = kind == nullptr
                                     ? ObjectPath(kAppsPrefix, object->namespace_name, "deployments", owner.name)
                                     : ObjectPath(kind->prefix, object->namespace_name, kind->plural, owner.name);
  context_.Read(owner_path, [this, key, object, path, owner, done](Expected<net::Response> response) {
    if (response.ok() && UidIn(response->body) == owner.uid) return done(true);  // the watch will show it
    if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
      context_.CountFailure("looking for the owner of", key, response.error());
      return done(false);
    }
    RememberGone(owner.uid);
    Collect(key, *object, path, done);
  });
}

void GarbageCollector::Collect(const std::string& key, const ObjectView& object, const std::string& path,
                               WorkQueue::Done done) {
  context_.Delete(path, object, {.is_version_strict = true}, AfterDelete(key, std::move(done)));
}

Context::Answer GarbageCollector::AfterDelete(const std::string& key, WorkQueue::Done done) {
  return [this, key, done = std::move(done)](Expected<net::Response> response) {
    if (response.ok()) {
      ++context_.objects_collected;
      return done(true);
    }
    if (response.error().code == ErrorCode::kNotFound) return done(true);
    // A conflict: it changed, so look at it again.
    if (response.error().code != ErrorCode::kConflict) context_.CountFailure("collecting", key, response.error());
    done(false);
  };
}

}  // namespace berth::controllers
