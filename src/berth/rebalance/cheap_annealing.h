// SPDX-License-Identifier: Apache-2.0
// Where the items of a packing problem would cost least together, each where it is or where it pays off for it: the
// generalised assignment problem, by simulated annealing (Kirkpatrick 1983) with shifts and exchanges. It does not find
// out whether moves lead there. Private to this folder; one thread; deterministic and bounded by steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/base/random.h"
#include "berth/rebalance/cheap_offers.h"
#include "berth/rebalance/packing_state.h"

namespace berth::rebalance {

class CheapAnnealing {
 public:
  // All must outlive it.
  CheapAnnealing(const PackingState& home, const CheapOffers& offers, Random& random)
      : home_(home), offers_(offers), random_(random), state_(home) {}

  // By item: the bin. Each run goes another way.
  std::vector<std::size_t> Run(std::uint64_t steps);

 private:
  void Step();
  bool Accepts(double change);
  void TryExchange(std::size_t item, std::size_t to, double change);
  void Remember();

  const PackingState& home_;
  const CheapOffers& offers_;
  Random& random_;
  PackingState state_;
  double temperature_ = 0;
  double saving_ = 0;  // beside what is at home
  double best_saving_ = 0;
  std::vector<std::size_t> best_;     // by item
  std::vector<std::size_t> changed_;  // items that are elsewhere since it was written
};

}  // namespace berth::rebalance
