// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/pod_group_states.h"

#include <utility>

namespace berth::cache {

using framework::PodInfo;
using framework::PodInfoPtr;

std::optional<framework::PodGroupKey> PodGroupStates::RootOf(const Key& group) const {
  Key key = group;
  for (int depth = 0; depth < framework::kPodGroupDepthMax; ++depth) {
    const std::string* const parent = framework::ParentNameOf(*this, key);
    if (parent == nullptr) return std::nullopt;
    if (!has_composites_ || parent->empty()) return key;
    key = {key.namespace_name, *parent, true};
  }
  return std::nullopt;
}

std::vector<framework::PodGroupKey> PodGroupStates::ChildrenOf(const Key& composite) const {
  std::vector<Key> children;
  const auto found = children_.find(composite);
  if (found == children_.end()) return children;
  children.reserve(found->second.size());
  for (const auto& [age, name, is_composite] : found->second)
    children.push_back({composite.namespace_name, name, is_composite});
  return children;
}

const api::PodGroup* PodGroupStates::FindPodGroup(const Key& group) const {
  return objects_.Of<api::PodGroup>().Find(group.namespace_name, group.name);
}

const api::CompositePodGroup* PodGroupStates::FindComposite(const Key& composite) const {
  if (!has_composites_) return nullptr;
  return objects_.Of<api::CompositePodGroup>().Find(composite.namespace_name, composite.name);
}

const PodGroupStates::State* PodGroupStates::Find(const Key& group) const {
  const auto found = states_.find(group);
  return found == states_.end() ? nullptr : &found->second;
}

std::vector<framework::PodGroupKey> PodGroupStates::GroupsOfPods() const {
  std::vector<Key> keys;
  keys.reserve(states_.size());
  for (const auto& [key, state] : states_) keys.push_back(key);
  return keys;
}

framework::PodGroups::Counts PodGroupStates::CountsOf(const Key& group) const {
  const State* const state = Find(group);
  return state == nullptr ? Counts{} : Counts{state->scheduled.size(), state->unscheduled.size()};
}

std::vector<PodInfoPtr> PodGroupStates::ListOf(const Pods& pods) {
  std::vector<PodInfoPtr> list;
  list.reserve(pods.size());
  for (const auto& [uid, pod] : pods) list.push_back(pod);
  return list;
}

std::vector<PodInfoPtr> PodGroupStates::ScheduledPods(const Key& group) const {
  const State* const state = Find(group);
  return state == nullptr ? std::vector<PodInfoPtr>() : ListOf(state->scheduled);
}

std::vector<PodInfoPtr> PodGroupStates::UnscheduledPods(const Key& group) const {
  const State* const state = Find(group);
  return state == nullptr ? std::vector<PodInfoPtr>() : ListOf(state->unscheduled);
}

void PodGroupStates::SetScheduled(const PodInfoPtr& pod) {
  if (trial_count_ > 0) return;
  ++version_;
  State& state = states_[framework::GroupOf(*pod)];
  state.unscheduled.erase(pod->uid);
  state.scheduled.insert_or_assign(pod->uid, pod);
  group_of_uid_.try_emplace(pod->uid, framework::GroupOf(*pod));
}

void PodGroupStates::SetUnscheduled(const PodInfoPtr& pod) {
  if (trial_count_ > 0) return;
  ++version_;
  State& state = states_[framework::GroupOf(*pod)];
  state.scheduled.erase(pod->uid);
  state.waiting.erase(pod->uid);
  state.unscheduled.insert_or_assign(pod->uid, pod);
  group_of_uid_.try_emplace(pod->uid, framework::GroupOf(*pod));
}

void PodGroupStates::Remove(std::string_view uid) {
  if (trial_count_ > 0) return;
  ++version_;
  const auto group = group_of_uid_.find(uid);
  if (group == group_of_uid_.end()) return;
  const auto found = states_.find(group->second);
  State& state = found->second;
  for (Pods* pods : {&state.scheduled, &state.unscheduled}) {
    if (const auto pod = pods->find(uid); pod != pods->end()) pods->erase(pod);
  }
  if (const auto pod = state.waiting.find(uid); pod != state.waiting.end()) state.waiting.erase(pod);
  group_of_uid_.erase(group);
  if (state.scheduled.empty() && state.unscheduled.empty()) states_.erase(found);
}

void PodGroupStates::RecordGroup(const GroupView* before, const GroupView* after) {
  ++version_;
  const auto parent_of = [](const GroupView& view) {
    return Key{view.key.namespace_name, std::string(view.parent_name), true};
  };
  const auto child_of = [](const GroupView& view) {
    return Child(view.creation_time, view.key.name, view.key.is_composite);
  };
  if (before != nullptr && !before->parent_name.empty()) {
    if (const auto found = children_.find(parent_of(*before)); found != children_.end()) {
      found->second.erase(child_of(*before));
      if (found->second.empty()) children_.erase(found);
    }
  }
  if (after != nullptr && !after->parent_name.empty()) children_[parent_of(*after)].insert(child_of(*after));
}

void PodGroupStates::RecordWaiting(const PodInfo& pod, std::string_view plugin) {
  states_[framework::GroupOf(pod)].waiting[pod.uid].emplace_back(plugin);
}

void PodGroupStates::AllowWaiting(const Key& group, std::string_view plugin) {
  const auto found = states_.find(group);
  if (found == states_.end()) return;
  for (auto& [uid, plugins] : found->second.waiting) {
    if (std::erase(plugins, plugin) > 0) allowed_.push_back({uid, std::string(plugin)});
  }
  std::erase_if(found->second.waiting, [](const auto& pod) { return pod.second.empty(); });
}

}  // namespace berth::cache
