// SPDX-License-Identifier: Apache-2.0
// NodeVolumeLimits: no more volumes of a CSI driver on a node than the driver says it can attach. Upstream:
// pkg/scheduler/framework/plugins/nodevolumelimits. With Release::scales_volume_limits a node without the driver of a
// new volume is refused, if the driver asks for that.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/helper/pod_counts.h"
#include "berth/plugins/names.h"
#include "berth/plugins/node_volume_limits/node_attachments.h"

namespace berth::plugins {

class NodeVolumeLimits final : public framework::PreFilterPlugin,
                               public framework::FastFilter,
                               public framework::ObjectReader,
                               public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) exceed max volume count";

  // `handle` must outlive the plugin.
  explicit NodeVolumeLimits(const framework::Handle& handle);

  std::string_view Name() const override { return names::kNodeVolumeLimits; }
  bool ReadsPlacementOnly() const override { return true; }

  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  std::vector<framework::ObjectKind> ObjectsRead() const override;
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  const framework::Handle& handle_;
  // Kept between pods.
  const std::shared_ptr<NodeAttachments> attachments_;
  mutable PodCounts volumes_;  // at most so many volumes that count
};

}  // namespace berth::plugins
