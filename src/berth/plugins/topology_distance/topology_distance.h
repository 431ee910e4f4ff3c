// SPDX-License-Identifier: Apache-2.0
// TopologyDistance: a policy of berth's own. Prefers nodes near those where the pod's peers are, such as the other pods
// of its pod group, on several levels of topology. See README.md in this folder. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/names.h"
#include "berth/plugins/topology_distance/placed_peers.h"
#include "berth/plugins/topology_distance/topology_distance_args.h"

namespace berth::plugins {

class TopologyDistance final : public framework::FastPreScore,
                               public framework::FastScore,
                               public framework::GroupingPlugin {
 public:
  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);
  // `handle` must outlive it.
  TopologyDistance(const TopologyDistanceArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return names::kTopologyDistance; }

  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kCycle; }
  bool PreScoreSkips(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;

  // The sum of the distances to the placed peers. Where that is equal, the domain with more feasible nodes comes first.
  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kCycle; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kLowestFirst; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  // A row's shared mark is its narrowest domain; rows with peers are special. Its own marks are that domain and the
  // number of peers there. Rows cannot be grouped for the first pod of a pod group, which looks at each node's room.
  std::optional<Marks> MarksOf(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  std::optional<Marks> SharedMarksOf(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                     std::size_t special_max,
                                     std::vector<framework::NodeIndex>& special) const override;
  void MarkRows(const framework::Cycle& cycle, const framework::PodInfo& pod, MarkScope scope,
                std::span<const framework::NodeIndex> rows, std::span<std::uint32_t> marks,
                std::size_t stride) const override;
  framework::Status PreScoreGroups(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                   std::span<const framework::NodeIndex> feasible,
                                   std::span<const std::size_t> sizes) const override;

 private:
  struct State;
  using Set = PlacedPeers::Set;

  std::optional<std::size_t> WaitingPeers(const framework::PodInfo& pod) const;
  bool IsFirstOfGroup(const framework::PodInfo& pod) const;
  framework::Status Prepare(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::span<const framework::NodeIndex> feasible, std::span<const std::size_t> sizes) const;
  void AddDistances(const Set& set, State& state) const;
  void RankByRoom(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> feasible, std::int64_t wanted, State& state) const;

  const std::vector<TopologyDistanceArgs::Level> levels_;
  const std::int64_t max_distance_;
  const framework::Handle& handle_;
  mutable PlacedPeers peers_;
};

}  // namespace berth::plugins
