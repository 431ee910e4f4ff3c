// SPDX-License-Identifier: Apache-2.0
// NodeResourcesBalancedAllocation: prefers nodes whose resources the pod makes more evenly used. 75 is neutral: the pod
// changes nothing; towards 100 it improves the balance, towards 50 it makes it worse (upstream's formula since 1.35).
#pragma once

#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/helper/scored_resources.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class NodeResourcesBalancedAllocation final : public framework::PreScorePlugin,
                                              public framework::FastScore,
                                              public framework::AmountsPlugin,
                                              public framework::ObjectReader {
 public:
  // With `handle`, devices count where a class of them stands behind a resource.
  explicit NodeResourcesBalancedAllocation(const std::vector<WeightedResource>& resources = {{"cpu", 1}, {"memory", 1}},
                                           framework::Handle* handle = nullptr);

  std::string_view Name() const override { return names::kNodeResourcesBalancedAllocation; }
  bool ReadsPlacementOnly() const override { return true; }

  // Skips pods that request none of the resources, or many of them would gather on one node.
  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  bool RestsOnAmounts(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  void ScoreBounds(const framework::Cycle& emptiest, const framework::Cycle& fullest, const framework::PodInfo& pod,
                   std::span<std::int64_t> bounds) const override;

  std::vector<framework::ObjectKind> ObjectsRead() const override;
  std::uint64_t Epoch() const override { return scored_.MayCountDevices() ? scored_.DeviceEpoch() : 0; }

 private:
  ScoredResources scored_;
};

}  // namespace berth::plugins
