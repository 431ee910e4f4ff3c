// SPDX-License-Identifier: Apache-2.0
// Moves that lead from where the items of a packing problem are to where they would be cheap, each into a bin that has
// room for it at that time, and each paying off by itself. What waits for others in a circle goes elsewhere, where that
// costs least more. Private to this folder; a pure function, bounded by steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/rebalance/cheap_offers.h"
#include "berth/rebalance/packing_state.h"

namespace berth::rebalance {

struct CheapMoves {
  double saving = 0;
  std::vector<PackingMove> moves;
};

// `target`: by item, one of its offers. From `steps` what was used is taken.
CheapMoves OrderCheapMoves(const PackingState& home, const CheapOffers& offers, const std::vector<std::size_t>& target,
                           std::uint64_t& steps);

}  // namespace berth::rebalance
