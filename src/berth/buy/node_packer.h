// SPDX-License-Identifier: Apache-2.0
// PackNodes: the cheapest nodes for a PackingProblem: the linear relaxation is rounded by diving (the parts of nodes
// that are used most become whole, and what is left is solved again), then a few nodes at a time are given up and their
// pods packed again (large neighbourhood search). Deterministic, bounded by counted steps; one thread.
#pragma once

#include <cstdint>
#include <functional>

#include "berth/buy/packing_problem.h"

namespace berth::buy {

struct PackOptions {
  std::uint64_t steps_max = 10'000'000;  // see ColumnGeneration::steps()
  std::uint64_t seed = 1;                // of the neighbourhoods
  // Asked now and then; true: end with what there is.
  std::function<bool()> is_interrupted{};
};

struct PackResult {
  Packing packing;
  // No packing that leaves nothing costs less; 0 is always right.
  std::int64_t bound_micro = 0;
  bool is_interrupted = false;
};

PackResult PackNodes(const PackingProblem& problem, const PackOptions& options);
// The bound alone; fewer steps make it lower.
std::int64_t BoundOfPrice(const PackingProblem& problem, std::uint64_t steps_max);

}  // namespace berth::buy
