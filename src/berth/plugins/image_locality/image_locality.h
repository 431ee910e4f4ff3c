// SPDX-License-Identifier: Apache-2.0
// ImageLocality: prefers nodes that hold the pod's images already, the more so the larger they are and the more nodes
// have them.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/framework/release.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class ImageLocality final : public framework::FastScore {
 public:
  explicit ImageLocality(const framework::Release& release = {})
      : counts_image_volumes_(release.counts_image_volumes) {}

  std::string_view Name() const override { return names::kImageLocality; }
  bool ReadsPlacementOnly() const override { return true; }

  // An image's share of all nodes counts, so any change of a node may change every score.
  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kCluster; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;
  std::optional<std::int64_t> ScoreOfAll(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

 private:
  std::int64_t ToScore(std::int64_t sum, const api::PodSpec& spec) const;

  const bool counts_image_volumes_;
};

}  // namespace berth::plugins
