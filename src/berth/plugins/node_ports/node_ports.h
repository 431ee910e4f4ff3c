// SPDX-License-Identifier: Apache-2.0
// NodePorts: refuses nodes where a host port that the pod wants is taken.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class NodePorts final : public framework::PreFilterPlugin,
                        public framework::FastFilter,
                        public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) didn't have free ports for the requested pod ports";

  std::string_view Name() const override { return names::kNodePorts; }
  bool ReadsPlacementOnly() const override { return true; }

  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
};

}  // namespace berth::plugins
