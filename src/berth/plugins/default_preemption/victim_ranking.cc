// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/victim_ranking.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace berth::plugins {
namespace {

template <typename Number>
int ThreeWay(Number a, Number b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

}  // namespace

VictimRanking::VictimRanking(std::span<const VictimUnit> units, std::span<const std::int64_t> violations)
    : units_(units), violations_(violations), is_condemned_(units.size(), false) {
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (const framework::PodInfoPtr& pod : units[unit].pods) {
      Indices& here = by_node_[pod->node_name];
      if (here.empty() || here.back() != unit) here.push_back(unit);
    }
  }
}

VictimRanking::Indices VictimRanking::Surviving(std::string_view node_name) const {
  const auto found = by_node_.find(node_name);
  if (found == by_node_.end()) return {};
  Indices surviving;
  std::ranges::copy_if(found->second, std::back_inserter(surviving),
                       [this](std::size_t unit) { return !is_condemned_[unit]; });
  return surviving;
}

// By overdrawn budgets; by the number of pods, priority by priority from the highest; by the number of all pods; then
// victim by victim. Upstream: CompareVictimSets.
int VictimRanking::Compare(const Indices& a, const Indices& b) const {
  if (a.empty() || b.empty()) return ThreeWay(a.size(), b.size());
  const auto violations_of = [this](const Indices& set) {
    return std::accumulate(set.begin(), set.end(), std::int64_t{0},
                           [this](std::int64_t sum, std::size_t unit) { return sum + violations_[unit]; });
  };
  if (const int order = ThreeWay(violations_of(a), violations_of(b)); order != 0) return order;
  // Counts the pods of the units of one priority, from `at` on, which is moved behind them.
  const auto count_priority = [this](const Indices& set, std::size_t& at, std::int32_t priority) {
    std::size_t pods = 0;
    for (; at < set.size() && units_[set[at]].priority == priority; ++at) pods += units_[set[at]].pods.size();
    return pods;
  };
  for (std::size_t at_a = 0, at_b = 0; at_a < a.size() && at_b < b.size();) {
    const std::int32_t priority_a = units_[a[at_a]].priority, priority_b = units_[b[at_b]].priority;
    if (priority_a != priority_b) return ThreeWay(priority_a, priority_b);
    const std::size_t pods_a = count_priority(a, at_a, priority_a), pods_b = count_priority(b, at_b, priority_b);
    if (pods_a != pods_b) return ThreeWay(pods_a, pods_b);
  }
  const auto pods_of = [this](const Indices& set) {
    return std::accumulate(set.begin(), set.end(), std::size_t{0},
                           [this](std::size_t sum, std::size_t unit) { return sum + units_[unit].pods.size(); });
  };
  if (const int order = ThreeWay(pods_of(a), pods_of(b)); order != 0) return order;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const VictimUnit &unit_a = units_[a[i]], &unit_b = units_[b[i]];
    if (unit_a.kind != unit_b.kind) return ThreeWay(unit_a.kind, unit_b.kind);
    if (unit_a.pods.size() != unit_b.pods.size()) return ThreeWay(unit_a.pods.size(), unit_b.pods.size());
  }
  return ThreeWay(a.size(), b.size());
}

std::vector<std::size_t> VictimRanking::Cheapest(std::span<const std::string_view> node_names) const {
  std::vector<std::size_t> cheapest;
  Indices lowest;
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    Indices cost = Surviving(node_names[i]);
    const int order = cheapest.empty() ? -1 : Compare(cost, lowest);
    if (order > 0) continue;
    if (order < 0) {
      cheapest.clear();
      lowest = std::move(cost);
    }
    cheapest.push_back(i);
  }
  return cheapest;
}

void VictimRanking::Place(const std::string& uid, std::string_view node_name) {
  Indices cost = Surviving(node_name);
  if (cost.empty()) return;
  for (const std::size_t unit : cost) is_condemned_[unit] = true;
  cost_of_pod_.insert_or_assign(uid, std::move(cost));
}

void VictimRanking::TakeBack(const std::string& uid) {
  const auto found = cost_of_pod_.find(uid);
  if (found == cost_of_pod_.end()) return;
  for (const std::size_t unit : found->second) is_condemned_[unit] = false;
  cost_of_pod_.erase(found);
}

}  // namespace berth::plugins
