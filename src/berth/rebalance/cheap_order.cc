// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cheap_order.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace berth::rebalance {
namespace {

class Sequence {
 public:
  Sequence(const PackingState& home, const CheapOffers& offers, const std::vector<std::size_t>& target,
           std::uint64_t& steps)
      : state_(home), offers_(offers), target_(target), steps_(steps) {
    std::vector<std::pair<double, std::size_t>> changes;
    for (const std::size_t item : offers.items())
      changes.emplace_back(offers.CostOf(item, target[item]) - offers.HomeCostOf(item), item);
    // Items that save most come first.
    std::ranges::sort(changes);
    for (const auto& each : changes) waiting_.push_back(each.second);
  }

  CheapMoves Run() {
    while (steps_ > 0 && (GoWhereTheyShall() || GoAside(true) || GoAside(false))) {
    }
    return std::move(done_);
  }

 private:
  struct Aside {
    std::size_t item;
    CheapOffers::Offer offer;
    double more;  // than what it would be otherwise
  };

  bool GoWhereTheyShall() {
    const auto goes = [this](std::size_t item) {
      Spend(1);
      if (target_[item] == state_.BinOf(item) || !state_.HasRoom(item, target_[item])) return false;
      Go(item, {offers_.CostOf(item, target_[item]), target_[item]});
      return true;
    };
    return std::erase_if(waiting_, goes) > 0;
  }

  // Moves the item for which that is cheapest to another of its bins. `unwillingly`: an item that waits for its target
  // and makes room for others by this; otherwise one that costs less there.
  bool GoAside(bool unwillingly) {
    std::optional<Aside> best;
    for (const std::size_t item : waiting_) {
      const bool shall_move = target_[item] != state_.BinOf(item);
      if (unwillingly && !shall_move) continue;
      const double otherwise = unwillingly ? offers_.CostOf(item, target_[item]) : offers_.HomeCostOf(item);
      for (const CheapOffers::Offer& offer : offers_.Of(item)) {
        Spend(1);
        const double more = offer.cost - otherwise;
        // Offers come in the order of their cost, and the last one is where the item is.
        if (offer.bin == state_.BinOf(item) || (best && more >= best->more) || (!unwillingly && more >= 0)) break;
        if (state_.HasRoom(item, offer.bin)) best = Aside{item, offer, more};
      }
    }
    if (!best) return false;
    Go(best->item, best->offer);
    std::erase(waiting_, best->item);
    return true;
  }

  void Go(std::size_t item, const CheapOffers::Offer& offer) {
    state_.Move(item, offer.bin);
    done_.moves.push_back({item, offer.bin, 0});
    done_.saving += offers_.HomeCostOf(item) - offer.cost;
  }
  void Spend(std::uint64_t steps) { steps_ -= std::min(steps, steps_); }

  PackingState state_;
  const CheapOffers& offers_;
  const std::vector<std::size_t>& target_;
  std::uint64_t& steps_;
  std::vector<std::size_t> waiting_;
  CheapMoves done_;
};

}  // namespace

CheapMoves OrderCheapMoves(const PackingState& home, const CheapOffers& offers, const std::vector<std::size_t>& target,
                           std::uint64_t& steps) {
  return Sequence(home, offers, target, steps).Run();
}

}  // namespace berth::rebalance
