// SPDX-License-Identifier: Apache-2.0
// PackingState: which bin each item of a packing problem is in while a search moves them about, and what is free then.
// Items may be in no bin for a while. Private to this folder; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "berth/rebalance/packing.h"

namespace berth::rebalance {

inline constexpr std::size_t kNoBin = std::numeric_limits<std::size_t>::max();

class PackingState {
 public:
  // Each item is in the bin that the problem says. `problem` must outlive it.
  explicit PackingState(const PackingProblem& problem);

  const PackingProblem& problem() const { return *problem_; }
  std::size_t bin_count() const { return items_.size(); }
  std::size_t item_count() const { return at_.size(); }
  // The item's bin; kNoBin: it is in none.
  std::size_t BinOf(std::size_t item) const { return at_[item]; }
  const std::vector<std::size_t>& ItemsIn(std::size_t bin) const { return items_[bin]; }
  std::span<const std::int64_t> SizeOf(std::size_t item) const { return {&sizes_[item * width_], width_}; }
  std::span<const std::int64_t> FreeOf(std::size_t bin) const { return {&free_[bin * width_], width_}; }

  bool HasRoom(std::size_t item, std::size_t bin) const;
  bool IsAllowed(std::size_t item, std::size_t bin) const { return problem_->is_allowed(item, bin); }
  bool Fits(std::size_t item, std::size_t bin) const { return HasRoom(item, bin) && IsAllowed(item, bin); }
  // What would be free in the bin with the item in it, as parts of the bin's capacity, summed: the less, the tighter.
  double Leftover(std::size_t item, std::size_t bin) const;
  // The largest part of the largest bin that the item takes.
  double ShareOf(std::size_t item) const { return shares_[item]; }

  void Take(std::size_t item);
  // The item is in no bin.
  void Put(std::size_t item, std::size_t bin);
  void Move(std::size_t item, std::size_t bin) {
    Take(item);
    Put(item, bin);
  }

 private:
  const PackingProblem* problem_;
  std::size_t width_ = 0;                        // resources of which some item has any
  std::vector<std::int64_t> sizes_;              // by item and resource
  std::vector<std::int64_t> free_;               // by bin and resource
  std::vector<double> parts_;                    // by bin and resource: 1 / capacity
  std::vector<double> shares_;                   // by item
  std::vector<std::size_t> at_;                  // by item
  std::vector<std::size_t> place_;               // by item: its index in items_ of its bin
  std::vector<std::vector<std::size_t>> items_;  // by bin
};

}  // namespace berth::rebalance
