// SPDX-License-Identifier: Apache-2.0
// VolumeZone: refuses nodes outside the zone or region of the pod's bound volumes, as the labels of the
// PersistentVolumes say it. For volumes of old: newer ones have a node affinity, which VolumeBinding looks at. Within
// turns only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/api/storage.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class VolumeZone final : public framework::PreFilterPlugin,
                         public framework::FastFilter,
                         public framework::ObjectReader,
                         public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) had no available volume zone";

  // `handle` must outlive the plugin.
  explicit VolumeZone(const framework::Handle& handle) : objects_(handle.objects()) {}

  std::string_view Name() const override { return names::kVolumeZone; }
  std::vector<framework::ObjectKind> ObjectsRead() const override;

  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  // One label of a volume: a node must have one of the values under it.
  struct Topology {
    std::string_view key;
    std::vector<std::string> values;  // sorted, distinct
    bool operator==(const Topology&) const = default;
  };
  struct State;

  static std::vector<Topology> TopologiesOf(const api::PersistentVolume& volume);
  static framework::QueueingHint AfterVolumeChange(const framework::PodInfo& pod, const framework::EventObjects& event);
  framework::Status FindTopologies(const framework::PodInfo& pod, std::vector<Topology>& topologies) const;

  const framework::Objects& objects_;
};

}  // namespace berth::plugins
