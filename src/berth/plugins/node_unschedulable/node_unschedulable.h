// SPDX-License-Identifier: Apache-2.0
// NodeUnschedulable: refuses cordoned nodes (spec.unschedulable), unless the pod tolerates the taint
// node.kubernetes.io/unschedulable:NoSchedule that goes with it.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class NodeUnschedulable final : public framework::FastFilter, public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) were unschedulable";

  std::string_view Name() const override { return names::kNodeUnschedulable; }
  bool ReadsPlacementOnly() const override { return true; }

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
};

}  // namespace berth::plugins
