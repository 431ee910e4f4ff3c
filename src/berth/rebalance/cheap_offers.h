// SPDX-License-Identifier: Apache-2.0
// CheapOffers: for each item of a packing problem the cheapest bins where it pays off for it to be, and the bin where
// it is. Private to this folder; a value.
#pragma once

#include <cstddef>
#include <vector>

#include "berth/rebalance/cheap_packing.h"

namespace berth::rebalance {

// Of one item, beside where it is.
inline constexpr std::size_t kCheapOffersMax = 64;

class CheapOffers {
 public:
  struct Offer {
    double cost = 0;
    std::size_t bin = 0;
  };

  CheapOffers(const PackingProblem& problem, const ItemPrices& prices);

  // The items that have somewhere to go.
  const std::vector<std::size_t>& items() const { return items_; }
  // The item's offers, the cheapest first; the last one is the bin where it is. Bins that cost the same come in another
  // order for each item.
  const std::vector<Offer>& Of(std::size_t item) const { return offers_[item]; }
  bool MayBe(std::size_t item, std::size_t bin) const { return Find(item, bin) != nullptr; }
  // What the item costs in a bin where it may be.
  double CostOf(std::size_t item, std::size_t bin) const { return Find(item, bin)->cost; }
  double HomeCostOf(std::size_t item) const { return offers_[item].back().cost; }
  // The mean cost, where they are, of the items that have somewhere to go.
  double mean_cost() const { return mean_cost_; }

 private:
  const Offer* Find(std::size_t item, std::size_t bin) const;

  std::vector<std::vector<Offer>> offers_;  // by item
  std::vector<std::size_t> items_;
  double mean_cost_ = 0;
};

}  // namespace berth::rebalance
