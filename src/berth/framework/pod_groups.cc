// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/pod_groups.h"

namespace berth::framework {

std::int32_t PriorityOf(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, std::int32_t{0}, [](const auto& object) { return object.priority.value_or(0); });
}

std::optional<api::PreemptionPolicy> PreemptionPolicyOf(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, std::optional<api::PreemptionPolicy>(),
                   [](const auto& object) { return object.preemption_policy; });
}

const std::string* ParentNameOf(const PodGroups& groups, const PodGroupKey& group) {
  return ReadGroup(groups, group, static_cast<const std::string*>(nullptr),
                   [](const auto& object) { return &object.parent_name; });
}

std::vector<PodGroupKey> LeavesOf(const PodGroups& groups, const PodGroupKey& group) {
  if (!group.is_composite) return {group};
  std::vector<PodGroupKey> leaves;
  // A tree: RootOf() has seen that no group is above itself.
  for (const PodGroupKey& child : groups.ChildrenOf(group)) {
    for (PodGroupKey& leaf : LeavesOf(groups, child)) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

}  // namespace berth::framework
