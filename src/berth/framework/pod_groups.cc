// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/pod_groups.h"

namespace berth::framework {
namespace {

// The limit on the depth is for callers with a group that is its own ancestor; below a root there is none.
template <typename Wanted>
void AddWithin(const PodGroups& groups, const PodGroupKey& group, int depth, const Wanted& is_wanted,
               std::vector<PodGroupKey>& found) {
  if (depth == kPodGroupDepthMax) return;
  if (is_wanted(group)) found.push_back(group);
  if (!group.is_composite) return;
  for (const PodGroupKey& child : groups.ChildrenOf(group)) AddWithin(groups, child, depth + 1, is_wanted, found);
}

}  // namespace

std::int32_t PriorityOf(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, std::int32_t{0}, [](const auto& object) { return object.priority.value_or(0); });
}

std::optional<api::PreemptionPolicy> PreemptionPolicyOf(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, std::optional<api::PreemptionPolicy>(),
                   [](const auto& object) { return object.preemption_policy; });
}

bool IsGang(const PodGroups& groups, const PodGroupKey& group) {
  if (group.is_composite) {
    const api::CompositePodGroup* const composite = groups.FindComposite(group);
    return composite != nullptr && composite->min_group_count.has_value();
  }
  const api::PodGroup* const pod_group = groups.FindPodGroup(group);
  return pod_group != nullptr && pod_group->min_count.has_value();
}

bool IsDisruptedWhole(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, false, [](const auto& object) { return object.is_disrupted_whole; });
}

bool IsDisruptedSingly(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, false, [](const auto& object) { return object.is_disrupted_singly; });
}

std::string WorkloadOf(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, std::string(), [](const auto& object) { return object.workload_name; });
}

const std::string* ParentNameOf(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, static_cast<const std::string*>(nullptr),
                   [](const auto& object) { return &object.parent_name; });
}

std::vector<PodGroupKey> LeavesOf(const PodGroups& groups, const PodGroupKey& group) {
  std::vector<PodGroupKey> leaves;
  AddWithin(groups, group, 0, [](const PodGroupKey& each) { return !each.is_composite; }, leaves);
  return leaves;
}

std::vector<PodGroupKey> GroupsWithin(const PodGroups& groups, const PodGroupKey& group) {
  std::vector<PodGroupKey> all;
  AddWithin(groups, group, 0, [](const PodGroupKey&) { return true; }, all);
  return all;
}

std::vector<PodGroupKey> AncestryOf(const PodGroups& groups, const PodGroupKey& group) {
  std::vector<PodGroupKey> keys;
  PodGroupKey next = group;
  for (int level = 0; level < kPodGroupLevelsMax; ++level) {
    const std::string* const parent = ParentNameOf(groups, next);
    if (parent == nullptr) break;
    const std::string namespace_name = next.namespace_name;
    keys.push_back(std::move(next));
    if (parent->empty()) break;
    next = {namespace_name, *parent, true};
  }
  return keys;
}

}  // namespace berth::framework
