// SPDX-License-Identifier: Apache-2.0
// NodeLabelMatch: a policy of berth's own. Annotations of a pod, such as `cluster.type: raspberry`, ask for a node
// whose label of that key has that value: nodes without it are refused, or only come last.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/names.h"
#include "berth/plugins/node_label_match/label_rules.h"

namespace berth::plugins {

class NodeLabelMatch final : public framework::PreFilterPlugin,
                             public framework::FastFilter,
                             public framework::PreScorePlugin,
                             public framework::FastScore,
                             public framework::AnnotationReader,
                             public framework::EnqueueExtensions {
 public:
  // An error names each argument that is wrong.
  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);
  explicit NodeLabelMatch(std::vector<LabelRule> rules) : rules_(std::move(rules)) {}

  std::string_view Name() const override { return names::kNodeLabelMatch; }
  bool ReadsPlacementOnly() const override { return true; }
  std::vector<std::string> PodAnnotationsRead() const override;

  // Skips pods that require nothing.
  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  // Skips pods that prefer nothing.
  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kLowestFirst; }
  // The weights of what the node lacks.
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;
  std::optional<std::int64_t> ScoreOfAll(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  const std::vector<LabelRule> rules_;
};

}  // namespace berth::plugins
