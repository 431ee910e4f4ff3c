// SPDX-License-Identifier: Apache-2.0
// PodGroupPodsCount: of several placements, those are better on which more of the group's pods run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/framework/handle.h"
#include "berth/framework/pod_group_placement.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class PodGroupPodsCount final : public framework::PlacementScorePlugin {
 public:
  // `handle` must outlive the plugin.
  explicit PodGroupPodsCount(framework::Handle& handle) : handle_(handle) {}

  std::string_view Name() const override { return names::kPodGroupPodsCount; }
  std::int64_t ScorePlacement(const framework::PodGroupKey& group, const framework::PodGroupPlacement& placement,
                              std::span<const framework::PodGroupAssignment> assignments,
                              const framework::NodeList& nodes) const override;
  framework::Status NormalizePlacementScores(std::span<std::int64_t> scores) const override;

 private:
  framework::Handle& handle_;
};

}  // namespace berth::plugins
