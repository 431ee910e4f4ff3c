// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/candidates.h"

#include <algorithm>
#include <limits>

namespace berth::plugins {

using framework::PodInfoPtr;
using Candidate = framework::PreemptionReport::Candidate;

CandidateCost CostOf(const Candidate& candidate, Time now) {
  constexpr std::int64_t kRaise = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  // A victim's own priority counts, also where its group's decided that it may go: the first need not have the highest.
  const std::int32_t first = candidate.victims.front()->priority();
  std::int32_t highest = first;
  std::int64_t sum = 0;
  Time earliest = candidate.victims.front()->start_time.value_or(now);
  for (const PodInfoPtr& victim : candidate.victims) {
    sum += victim->priority() + kRaise;
    const Time start = victim->start_time.value_or(now);
    if (victim->priority() > highest) earliest = start;
    if (victim->priority() == highest) earliest = std::min(earliest, start);
    highest = std::max(highest, victim->priority());
  }
  return {candidate.pdb_violations, first, sum, static_cast<std::int64_t>(candidate.victims.size()),
          -earliest.time_since_epoch().count()};
}

std::vector<std::size_t> Cheapest(std::span<const Candidate> candidates, Time now) {
  std::vector<std::size_t> cheapest;
  CandidateCost least{};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const CandidateCost cost = CostOf(candidates[i], now);
    if (cheapest.empty() || cost < least) {
      least = cost;
      cheapest.clear();
    }
    if (cost == least) cheapest.push_back(i);
  }
  return cheapest;
}

std::int64_t CandidatesWanted(std::int64_t node_count, std::int64_t percentage, std::int64_t absolute) {
  return std::min(std::max(node_count * percentage / 100, absolute), node_count);
}

}  // namespace berth::plugins
