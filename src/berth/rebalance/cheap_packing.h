// SPDX-License-Identifier: Apache-2.0
// Which items go to cheaper bins, each once, so that what frees cheap room goes before what takes it: the best of
// greedy orders, in which items take the cheapest bin that has room for them, and of annealed assignments
// (cheap_annealing.h). Deterministic and bounded by steps. A pure function.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "berth/rebalance/packing.h"

namespace berth::rebalance {

struct ItemPrices {
  // Of an item in a bin.
  std::function<double(std::size_t item, std::size_t bin)> cost;
  // Whether it pays to go from one cost to the other.
  std::function<bool(double from, double to)> pays_off;
  // By bin: in bins of the same kind each item costs the same. Numbers from 0.
  std::vector<std::size_t> kinds;
};

// In the order in which they can be made: each fits when those before it have been made, and pays off.
// PackingMove::empties means nothing.
std::vector<PackingMove> MoveForLess(const PackingProblem& problem, const ItemPrices& prices);

}  // namespace berth::rebalance
