// SPDX-License-Identifier: Apache-2.0
// ZoneBalance: a policy of berth's own. Spreads the pods of each owner over zones, without the pods asking for it, in
// the proportion of what the zones have free for them. See README.md in this folder. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/helper/owner_pods.h"
#include "berth/plugins/names.h"
#include "berth/plugins/zone_balance/zone_balance_args.h"
#include "berth/plugins/zone_balance/zone_pools.h"

namespace berth::plugins {

class ZoneBalance final : public framework::FastPreScore,
                          public framework::FastScore,
                          public framework::GroupingPlugin {
 public:
  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);
  explicit ZoneBalance(const ZoneBalanceArgs& args);

  std::string_view Name() const override { return names::kZoneBalance; }

  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kCycle; }
  bool PreScoreSkips(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;

  // The rank of the node's zone, from 0 for the one that is due; kNoRawScore for nodes without a zone.
  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kCycle; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kLowestFirst; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  // A row's mark is its pool: the same for all classes.
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

  void Sync(const framework::NodeTable& nodes) const;
  framework::Status Rank(const framework::Cycle& cycle, const framework::PodInfo& pod,
                         std::span<const framework::NodeIndex> feasible, std::span<const std::size_t> sizes) const;

  const ZoneBalanceArgs::Weights weights_;
  mutable ZonePools zones_;
  mutable OwnerPods pods_;               // by zone
  mutable std::uint64_t numbering_ = 0;  // of the zones as pods_ knows them
};

}  // namespace berth::plugins
