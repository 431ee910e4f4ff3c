// SPDX-License-Identifier: Apache-2.0
// NodeResourcesFit: refuses nodes without enough free resources or pod slots, and scores them by how full they would
// be.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_group_placement.h"
#include "berth/plugins/helper/scored_resources.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

enum class ScoringStrategy : std::uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };

struct ShapePoint {
  std::int64_t utilization = 0;  // percent
  std::int64_t score = 0;        // 0..10
};

struct NodeResourcesFitOptions {
  // Extended resources that are not filtered by: by name, or by the part before '/'.
  std::set<std::string> ignored_resources{};
  std::set<std::string> ignored_resource_groups{};
  ScoringStrategy strategy = ScoringStrategy::kLeastAllocated;
  std::vector<WeightedResource> resources{{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape{};  // of kRequestedToCapacityRatio: at least one, utilization ascending
};

class NodeResourcesFit final : public framework::PreFilterPlugin,
                               public framework::FastFilter,
                               public framework::PreScorePlugin,
                               public framework::FastScore,
                               public framework::AmountsPlugin,
                               public framework::PlacementScorePlugin,
                               public framework::ObjectReader,
                               public framework::EnqueueExtensions {
 public:
  // With `handle`, resources that a node gives through its devices are left to DynamicResources.
  explicit NodeResourcesFit(NodeResourcesFitOptions options = {}, framework::Handle* handle = nullptr);

  std::string_view Name() const override { return names::kNodeResourcesFit; }
  bool ReadsPlacementOnly() const override { return true; }

  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  // All that is short is told: "Too many pods", "Insufficient cpu", ... Unresolvable when the pod would not fit into
  // the empty node.
  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  // Never skips.
  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  // As MostAllocated does, whatever the strategy is, and as if the placement's nodes were one.
  std::int64_t ScorePlacement(const framework::PodGroupKey& group, const framework::PodGroupPlacement& placement,
                              std::span<const framework::PodGroupAssignment> assignments,
                              const framework::NodeList& nodes) const override;

  bool RestsOnAmounts(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  void ScoreBounds(const framework::Cycle& emptiest, const framework::Cycle& fullest, const framework::PodInfo& pod,
                   std::span<std::int64_t> bounds) const override;

  std::vector<framework::ObjectKind> ObjectsRead() const override;
  std::uint64_t Epoch() const override;
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  // Whether a class of devices stands behind the resource: then a node that has none of it itself may give devices.
  bool IsDeviceBacked(std::string_view resource) const;
  framework::Status FitStatus(const framework::Resource& request, const framework::Resource& allocatable,
                              const framework::Resource& requested, std::size_t pod_count) const;
  void FilterManyScalars(const framework::Cycle& cycle, const framework::Resource& request,
                         std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                         framework::StatusTable& statuses) const;
  // The same without reasons.
  bool Fits(const framework::Resource& request, const framework::Resource& allocatable,
            const framework::Resource& requested, std::size_t pod_count) const;
  std::uint64_t DeviceBackedOf(const framework::Resource& request) const;
  framework::Resource RequestOf(const framework::PodInfo& pod) const;
  bool MayFitWithout(const framework::PodInfo& gone, const framework::PodInfo& pod) const;
  framework::QueueingHint AfterPodEvent(const framework::PodInfo& pod, const framework::EventObjects& event) const;
  framework::QueueingHint AfterNodeChange(const framework::PodInfo& pod, const framework::EventObjects& event) const;
  // What WeightedShare does for the strategy, where the resources and their weights are such that it can.
  std::optional<ShareOf> KernelShare() const;
  template <typename Source>
  std::int64_t ScoreOf(const Source& source, const std::vector<std::int64_t>& pod_requests) const;
  std::int64_t ResourceScore(std::int64_t requested, std::int64_t capacity) const;
  bool IsIgnored(std::string_view scalar) const;

  NodeResourcesFitOptions options_;
  framework::Handle* handle_;             // null in tests
  std::shared_ptr<DeviceState> devices_;  // null without a handle
  ScoredResources scored_;
};

}  // namespace berth::plugins
