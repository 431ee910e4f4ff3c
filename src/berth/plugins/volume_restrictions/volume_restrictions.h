// SPDX-License-Identifier: Apache-2.0
// VolumeRestrictions: two pods do not get a disk that only one may have: disks of old in-tree kinds on one node, and
// ReadWriteOncePod claims anywhere. Upstream: pkg/scheduler/framework/plugins/volumerestrictions.
#pragma once

#include <string_view>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/helper/pod_counts.h"
#include "berth/plugins/names.h"
#include "berth/plugins/volume_restrictions/claims_in_use.h"

namespace berth::plugins {

class VolumeRestrictions final : public framework::PreFilterPlugin,
                                 public framework::FastFilter,
                                 public framework::ObjectReader,
                                 public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kDiskConflictReason = "node(s) had no available disk";
  static constexpr std::string_view kReadWriteOncePodReason =
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another "
      "pod";

  // `handle` must outlive the plugin.
  explicit VolumeRestrictions(const framework::Handle& handle);

  std::string_view Name() const override { return names::kVolumeRestrictions; }

  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  bool HasPreFilterExtensions() const override { return true; }
  framework::Status AddPod(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::PodInfo& other, const framework::NodeInfo& node) const override;
  framework::Status RemovePod(const framework::Cycle& cycle, const framework::PodInfo& pod,
                              const framework::PodInfo& other, const framework::NodeInfo& node) const override;

  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  std::vector<framework::ObjectKind> ObjectsRead() const override {
    return {framework::ObjectKind::kPersistentVolumeClaim};
  }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  const framework::Handle& handle_;
  // Kept between pods.
  mutable ClaimsInUse claims_in_use_;
  mutable PodCounts disks_;  // of the kinds that can conflict
};

}  // namespace berth::plugins
