// SPDX-License-Identifier: Apache-2.0
// GuidedEjection: puts items that are in no bin into the open ones. What fits nowhere goes in all the same, and others
// leave for it: those that were hardest to place so far stay, the others try again. Guided ejection search (Nagata and
// Bräysy 2009, for fleets of vehicles), with best fit as the way in. Private to this folder; one thread; deterministic
// and bounded by steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "berth/base/random.h"
#include "berth/rebalance/packing_state.h"

namespace berth::rebalance {

class GuidedEjection {
 public:
  // `is_open`: bins that items may come to, by bin. All must outlive it.
  GuidedEjection(PackingState& state, const std::vector<char>& is_open, Random& random);

  // All items of the pool are in a bin afterwards. False: `steps` were not enough, and some items are in none; from
  // `steps` what was used is taken.
  bool PlaceAll(std::vector<std::size_t> pool, std::uint64_t& steps);

 private:
  struct Ejection {
    std::size_t bin = kNoBin;
    std::vector<std::size_t> items;
    double cost = 0;
  };

  std::size_t BestBinFor(std::size_t item);
  Ejection CheapestFor(std::size_t item);
  void TryBin(std::size_t item, std::size_t bin, Ejection& best);
  void TryLeavers(std::size_t first, std::size_t bin, Ejection& best);
  bool MakeRoom(std::initializer_list<std::size_t> leaving);
  void Shake();
  void TryRelocation(std::size_t item);
  void TrySwap(std::size_t a, std::size_t b);

  PackingState& state_;
  const std::vector<char>& is_open_;
  Random& random_;
  std::vector<std::size_t> bins_;     // the open ones
  std::vector<double> penalty_;       // by item: how often it fitted nowhere
  std::uint64_t used_ = 0;            // steps
  std::vector<std::size_t> leavers_;  // of the bin that is looked at, the cheapest first
  std::vector<std::int64_t> lacks_;   // of it, by resource
};

}  // namespace berth::rebalance
