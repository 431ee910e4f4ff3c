// SPDX-License-Identifier: Apache-2.0
// NodeAffinity: refuses nodes that do not match the pod's nodeSelector and required node affinity, and prefers nodes
// that match its preferred terms. `added` is the profile's own affinity (addedAffinity), which counts beside the pod's.
#pragma once

#include <optional>

#include "berth/framework/fast_path.h"
#include "berth/plugins/helper/node_selector.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class NodeAffinity final : public framework::PreFilterPlugin,
                           public framework::FastFilter,
                           public framework::PreScorePlugin,
                           public framework::FastScore,
                           public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kReasonPod = "node(s) didn't match Pod's node affinity/selector";
  static constexpr std::string_view kReasonEnforced = "node(s) didn't match scheduler-enforced node affinity";
  static constexpr std::string_view kReasonConflict = "pod affinity terms conflict";

  explicit NodeAffinity(std::optional<api::NodeAffinity> added = std::nullopt);

  std::string_view Name() const override { return names::kNodeAffinity; }
  bool ReadsPlacementOnly() const override { return true; }

  // Where every required term names nodes by metadata.name, the search is narrowed to them.
  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kMax; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  std::optional<NodeSelector> added_required_;
  std::vector<api::PreferredSchedulingTerm> added_preferred_;
};

}  // namespace berth::plugins
