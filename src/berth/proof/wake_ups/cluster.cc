// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/cluster.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_node.h"
#include "berth/api/decode_pod.h"
#include "berth/base/check.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/load.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/framework/object_kinds.h"
#include "berth/plugins/registry.h"

namespace berth::wake_ups {
namespace {

constexpr Time kEpoch = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};
// Longer than any back-off, and shorter than the time after which the flush takes a pod.
constexpr Duration kRun = std::chrono::minutes(1);
// The flush runs every 30 seconds and takes pods that have waited for five minutes.
constexpr Duration kFlush = std::chrono::seconds(331);

}  // namespace

Cluster::Cluster(Family family, int release_minor, std::uint64_t seed) : family_(family) {
  config::FeatureGateSettings settings;
  settings.release_minor = release_minor;
  settings.gates = GatesOf(family);
  const auto gates = config::FeatureGates::Parse(settings);
  BERTH_CHECK(gates.ok(), gates.error().message);
  whatif::OfflineOptions options;
  auto configuration = config::LoadConfiguration(ConfigurationOf(family), *gates);
  BERTH_CHECK(configuration.ok(), configuration.error().message);
  options.configuration = std::move(*configuration);
  options.plugins = plugins::InTreePlugins();
  options.now = kEpoch;
  options.seed = seed;
  options.evicted_pods_stay = HasGroups(family);
  auto made = whatif::OfflineCluster::Make(std::move(options));
  BERTH_CHECK(made.ok(), made.error().message);
  cluster_ = std::move(*made);
}

void Cluster::Set(const Item& item) {
  if (item.kind == Kind::kNode) {
    const std::string text = ManifestOf(item, family_);
    auto node = api::DecodeNode(text);
    BERTH_CHECK(node.ok(), text, node.error().message);
    return cluster_->SetNode(std::move(*node));
  }
  if (IsPod(item.kind)) return SetPod(PodOf(item));
  framework::AnyObject object = ObjectOf(item);
  if (const auto* group = std::get_if<std::shared_ptr<const api::PodGroup>>(&object)) {
    const auto before = cluster_->objects().Of<api::PodGroup>().Get(framework::KeyOf(object));
    if (before != nullptr && before->metadata.uid == (*group)->metadata.uid) {
      api::PodGroup changed = **group;
      changed.conditions = before->conditions;
      object = std::make_shared<const api::PodGroup>(std::move(changed));
    }
  }
  cluster_->SetObject(std::move(object));
}

void Cluster::SetPod(api::Pod&& pod) {
  if (const auto before = cluster_->FindPod(pod.metadata.uid); before != nullptr && HasGroups(family_)) {
    if (pod.spec.node_name.empty()) pod.spec.node_name = before->spec.node_name;
    if (before->metadata.deletion_time) {
      pod.metadata.deletion_time = before->metadata.deletion_time;
      pod.status.conditions = before->status.conditions;
    }
  }
  cluster_->SetPod(std::move(pod));
}

void Cluster::Remove(const Item& item) {
  if (item.kind == Kind::kNode)
    return cluster_->RemoveNode((*api::DecodeNode(ManifestOf(item, family_)))->metadata.name);
  if (IsPod(item.kind)) return cluster_->RemovePod(PodOf(item).metadata.uid);
  cluster_->RemoveObject(ObjectKindOf(item), framework::KeyOf(ObjectOf(item)));
}

void Cluster::Copy(const Item& item, const Cluster& other) {
  if (IsPod(item.kind)) {
    const auto pod = other.cluster_->FindPod(PodOf(item).metadata.uid);
    BERTH_CHECK(pod != nullptr, ManifestOf(item, family_));
    return cluster_->SetPod(api::Pod(*pod));
  }
  if (item.kind != Kind::kPodGroup) return Set(item);
  cluster_->SetObject(other.cluster_->objects().Of<api::PodGroup>().Get(framework::KeyOf(ObjectOf(item))));
}

void Cluster::CopyWaiting(const Item& pod, const std::string& name, const Cluster& other, bool with_room) {
  const auto waiting = other.cluster_->FindPod(PodOf(pod).metadata.uid);
  BERTH_CHECK(waiting != nullptr, ManifestOf(pod, family_));
  api::Pod copy(*waiting);
  copy.metadata.name = name;
  if (with_room) copy.status.nominated_node_name = other.NominatedNodeOf(pod);
  cluster_->SetPod(std::move(copy));
}

void Cluster::CopyResourceClaims(const Cluster& other) {
  for (const auto& [key, claim] : other.cluster_->objects().Of<api::ResourceClaim>()) cluster_->SetObject(claim);
}

std::uint64_t Cluster::Run() {
  cluster_->Run(kRun);
  return tries();
}

void Cluster::RetryGroups() {
  // An event that changes nothing makes the cluster try them again.
  cluster_->RemoveNode("no such node");
  cluster_->Run(kRun);
}

void Cluster::WaitForFlush() {
  cluster_->AdvanceTo(cluster_->now() + kFlush);
  cluster_->Run(kRun);
}

std::string Cluster::NodeOf(const Item& pod) const { return cluster_->NodeOf(PodOf(pod)); }
std::string Cluster::WhyNot(const Item& pod) const { return cluster_->WhyNot(PodOf(pod)); }
bool Cluster::IsGated(const Item& pod) const {
  const auto standing = cluster_->core().queue().Find(PodOf(pod).metadata.uid);
  return standing && standing->place == queue::Place::kGated;
}
std::string Cluster::NominatedNodeOf(const Item& pod) const {
  return std::string(cluster_->core().queue().nominator().NominatedNode(PodOf(pod).metadata.uid));
}

void Cluster::SortAsTried(std::vector<Item>& members) const {
  const auto key = [this](const Item& member) {
    const auto last = cluster_->core().decisions().Find(UidOf(member, family_));
    return last ? std::tuple(-last->attempt, last->time, member.index) : std::tuple(0, Time::max(), member.index);
  };
  std::ranges::sort(members, {}, key);
}

std::vector<std::string> Cluster::TakeEvicted() {
  std::vector<std::string> uids;
  for (; evictions_taken_ < cluster_->evictions().size(); ++evictions_taken_)
    uids.push_back(cluster_->evictions()[evictions_taken_].pod->metadata.uid);
  return uids;
}

framework::ObjectKind Cluster::ObjectKindOf(const Item& item) {
  const auto kind = framework::ObjectKindNamed(NameOf(item.kind));
  BERTH_CHECK(kind.has_value(), NameOf(item.kind));
  return *kind;
}

api::Pod Cluster::PodOf(const Item& item) const {
  const std::string text = ManifestOf(item, family_);
  auto pod = api::DecodePod(text);
  BERTH_CHECK(pod.ok(), text, pod.error().message);
  return **pod;
}

framework::AnyObject Cluster::ObjectOf(const Item& item) const {
  const std::string text = ManifestOf(item, family_);
  const auto element = api::ParseObject(NameOf(item.kind), text);
  BERTH_CHECK(element.ok(), text, element.error().message);
  auto object = framework::DecodeObject(ObjectKindOf(item), *element);
  BERTH_CHECK(object.ok(), text, object.error().message);
  return std::move(*object);
}

}  // namespace berth::wake_ups
