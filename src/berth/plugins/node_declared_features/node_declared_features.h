// SPDX-License-Identifier: Apache-2.0
// NodeDeclaredFeatures: refuses nodes that do not declare (status.declaredFeatures) the features of the kubelet that
// the pod needs. Which ones a pod needs is upstream's list in component-helpers/nodedeclaredfeatures; of the features
// there, two are needed by new pods, the others by updates alone.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class NodeDeclaredFeatures final : public framework::PreFilterPlugin,
                                   public framework::FastFilter,
                                   public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) didn't match Pod's required features";
  // A container's rule has the action RestartAllContainers.
  static constexpr std::string_view kRestartAllContainers = "RestartAllContainersOnContainerExits";
  // hostUsers: false together with hostNetwork.
  static constexpr std::string_view kUserNamespacesHostNetwork = "UserNamespacesHostNetworkSupport";

  std::string_view Name() const override { return names::kNodeDeclaredFeatures; }
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
