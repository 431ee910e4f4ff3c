// SPDX-License-Identifier: Apache-2.0
// VictimRanking: which nodes cost a pod of a group least, by the victims that would have to leave them. A victim that
// an earlier pod of the group has cost already costs nothing more, on all of its nodes. Upstream: DefaultPreemption's
// RankNodes, Reserve and Unreserve, PodGroupPreemptionState. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "berth/framework/pod_group_post_filter.h"
#include "berth/plugins/default_preemption/victim_units.h"

namespace berth::plugins {

class VictimRanking final : public framework::NodeRanking {
 public:
  // All victims, the most important first; `violations`: how many pods of each overdraw a budget. Both must outlive it.
  VictimRanking(std::span<const VictimUnit> units, std::span<const std::int64_t> violations);

  std::vector<std::size_t> Cheapest(std::span<const std::string_view> node_names) const override;
  void Place(const std::string& uid, std::string_view node_name) override;
  void TakeBack(const std::string& uid) override;

 private:
  using Indices = std::vector<std::size_t>;  // of units, ascending

  // The victims on the node that no pod has cost yet.
  Indices Surviving(std::string_view node_name) const;
  // Negative: `a` costs less than `b`; 0: they cost the same.
  int Compare(const Indices& a, const Indices& b) const;

  const std::span<const VictimUnit> units_;
  const std::span<const std::int64_t> violations_;
  absl::flat_hash_map<std::string_view, Indices> by_node_;
  std::vector<bool> is_condemned_;                         // by unit
  absl::flat_hash_map<std::string, Indices> cost_of_pod_;  // by uid of a placed pod: what it has condemned
};

}  // namespace berth::plugins
