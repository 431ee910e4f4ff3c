// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cheap_offers.h"

#include <algorithm>
#include <utility>

namespace berth::rebalance {

namespace {

// The bins that take items, by kind, ascending.
std::vector<std::vector<std::size_t>> ReceiversByKind(const PackingProblem& problem,
                                                      const std::vector<std::size_t>& kinds) {
  std::vector<std::vector<std::size_t>> bins;
  for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) {
    if (!problem.bins[bin].may_receive) continue;
    bins.resize(std::max(bins.size(), kinds[bin] + 1));
    bins[kinds[bin]].push_back(bin);
  }
  std::erase_if(bins, [](const auto& of_kind) { return of_kind.empty(); });
  return bins;
}

}  // namespace

CheapOffers::CheapOffers(const PackingProblem& problem, const ItemPrices& prices) : offers_(problem.items.size()) {
  const std::vector<std::vector<std::size_t>> kinds = ReceiversByKind(problem, prices.kinds);
  double sum = 0;
  std::vector<std::pair<double, std::size_t>> cheaper;  // what the item costs in bins of a kind; the kind
  for (std::size_t item = 0; item < problem.items.size(); ++item) {
    const std::size_t home = problem.items[item].bin;
    const double here = prices.cost(item, home);
    cheaper.clear();
    for (std::size_t kind = 0; problem.items[item].may_move && kind < kinds.size(); ++kind) {
      const double cost = prices.cost(item, kinds[kind].front());
      if (prices.pays_off(here, cost)) cheaper.emplace_back(cost, kind);
    }
    std::ranges::sort(cheaper);
    std::vector<Offer>& offers = offers_[item];
    for (const auto& [cost, kind] : cheaper) {
      const std::vector<std::size_t>& bins = kinds[kind];
      const auto first = std::ranges::lower_bound(bins, item % problem.bins.size()) - bins.begin();
      for (std::size_t i = 0; i < bins.size() && offers.size() < kCheapOffersMax; ++i) {
        const std::size_t bin = bins[(static_cast<std::size_t>(first) + i) % bins.size()];
        if (bin != home && problem.is_allowed(item, bin)) offers.push_back({cost, bin});
      }
    }
    const bool has_any = !offers.empty();
    offers.push_back({here, home});
    if (!has_any) continue;
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
