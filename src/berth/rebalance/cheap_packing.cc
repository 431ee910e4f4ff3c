// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cheap_packing.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "berth/base/random.h"
#include "berth/rebalance/cheap_annealing.h"
#include "berth/rebalance/cheap_offers.h"
#include "berth/rebalance/cheap_order.h"
#include "berth/rebalance/packing_state.h"

namespace berth::rebalance {
namespace {

// Tests of whether an item fits, over all ways that are tried.
constexpr std::uint64_t kStepsMax = 100'000'000;
// Orders of greedy search, and times that one is gone through, because room has come meanwhile.
constexpr std::size_t kOrdersMax = 50;
constexpr std::size_t kRepeatsMax = 20;
// How often it is annealed; and steps of each time: for each item, and at most.
constexpr std::size_t kAnnealingsMax = 12;
constexpr std::uint64_t kAnnealingStepsOfItem = 2'000;
constexpr std::uint64_t kAnnealingStepsMax = 100'000;

// Items take the cheapest bin that has room for them, in the order given.
CheapMoves MoveGreedily(const PackingState& home, const CheapOffers& offers, const std::vector<std::size_t>& order,
                        std::uint64_t& steps) {
  PackingState state = home;
  CheapMoves done;
  std::vector<std::size_t> waiting = order;
  for (std::size_t repeat = 0; repeat < kRepeatsMax && steps > 0; ++repeat) {
    // At first only the cheapest bin will do, since what is there may go away yet.
    const bool is_choosy = repeat < 2;
    const auto goes = [&](std::size_t item) {
      const std::vector<CheapOffers::Offer>& all = offers.Of(item);
      for (std::size_t i = 0; i < (is_choosy ? 1 : all.size() - 1) && steps > 0; ++i) {
        --steps;
        if (!state.HasRoom(item, all[i].bin)) continue;
        state.Move(item, all[i].bin);
        done.moves.push_back({item, all[i].bin, 0});
        done.saving += offers.HomeCostOf(item) - all[i].cost;
        return true;
      }
      return false;
    };
    if (std::erase_if(waiting, goes) == 0 && !is_choosy) break;
  }
  return done;
}

// Orders items by what they save, or by what they save of their cost; from the third order on with some randomness.
std::vector<std::size_t> OrderBySaving(const CheapOffers& offers, std::size_t attempt, Random& random) {
  std::vector<std::pair<double, std::size_t>> keys;
  for (const std::size_t item : offers.items()) {
    const double here = offers.HomeCostOf(item), saving = here - offers.Of(item).front().cost;
    const double disorder = attempt < 2 ? 1 : 0.5 + static_cast<double>(random.Below(1000)) / 1000;
    keys.emplace_back(-saving * disorder / (attempt % 2 == 0 ? 1 : std::max(here, 1e-9)), item);
  }
  std::ranges::sort(keys);
  std::vector<std::size_t> order;
  for (const auto& key : keys) order.push_back(key.second);
  return order;
}

}  // namespace

std::vector<PackingMove> MoveForLess(const PackingProblem& problem, const ItemPrices& prices) {
  const CheapOffers offers(problem, prices);
  if (offers.items().empty()) return {};
  const PackingState home(problem);
  std::uint64_t steps = kStepsMax;
  Random random(1);
  CheapMoves best;
  const auto take = [&best](CheapMoves moves) {
    if (moves.saving > best.saving) best = std::move(moves);
  };
  for (std::size_t attempt = 0; attempt < kOrdersMax && steps > kStepsMax / 2; ++attempt)
    take(MoveGreedily(home, offers, OrderBySaving(offers, attempt, random), steps));
  CheapAnnealing annealing(home, offers, random);
  const std::uint64_t each = std::min(kAnnealingStepsOfItem * offers.items().size(), kAnnealingStepsMax);
  for (std::size_t attempt = 0; attempt < kAnnealingsMax && steps > each; ++attempt) {
    steps -= each;
    take(OrderCheapMoves(home, offers, annealing.Run(each), steps));
  }
  return std::move(best.moves);
}

}  // namespace berth::rebalance
