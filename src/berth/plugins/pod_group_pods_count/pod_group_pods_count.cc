// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_pods_count/pod_group_pods_count.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/framework/pod_group_placement.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

class PodGroupPodsCount final : public framework::PlacementScorePlugin {
 public:
  explicit PodGroupPodsCount(Handle& handle) : handle_(handle) {}

  std::string_view Name() const override { return names::kPodGroupPodsCount; }
  std::int64_t ScorePlacement(const framework::PodGroupKey& group, const framework::PodGroupPlacement&,
                              std::span<const framework::PodGroupAssignment> assignments,
                              const NodeList&) const override {
    const framework::PodGroups& groups = *handle_.pod_groups();
    std::size_t count = assignments.size();
    for (const framework::PodGroupKey& leaf : framework::LeavesOf(groups, group))
      count += groups.CountsOf(leaf).scheduled;
    return static_cast<std::int64_t>(count);
  }

  Status NormalizePlacementScores(std::span<std::int64_t> scores) const override {
    const std::int64_t most = scores.empty() ? 0 : *std::ranges::max_element(scores);
    if (most == 0) return Status::Error("no pods from pod group are assigned to any of the candidate placements");
    for (std::int64_t& score : scores) score = score * framework::kNodeScoreMax / most;
    return {};
  }

 private:
  Handle& handle_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreatePodGroupPodsCount(Handle& handle) {
  return std::make_unique<PodGroupPodsCount>(handle);
}

}  // namespace berth::plugins
