// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cheap_offers.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth::rebalance {

CheapOffers::CheapOffers(const PackingProblem& problem, const ItemPrices& prices) : offers_(problem.items.size()) {
  const std::size_t count = problem.bins.size();
  double sum = 0;
  std::vector<std::tuple<double, std::size_t, std::size_t>> found;  // cost, place in the item's own order, bin
  for (std::size_t item = 0; item < problem.items.size(); ++item) {
    const std::size_t home = problem.items[item].bin;
    const double here = prices.cost(item, home);
    found.clear();
    for (std::size_t i = 0; problem.items[item].may_move && i < count; ++i) {
      const std::size_t bin = (i + item) % count;
      if (bin == home || !problem.bins[bin].may_receive) continue;
      const double cost = prices.cost(item, bin);
      if (prices.pays_off(here, cost) && problem.is_allowed(item, bin)) found.emplace_back(cost, i, bin);
    }
    const std::size_t kept = std::min(found.size(), kCheapOffersMax);
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end());
    std::vector<Offer>& offers = offers_[item];
    for (std::size_t i = 0; i < kept; ++i) offers.push_back({std::get<0>(found[i]), std::get<2>(found[i])});
    offers.push_back({here, home});
    if (kept == 0) continue;
    items_.push_back(item);
    sum += here;
  }
  if (!items_.empty()) mean_cost_ = sum / static_cast<double>(items_.size());
}

const CheapOffers::Offer* CheapOffers::Find(std::size_t item, std::size_t bin) const {
  const auto at = std::ranges::find(offers_[item], bin, &Offer::bin);
  return at == offers_[item].end() ? nullptr : &*at;
}

}  // namespace berth::rebalance
