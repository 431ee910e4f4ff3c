// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/overlay.h"

#include <utility>

#include "berth/base/check.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/reserve_and_permit.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/object_kinds.h"

namespace berth::scheduler {

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;

namespace {

// The members of pod groups are counted outside of the object store.
bool IsGroup(framework::ObjectKind kind) {
  return kind == framework::ObjectKind::kPodGroup || kind == framework::ObjectKind::kCompositePodGroup;
}

}  // namespace

Overlay::Overlay(CoreState& state) : state_(state) {}

Overlay::~Overlay() { UndoTo(0); }

const framework::NodeTable& Overlay::nodes() const { return state_.cache.nodes(); }

const framework::Objects& Overlay::objects() const { return state_.objects; }

const runtime::ProfilePlugins* Overlay::ProfileOf(const PodInfo& pod) const {
  const Profile* const profile = state_.profiles.Find(pod);
  return profile == nullptr ? nullptr : profile->plugins.get();
}

const std::string& Overlay::first_profile() const { return state_.profiles.first(); }

PodInfoPtr Overlay::MakePod(const api::Pod& pod) { return state_.MakePodInfo(pod); }

Overlay::Answer Overlay::Evaluate(const PodInfoPtr& pod, Detail detail, std::uint64_t seed) {
  profile_ = state_.profiles.Find(*pod);
  BERTH_CHECK(profile_ != nullptr, pod->Key());
  Evaluators& evaluators = evaluators_[profile_];
  std::unique_ptr<runtime::Evaluator>& evaluator = detail == Detail::kAll ? evaluators.all : evaluators.choice;
  if (!evaluator) {
    runtime::EvaluatorOptions options = state_.options.evaluator;
    options.with_detail = detail == Detail::kAll;
    evaluator = std::make_unique<runtime::Evaluator>(*profile_->plugins, options);
  }
  evaluator_ = evaluator.get();
  state_.UpdateNominations();
  return {*evaluator,
          evaluator->Evaluate(pod, state_.cache.nodes(), &state_.nominations.rows(), seed, state_.WallNow())};
}

Status Overlay::Place(const PodInfoPtr& pod, NodeIndex row) {
  BERTH_CHECK(evaluator_ != nullptr && state_.profiles.Find(*pod) == profile_, pod->Key());
  const cache::PodGroupStates::Trial groups(state_.pod_groups.get());
  const PodInfoPtr assumed = WithNode(*pod, state_.cache.nodes().Name(row));
  state_.cache.AssumePod(assumed, row);
  const framework::Cycle cycle = evaluator_->cycle();
  for (framework::ReservePlugin* plugin : profile_->plugins->reserve) {
    const Status status = runtime::Guarded([&] { return plugin->Reserve(cycle, *assumed, assumed->node_name); });
    if (status.IsSuccess()) continue;
    Unreserve(state_, *profile_, *assumed);
    return status.WithPlugin(plugin->Name());
  }
  changes_.emplace_back(Placed{profile_, assumed});
  return {};
}

void Overlay::AddPod(PodInfoPtr pod) {
  BERTH_CHECK(!pod->node_name.empty() && state_.cache.FindPod(pod->uid) == nullptr, pod->Key(), pod->node_name);
  changes_.emplace_back(PodAdded{pod->uid});
  const cache::PodGroupStates::Trial groups(state_.pod_groups.get());
  state_.cache.SetPod(std::move(pod));
}

bool Overlay::RemovePod(std::string_view uid) {
  const PodInfoPtr* const known = state_.cache.FindPod(uid);
  if (known == nullptr) return false;
  const PodInfoPtr pod = *known;
  const bool was_assumed = state_.cache.IsAssumed(uid);
  const cache::PodGroupStates::Trial groups(state_.pod_groups.get());
  const std::optional<std::size_t> place = state_.cache.RemovePod(pod->uid);
  changes_.emplace_back(PodRemoved{pod, *place, was_assumed});
  return true;
}

Overlay::NodeChanged Overlay::RecordNode(const std::string& name) const {
  NodeChanged change{name, nullptr, {}};
  const NodeIndex row = nodes().Find(name);
  if (row == framework::kNoNode) return change;
  change.before = nodes().Info(row).node_ptr();
  for (const api::ContainerImage& image : change.before->images) {
    for (const std::string& of_image : image.names)
      change.image_sizes.emplace_back(of_image, nodes().ImageSizeBytes(of_image));
  }
  return change;
}

void Overlay::SetNode(std::shared_ptr<const api::Node> node) {
  changes_.emplace_back(RecordNode(node->metadata.name));
  state_.cache.SetNode(std::move(node));
}

bool Overlay::RemoveNode(std::string_view name) {
  NodeChanged change = RecordNode(std::string(name));
  if (!change.before) return false;
  state_.cache.RemoveNode(change.name);
  changes_.emplace_back(std::move(change));
  return true;
}

void Overlay::SetObject(framework::AnyObject object) {
  const framework::ObjectKind kind = framework::KindOf(object);
  BERTH_CHECK(!IsGroup(kind));
  changes_.emplace_back(ObjectChanged{kind, framework::KeyOf(object), state_.objects.Set(object)});
}

bool Overlay::RemoveObject(framework::ObjectKind kind, const std::string& key) {
  BERTH_CHECK(!IsGroup(kind));
  framework::AnyObject before = state_.objects.Remove(kind, key);
  if (framework::IsNull(before)) return false;
  changes_.emplace_back(ObjectChanged{kind, key, std::move(before)});
  return true;
}

void Overlay::UndoTo(Mark mark) {
  BERTH_CHECK(mark <= changes_.size(), mark, changes_.size());
  const cache::PodGroupStates::Trial groups(state_.pod_groups.get());
  while (changes_.size() > mark) {
    const Change change = std::move(changes_.back());
    changes_.pop_back();
    std::visit([this](const auto& made) { Undo(made); }, change);
  }
}

void Overlay::Undo(const Placed& change) { Unreserve(state_, *change.profile, *change.pod); }

void Overlay::Undo(const PodAdded& change) { state_.cache.RemovePod(change.uid); }

void Overlay::Undo(const PodRemoved& change) {
  // Of equally good victims the first one in the node's order goes.
  state_.cache.PutBack(change.pod, change.place, change.was_assumed);
}

void Overlay::Undo(const NodeChanged& change) {
  if (change.before) {
    state_.cache.SetNode(change.before);
    for (const auto& [image, size_bytes] : change.image_sizes) state_.cache.SetImageSizeBytes(image, size_bytes);
  } else {
    state_.cache.RemoveNode(change.name);
  }
}

void Overlay::Undo(const ObjectChanged& change) {
  if (framework::IsNull(change.before)) {
    state_.objects.Remove(change.kind, change.key);
  } else {
    state_.objects.Set(change.before);
  }
}

void Overlay::DropIdle() {
  for (const auto& [profile, evaluators] : evaluators_) {
    if (evaluators.choice) evaluators.choice->DropIdle();
    if (evaluators.all) evaluators.all->DropIdle();
  }
  state_.classes.Sweep();
}

}  // namespace berth::scheduler
