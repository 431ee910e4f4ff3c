// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/garbage_collector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/codec/json_reader.h"
#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

// What the watches are about to show anyway, a new owner above all, is waited for before anybody asks.
constexpr Duration kPatience = std::chrono::milliseconds(200);

std::string_view GroupOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::string PathOf(const ResourceKind& kind, const ObjectView& object) {
  return ObjectPath(kind.prefix, object.namespace_name, kind.plural, object.name);
}

// An owner as a dependent names it: the same uid elsewhere is another claim.
std::string AbsentKey(std::string_view group, std::string_view kind, std::string_view namespace_name,
                      std::string_view name, std::string_view uid) {
  std::string key;
  for (const std::string_view part : {group, kind, namespace_name, name, uid}) key.append(part).append("/");
  return key;
}

json::object ToJson(const ObjectOwner& owner) {
  json::object reference{
      {"apiVersion", owner.api_version}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
  if (owner.is_controller) reference["controller"] = *owner.is_controller;
  if (owner.blocks_deletion) reference["blockOwnerDeletion"] = *owner.blocks_deletion;
  return reference;
}

std::vector<ObjectOwner> WithoutOwner(const ObjectView& object, std::string_view uid) {
  std::vector<ObjectOwner> kept = object.owners;
  std::erase_if(kept, [uid](const ObjectOwner& owner) { return owner.uid == uid; });
  return kept;
}

}  // namespace

GarbageCollector::GarbageCollector(Context& context)
    : context_(context),
      pods_(std::make_shared<const ResourceKind>(ResourceKind{"", std::string(kCorePrefix), "pods", "Pod", true})),
      queue_(std::make_shared<WorkQueue>(
          context.loop,
          client::WorkQueueOptions{.in_flight_max = context.options.in_flight_max, .seed = context.options.seed + 31},
          [this](const std::string& uid, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(uid, std::move(done));
          })),
      monitors_(context, {.on_object = [this](const auto& kind, const auto& object) { OnObject(kind, object); },
                          .on_gone = [this](std::string_view uid) { OnGone(uid); },
                          .on_change = [this] { OnMonitorsChanged(); }}) {
  monitors_.LeaveOut("/pods");
  // Events come and go by themselves, and nothing depends on them: upstream leaves them out, too.
  monitors_.LeaveOut("/events");
  monitors_.LeaveOut("events.k8s.io/events");
}

// --- What the watches show -------------------------------------------------------------------------------------------

void GarbageCollector::OnPodsListed() {
  has_pods_ = true;
  OnMonitorsChanged();
}

void GarbageCollector::OnMonitorsChanged() {
  if (!has_pods_ || !monitors_.IsSynced()) return;
  if (!std::exchange(is_ready_, true)) {
    graph_.ForEach([this](const Node& node) { Consider(node, nullptr); });
  }
  for (const std::string& uid : std::exchange(unserved_, {})) queue_->Add(uid);
}

void GarbageCollector::OnObject(const KindPtr& kind, const ObjectPtr& object) {
  const ObjectPtr before = graph_.Put(kind, object);
  if (!is_ready_) return;
  Consider(*graph_.Find(object->uid), before);
  if (before != nullptr) ReleaseOwners(*before);
}

void GarbageCollector::OnGone(std::string_view uid) {
  const Node* node = graph_.Find(uid);
  if (node == nullptr || node->object == nullptr) return;
  const ObjectPtr object = node->object;
  if (!node->dependents.empty()) {
    RecordAbsent(AbsentKey(node->kind->group, node->kind->kind, object->namespace_name, object->name, object->uid));
    if (is_ready_) AddDependents(*node);
  }
  unserved_.erase(object->uid);
  graph_.Erase(object->uid);
  if (is_ready_) ReleaseOwners(*object);
}

void GarbageCollector::AddDependents(const Node& node) {
  for (const auto& [uid, blocks] : node.dependents) queue_->Add(uid);
}

void GarbageCollector::RecordAbsent(std::string absent_key) {
  if (absent_.size() >= kAbsentMax) absent_.clear();
  absent_.insert(std::move(absent_key));
}

void GarbageCollector::Consider(const Node& node, const ObjectPtr& before) {
  const ObjectView& object = *node.object;
  if (object.OrphansDependents() && (before == nullptr || !before->OrphansDependents())) queue_->Add(object.uid);
  if (object.WaitsForDependents() && (before == nullptr || !before->WaitsForDependents())) {
    AddDependents(node);
    queue_->Add(object.uid);
  }
  if (object.is_deleted || (before != nullptr && before->owners == object.owners)) return;
  const Answers no_answers;
  for (const ObjectOwner& owner : object.owners) {
    const Owner worth = Classify(node, owner, no_answers);
    if (worth != Owner::kSolid) queue_->AddAfter(object.uid, worth == Owner::kWaiting ? Duration() : kPatience);
  }
}

void GarbageCollector::ReleaseOwners(const ObjectView& dependent) {
  for (const ObjectOwner& owner : dependent.owners) {
    const Node* node = graph_.Find(owner.uid);
    if (node != nullptr && node->blocking == 0 && node->WaitsForDependents()) queue_->Add(owner.uid);
  }
}

// --- What follows from it --------------------------------------------------------------------------------------------

void GarbageCollector::Sync(const std::string& uid, Done done) {
  const Node* node = graph_.Find(uid);
  if (node == nullptr || node->object == nullptr) return done(true);
  if (!monitors_.IsSynced()) {  // a dependent might be of a kind that has just come
    queue_->AddAfter(uid, kPatience);
    return done(true);
  }
  const ObjectView& object = *node->object;
  if (object.OrphansDependents()) return Orphan(*node, std::move(done));
  if (object.WaitsForDependents()) {
    // The dependents that block it are in the queue themselves, and the last of them brings the owner back.
    if (node->blocking > 0) return done(true);
    return RemoveFinalizer(*node, kForegroundFinalizer, std::move(done));
  }
  if (object.is_deleted || object.owners.empty()) return done(true);
  Judge(uid, std::make_shared<Answers>(), std::move(done));
}

GarbageCollector::Owner GarbageCollector::Classify(const Node& node, const ObjectOwner& owner,
                                                   const Answers& answers) const {
  const std::string& namespace_name = node.object->namespace_name;
  const std::string_view group = GroupOf(owner.api_version);
  const Node* found = graph_.Find(owner.uid);
  if (found != nullptr && found->object != nullptr && found->kind->group == group && found->kind->kind == owner.kind &&
      found->object->name == owner.name &&
      (!found->kind->is_namespaced || found->object->namespace_name == namespace_name)) {
    return found->WaitsForDependents() ? Owner::kWaiting : Owner::kSolid;
  }
  if (const auto answer = answers.find(owner.uid); answer != answers.end()) return answer->second;
  // Known to be gone, in the dependent's namespace or in none; its kind may have gone with it.
  for (const std::string_view each : {std::string_view(namespace_name), std::string_view()}) {
    if (absent_.contains(AbsentKey(group, owner.kind, each, owner.name, owner.uid))) return Owner::kAbsent;
  }
  const KindPtr kind = monitors_.Find(group, owner.kind);
  if (kind == nullptr) return Owner::kUnserved;
  return kind->is_namespaced && namespace_name.empty() ? Owner::kForeign : Owner::kUnseen;
}

std::size_t GarbageCollector::Verdicts::Count(Owner kind) const {
  return static_cast<std::size_t>(std::count(owners.begin(), owners.end(), kind));
}

void GarbageCollector::Judge(const std::string& uid, const std::shared_ptr<Answers>& answers, Done done) {
  const Node* node = graph_.Find(uid);
  if (node == nullptr || node->object == nullptr || node->object->is_deleted) return done(true);
  Verdicts verdicts;
  for (const ObjectOwner& owner : node->object->owners) {
    verdicts.owners.push_back(Classify(*node, owner, *answers));
    if (verdicts.owners.back() == Owner::kUnseen) return Ask(uid, owner, answers, std::move(done));
  }
  if (verdicts.Count(Owner::kUnserved) > 0) {
    unserved_.insert(uid);  // the kind may still come
    return done(true);
  }
  // An object of no namespace cannot have an owner in one. Upstream leaves it alone.
  if (verdicts.Count(Owner::kForeign) > 0) return done(true);
  Decide(*node, verdicts, std::move(done));
}

void GarbageCollector::Ask(const std::string& uid, const ObjectOwner& owner, const std::shared_ptr<Answers>& answers,
                           Done done) {
  const ObjectView& object = *graph_.Find(uid)->object;
  const KindPtr kind = monitors_.Find(GroupOf(owner.api_version), owner.kind);
  const std::string namespace_name = kind->is_namespaced ? object.namespace_name : std::string();
  const std::string path = ObjectPath(kind->prefix, namespace_name, kind->plural, owner.name);
  const std::string absent_key = AbsentKey(kind->group, kind->kind, namespace_name, owner.name, owner.uid);
  context_.Read(path, [this, uid, absent_key, answers, done, owner_uid = owner.uid](Expected<net::Response> response) {
    if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
      context_.CountFailure("looking for an owner of", uid, response.error());
      return done(false);
    }
    ObjectView found;
    if (response.ok()) {
      codec::JsonReader reader;
      if (const auto document = reader.Parse(response->body); document.ok()) {
        if (const auto view = DecodeObjectView(*document); view.ok()) found = **view;
      }
    }
    if (found.uid == owner_uid) {
      (*answers)[owner_uid] = found.WaitsForDependents() ? Owner::kWaiting : Owner::kSolid;
    } else {
      RecordAbsent(absent_key);
      (*answers)[owner_uid] = Owner::kAbsent;
    }
    Judge(uid, answers, done);
  });
}

void GarbageCollector::Decide(const Node& node, const Verdicts& verdicts, Done done) {
  const ObjectView& object = *node.object;
  const std::size_t solid = verdicts.Count(Owner::kSolid);
  if (solid == object.owners.size()) return done(true);
  if (solid > 0) {
    // The others go from its references: an owner that waits for its dependents would wait for this one forever.
    std::vector<ObjectOwner> kept;
    for (std::size_t i = 0; i < object.owners.size(); ++i) {
      if (verdicts.owners[i] == Owner::kSolid) kept.push_back(object.owners[i]);
    }
    return PatchOwners(node, kept, std::move(done));
  }
  if (verdicts.Count(Owner::kWaiting) > 0 && !node.dependents.empty()) {
    const bool is_circle = std::any_of(node.dependents.begin(), node.dependents.end(), [this](const auto& dependent) {
      const Node* found = graph_.Find(dependent.first);
      return found != nullptr && found->WaitsForDependents();
    });
    const bool blocks = std::any_of(object.owners.begin(), object.owners.end(),
                                    [](const ObjectOwner& owner) { return owner.blocks_deletion.value_or(false); });
    if (!is_circle || !blocks) return Delete(node, "Foreground", std::move(done));
    // Owners that wait for each other: this one stops blocking, and is deleted when the watch has shown it.
    std::vector<ObjectOwner> owners = object.owners;
    for (ObjectOwner& owner : owners) owner.blocks_deletion = false;
    return PatchOwners(node, owners, std::move(done));
  }
  std::string_view propagation = "Background";
  if (object.HasFinalizer(kOrphanFinalizer)) propagation = "Orphan";
  if (object.HasFinalizer(kForegroundFinalizer)) propagation = "Foreground";
  Delete(node, propagation, std::move(done));
}

// --- Writes ----------------------------------------------------------------------------------------------------------

void GarbageCollector::Orphan(const Node& node, Done done) {
  struct Round {
    std::size_t pending = 1;  // one for this function
    bool has_failed = false;
  };
  const auto round = std::make_shared<Round>();
  const std::string uid = node.object->uid;
  const auto finish = [this, round, uid, done = std::move(done)] {
    if (--round->pending > 0) return;
    const Node* owner = graph_.Find(uid);
    if (round->has_failed || owner == nullptr || owner->object == nullptr) return done(!round->has_failed);
    RemoveFinalizer(*owner, kOrphanFinalizer, done);
  };
  for (const auto& [uid_of_dependent, blocks] : node.dependents) {
    ++round->pending;
    context_.Enter([this, round, uid, dependent_uid = uid_of_dependent, finish] {
      const auto leave = [this, round, finish](bool succeeded) {
        context_.Leave();
        round->has_failed = round->has_failed || !succeeded;
        finish();
      };
      const Node* dependent = graph_.Find(dependent_uid);
      if (dependent == nullptr || dependent->object == nullptr) return leave(true);
      PatchOwners(*dependent, WithoutOwner(*dependent->object, uid), leave);
    });
  }
  finish();
}

void GarbageCollector::RemoveFinalizer(const Node& node, std::string_view finalizer, Done done) {
  json::array kept;
  for (const std::string& each : node.object->finalizers) {
    if (each != finalizer) kept.emplace_back(View(each));
  }
  PatchMetadata(node, "finalizers", std::move(kept), std::move(done));
}

void GarbageCollector::PatchOwners(const Node& node, const std::vector<ObjectOwner>& owners, Done done) {
  json::array references;
  for (const ObjectOwner& owner : owners) references.push_back(ToJson(owner));
  PatchMetadata(node, "ownerReferences", std::move(references), std::move(done));
}

void GarbageCollector::PatchMetadata(const Node& node, std::string_view field, json::array list, Done done) {
  const ObjectView& object = *node.object;
  json::object metadata{{"uid", object.uid}, {"resourceVersion", object.resource_version}};
  metadata[View(field)] = list.empty() ? json::value(nullptr) : json::value(std::move(list));
  auto after = [this, key = object.Key(), done = std::move(done)](Expected<net::Response> response) {
    if (response.ok() || response.error().code == ErrorCode::kNotFound) return done(true);
    // A conflict: it changed, so look at it again.
    if (response.error().code != ErrorCode::kConflict) {
      context_.CountFailure("collecting the owners of", key, response.error());
    }
    done(false);
  };
  context_.Send("PATCH", PathOf(*node.kind, object), {{"metadata", std::move(metadata)}}, kMergePatch,
                std::move(after));
}

void GarbageCollector::Delete(const Node& node, std::string_view propagation, Done done) {
  const ObjectView& object = *node.object;
  context_.Delete(PathOf(*node.kind, object), object, {.is_version_strict = true, .propagation = propagation},
                  context_.AfterCollecting(object.Key(), std::move(done)));
}

}  // namespace berth::controllers
