// SPDX-License-Identifier: Apache-2.0
// VolumeBinding: places a pod where its volumes can be, binds its unbound claims to volumes that exist, and has volumes
// made for the others. Upstream: pkg/scheduler/framework/plugins/volumebinding. Within turns only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/names.h"
#include "berth/plugins/volume_binding/capacity_score.h"
#include "berth/plugins/volume_binding/reservation.h"

namespace berth::config {
struct VolumeBindingArgs;
}

namespace berth::plugins {

class VolumeBinding final : public framework::PreFilterPlugin,
                            public framework::FastFilter,
                            public framework::FastPreScore,
                            public framework::FastScore,
                            public framework::ReservePlugin,
                            public framework::PreBindPlugin,
                            public framework::ObjectReader,
                            public framework::EnqueueExtensions {
 public:
  // `handle` must outlive the plugin.
  VolumeBinding(const config::VolumeBindingArgs& args, const framework::Handle& handle);

  std::string_view Name() const override { return names::kVolumeBinding; }
  bool ReadsPlacementOnly() const override { return true; }
  std::vector<framework::ObjectKind> ObjectsRead() const override;

  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  // Nodes are scored by their storage with Release::scores_storage_capacity, and not at all without it. A pod that no
  // claim is to be bound for has 0 on every node.
  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kNode; }
  bool PreScoreSkips(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  framework::Status PreScore(const framework::Cycle&, const framework::PodInfo&,
                             std::span<const framework::NodeIndex>) const override {
    return score_ ? framework::Status::Success() : framework::Status::Skip();
  }
  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kCycle; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  framework::Status Reserve(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::string_view node_name) override;
  void Unreserve(const framework::PodInfo& pod, std::string_view node_name) override;

  // kSkip: every claim was bound at Reserve, or there are none.
  framework::Status PreBindPreFlight(const framework::PodInfo& pod) override;
  framework::Operation PreBind(const framework::PodInfo& pod) override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

  // What tests look at.
  const volumes::Sources& sources() const { return sources_; }
  std::size_t reservation_count() const { return reservations_.size(); }

 private:
  const framework::Handle& handle_;
  const Duration bind_timeout_;
  const volumes::Sources sources_;
  const std::optional<volumes::CapacityScore> score_;
  // By pod uid: those between Reserve and the end of PreBind.
  StringHashMap<std::shared_ptr<volumes::Reservation>> reservations_;
};

}  // namespace berth::plugins
