// SPDX-License-Identifier: Apache-2.0
// Moves that lead from where the items of a packing problem are to where they shall be, one after the other, each into
// a bin that has room for it at that time. What makes room goes first; no item moves twice, so that a circle of items
// that wait for each other is not broken up. Bins that cannot be emptied so keep all they have. Private to this folder;
// a pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "berth/rebalance/packing.h"

namespace berth::rebalance {

// `target`: by item the bin where it shall be; all together fit there.
std::vector<PackingMove> OrderMoves(const PackingProblem& problem, std::vector<std::size_t> target);

}  // namespace berth::rebalance
