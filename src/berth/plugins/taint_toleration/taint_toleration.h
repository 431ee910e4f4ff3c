// SPDX-License-Identifier: Apache-2.0
// TaintToleration: refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate, and prefers nodes
// with few PreferNoSchedule taints that it does not tolerate.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class TaintToleration final : public framework::FastFilter,
                              public framework::PreScorePlugin,
                              public framework::FastScore,
                              public framework::EnqueueExtensions {
 public:
  // Since 1.36 without the taint's name.
  static constexpr std::string_view kReason = "node(s) had untolerated taint(s)";

  std::string_view Name() const override { return names::kTaintToleration; }
  bool ReadsPlacementOnly() const override { return true; }

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo&) const override {
    return cycle.table.columns().tainted_count == 0;
  }

  // Never skips: without taints every node scores 100.
  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status PreScore(const framework::Cycle&, const framework::PodInfo&,
                             std::span<const framework::NodeIndex>) const override {
    return {};
  }
  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kMaxReverse; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;
  std::optional<std::int64_t> ScoreOfAll(const framework::Cycle& cycle, const framework::PodInfo&) const override {
    return cycle.table.columns().tainted_count == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
  }

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
};

}  // namespace berth::plugins
