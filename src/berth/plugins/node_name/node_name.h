// SPDX-License-Identifier: Apache-2.0
// NodeName: refuses every node but the one that the pod names.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class NodeName final : public framework::FastFilter, public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) didn't match the requested node name";

  std::string_view Name() const override { return names::kNodeName; }
  bool ReadsPlacementOnly() const override { return true; }

  // A node's name never changes. Pods that name a node have one already and so are not scheduled: the answer about the
  // pods of a class is always the same.
  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;
  bool RefusesNone(const framework::Cycle&, const framework::PodInfo& pod) const override {
    return pod.node_name.empty();
  }

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
};

}  // namespace berth::plugins
