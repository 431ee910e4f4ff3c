// SPDX-License-Identifier: Apache-2.0
// Packing: which nodes can be emptied if their pods go into the gaps of the others. First it is searched for where all
// pods could be with few nodes in use (kept_bins.h, guided_ejection.h), then for a sequence of moves that leads there
// (packing_order.h). It looks at sizes alone and knows nothing of Kubernetes; the plan asks the core about each move.
// Deterministic and bounded by steps. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace berth::rebalance {

// Amounts of each resource, all in one order.
using PackingSize = std::vector<std::int64_t>;

struct PackingBin {
  PackingSize capacity;
  PackingSize free;
  bool may_empty = false;
  bool may_receive = false;
  bool goes_first = false;  // it is being emptied already
};

struct PackingItem {
  PackingSize size;
  std::size_t bin = 0;
  bool may_move = false;
};

struct PackingProblem {
  std::vector<PackingBin> bins;
  std::vector<PackingItem> items;
  // Whether an item may be in a bin, whatever its size.
  std::function<bool(std::size_t item, std::size_t bin)> is_allowed;
  std::size_t keep = 1;       // bins that stay in use at least
  std::size_t empty_max = 0;  // bins that are emptied at most
};

struct PackingMove {
  std::size_t item = 0;
  std::size_t to = 0;
  std::size_t empties = 0;  // the bin that this move and those with the same number empty
};

// In the order in which they can be made: each fits when those before it have been made. Moves of one bin come
// together; no item moves twice.
std::vector<PackingMove> PackTogether(const PackingProblem& problem);

// How many bins the moves empty.
std::size_t EmptiedBy(const std::vector<PackingMove>& moves);

}  // namespace berth::rebalance
