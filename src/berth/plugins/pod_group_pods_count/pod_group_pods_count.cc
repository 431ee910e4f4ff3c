// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_pods_count/pod_group_pods_count.h"

#include <algorithm>

namespace berth::plugins {

std::int64_t PodGroupPodsCount::ScorePlacement(const framework::PodGroupKey& group, const framework::PodGroupPlacement&,
                                               std::span<const framework::PodGroupAssignment> assignments,
                                               const framework::NodeList&) const {
  const framework::PodGroups& groups = *handle_.pod_groups();
  std::size_t count = assignments.size();
  for (const framework::PodGroupKey& leaf : framework::LeavesOf(groups, group))
    count += groups.CountsOf(leaf).scheduled;
  return static_cast<std::int64_t>(count);
}

framework::Status PodGroupPodsCount::NormalizePlacementScores(std::span<std::int64_t> scores) const {
  const std::int64_t most = scores.empty() ? 0 : *std::ranges::max_element(scores);
  if (most == 0)
    return framework::Status::Error("no pods from pod group are assigned to any of the candidate placements");
  for (std::int64_t& score : scores) score = score * framework::kNodeScoreMax / most;
  return {};
}

}  // namespace berth::plugins
