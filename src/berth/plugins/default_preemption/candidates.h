// SPDX-License-Identifier: Apache-2.0
// Which of the nodes where preemption would help is best. Plain functions; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/framework/plugin.h"
#include "berth/framework/preemption_report.h"

namespace berth::plugins {

// What a candidate costs, in the order in which costs count: budgets overdrawn; the priority of the first victim;
// the sum of all priorities, each raised by 2^31 so that a victim more always costs more; the number of victims; how
// late the most important ones started (microseconds, negated: the later, the cheaper). Upstream:
// pickOneNodeForPreemption. `candidate` has a victim at least.
using CandidateCost = std::array<std::int64_t, 5>;
CandidateCost CostOf(const framework::PreemptionReport::Candidate& candidate, Time now);

// Indices of the candidates that no cost tells apart from the cheapest one, ascending.
std::vector<std::size_t> Cheapest(std::span<const framework::PreemptionReport::Candidate> candidates, Time now);

// How many candidates are enough, of `node_count` nodes to look at. It can be 0 (50 nodes of which 1 % are asked for):
// upstream then finds none, and so do we. Upstream: calculateNumCandidates.
std::int64_t CandidatesWanted(std::int64_t node_count, std::int64_t percentage, std::int64_t absolute);

}  // namespace berth::plugins
