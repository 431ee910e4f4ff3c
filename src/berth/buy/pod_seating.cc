// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/pod_seating.h"

#include <algorithm>
#include <limits>
#include <set>

namespace berth::buy {
namespace {

// A rule that would be broken, beside zones that are out of step.
constexpr std::int64_t kBroken = 1'000'000;

}  // namespace

PodSeating::PodSeating(const PurchaseDemand& demand, const std::vector<Offer>& offers,
                       const std::vector<ZoneCounts>& placed)
    : demand_(demand), offers_(offers) {
  const std::vector<SpreadRule>& rules = demand.company().spreads();
  const std::size_t groups = demand.groups().size();
  bound_.resize(groups);
  counted_.resize(groups);
  std::set<std::string> zones;
  for (const Offer& offer : offers) zones.insert(offer.zone);
  zones_.assign(zones.begin(), zones.end());
  of_zones_.resize(rules.size());
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    of_zones_[rule] = demand.CountedInCluster(rule);
    for (const std::string& zone : zones_) of_zones_[rule].try_emplace(zone, 0);
    for (std::size_t group = 0; group < groups; ++group) {
      if (rules[rule].is_bound[group] != 0) bound_[group].push_back(rule);
      if (rules[rule].counts[group] == 0) continue;
      counted_[group].push_back(rule);
      if (!rules[rule].is_by_zone || group >= placed.size()) continue;
      for (const auto& [zone, count] : placed[group]) of_zones_[rule][zone] += count;
    }
  }
}

std::int64_t PodSeating::CostOfZone(std::size_t group, const std::string& zone) const {
  const std::vector<SpreadRule>& rules = demand_.company().spreads();
  const auto above_least = [&](std::size_t rule) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const std::string& other : zones_) least = std::min(least, of_zones_[rule].find(other)->second);
    return of_zones_[rule].find(zone)->second - least;
  };
  std::int64_t cost = 0;
  for (const std::size_t rule : bound_[group]) {
    if (rules[rule].is_by_zone && above_least(rule) + rules[rule].counts[group] > rules[rule].max_skew) cost += kBroken;
  }
  for (const std::size_t rule : counted_[group]) {
    if (rules[rule].is_by_zone) cost += above_least(rule);
  }
  return cost;
}

std::int64_t PodSeating::CostOfNode(std::size_t group, std::size_t node) const {
  const std::vector<SpreadRule>& rules = demand_.company().spreads();
  std::int64_t cost = 0;
  for (const std::size_t rule : bound_[group]) {
    if (!rules[rule].is_by_zone && of_nodes_[rule][node] + rules[rule].counts[group] > rules[rule].max_skew)
      cost += kBroken;
  }
  return cost;
}

void PodSeating::Take(std::size_t group, const std::string& zone, std::size_t node) {
  for (const std::size_t rule : counted_[group]) {
    if (demand_.company().spreads()[rule].is_by_zone) {
      ++of_zones_[rule][zone];
    } else {
      ++of_nodes_[rule][node];
    }
  }
}

void PodSeating::Seat(const Demand& wanted, const Packing& packing, std::uint32_t first,
                      std::vector<std::uint32_t>& targets) {
  const std::size_t kinds = wanted.problem.kinds.size();
  std::vector<SeatsByZone> free(kinds);
  // Nodes with few pods come first, where there is room for those that are bound by rules about nodes. The others are
  // seated from the back.
  std::vector<std::pair<std::int64_t, std::size_t>> order_of_nodes;
  for (std::size_t i = 0; i < packing.nodes.size(); ++i) {
    std::int64_t count = 0;
    for (const auto& part : packing.nodes[i].fill) count += part.second;
    order_of_nodes.emplace_back(count, packing.nodes.size() - i);
  }
  std::ranges::sort(order_of_nodes);
  for (const auto& [count, from_end] : order_of_nodes) {
    const std::size_t index = packing.nodes.size() - from_end;
    const PackedNode& node = packing.nodes[index];
    for (const auto& [kind, seats] : node.fill)
      free[kind][offers_[node.offer].zone].push_back({static_cast<std::uint32_t>(index), seats});
  }
  of_nodes_.assign(demand_.company().spreads().size(), std::vector<std::int32_t>(packing.nodes.size(), 0));
  std::vector<std::pair<std::size_t, std::size_t>> pods;  // and its kind
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (const std::size_t pod : wanted.pods[kind]) pods.emplace_back(pod, kind);
  }
  std::ranges::sort(pods);
  for (const auto& [pod, kind] : pods) {
    const std::size_t group = demand_.pods()[pod].group;
    const bool is_bound_by_node = std::ranges::any_of(
        bound_[group], [&](std::size_t rule) { return !demand_.company().spreads()[rule].is_by_zone; });
    std::vector<std::pair<std::int64_t, const std::string*>> order;
    for (const auto& [zone, seats] : free[kind]) {
      if (!seats.empty()) order.emplace_back(CostOfZone(group, zone), &zone);
    }
    if (order.empty()) continue;  // the packing has no node for it
    std::ranges::stable_sort(order, {}, [](const auto& each) { return each.first; });
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const std::string* zone = nullptr;
    std::size_t at = 0;
    for (const auto& [of_zone, name] : order) {
      if (of_zone >= least) break;
      const std::vector<Seats>& seats = free[kind][*name];
      const std::size_t looks = std::min(seats.size(), kLooksMax);
      for (std::size_t look = 0; look < looks && least > of_zone; ++look) {
        const std::size_t index = is_bound_by_node ? look : seats.size() - 1 - look;
        const std::int64_t cost = of_zone + CostOfNode(group, seats[index].node);
        if (cost >= least) continue;
        least = cost;
        zone = name;
        at = index;
      }
    }
    std::vector<Seats>& seats = free[kind][*zone];
    Seats& seat = seats[at];
    targets[pod] = first + seat.node;
    Take(group, *zone, seat.node);
    if (--seat.count == 0) seats.erase(seats.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace berth::buy
