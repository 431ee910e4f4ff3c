// SPDX-License-Identifier: Apache-2.0
// FillNode: the most valuable way to fill one node, a bounded knapsack problem with several resources, by branch and
// bound. Pure functions; deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/buy/packing_problem.h"

namespace berth::buy {

struct NodeFilling {
  Fill fill;
  double value = 0;  // of the fill
  double bound = 0;  // no fill has a higher value that is more than `enough`
};

// A bound of the search, so that one node does not take for ever; then NodeFilling::bound is above the value.
inline constexpr std::size_t kFillingStepsQuick = 400;
inline constexpr std::size_t kFillingStepsUsual = 4'000;
inline constexpr std::size_t kFillingStepsThorough = 300'000;

// `values` by kind, of one pod; `counts_max` by kind. A fill that is worth `enough` at most is of no use: it need not
// be found, and the bound may be `enough` then.
// `weights` are those by which resources were added up for the offer the last time, and are changed; empty: none. Adds
// the steps that it took to `steps`.
NodeFilling FillNode(const PackingProblem& problem, const NodeOffer& offer, const std::vector<double>& values,
                     const std::vector<std::int64_t>& counts_max, double enough, std::vector<double>& weights,
                     std::uint64_t& steps, std::size_t steps_max = kFillingStepsUsual);

}  // namespace berth::buy
