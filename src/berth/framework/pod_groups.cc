// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/pod_groups.h"

namespace berth::framework {

std::int32_t PriorityOf(const PodGroups& groups, const PodGroupKey& group) {
  if (group.is_composite) {
    const api::CompositePodGroup* const composite = groups.FindComposite(group);
    return composite == nullptr ? 0 : composite->priority.value_or(0);
  }
  const api::PodGroup* const pod_group = groups.FindPodGroup(group);
  return pod_group == nullptr ? 0 : pod_group->priority.value_or(0);
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
