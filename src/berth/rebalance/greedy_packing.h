// SPDX-License-Identifier: Apache-2.0
// A search over orders of bins, each of which is a greedy best fit with ejection chains: what fits nowhere may push
// smaller items on, and these others. It finds most of what is easy, in large problems too, and where other searches
// begin. Private to this folder; a pure function, deterministic and bounded by steps.
#pragma once

#include <vector>

#include "berth/rebalance/packing.h"

namespace berth::rebalance {

// See PackTogether().
std::vector<PackingMove> PackGreedily(const PackingProblem& problem);

}  // namespace berth::rebalance
