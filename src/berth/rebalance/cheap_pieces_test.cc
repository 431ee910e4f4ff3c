// SPDX-License-Identifier: Apache-2.0
// The parts of the search for cheaper bins, each by itself: where an item may go, how the cheapest assignment is found,
// and in which order items get there.
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/rebalance/cheap_annealing.h"
#include "berth/rebalance/cheap_offers.h"
#include "berth/rebalance/cheap_order.h"

namespace berth::rebalance {
namespace {

using Bins = std::vector<std::size_t>;
using Moves = std::vector<std::pair<std::size_t, std::size_t>>;

struct At {
  std::int64_t size;
  std::size_t bin;
};

// Bins of one resource.
PackingProblem Problem(const std::vector<std::int64_t>& capacities, const std::vector<At>& items) {
  PackingProblem problem;
  for (const std::int64_t capacity : capacities) problem.bins.push_back({{capacity}, {capacity}, true, true, false});
  for (const At& item : items) {
    problem.bins[item.bin].free[0] -= item.size;
    problem.items.push_back({{item.size}, item.bin, true});
  }
  problem.is_allowed = [](std::size_t, std::size_t) { return true; };
  return problem;
}

// Items cost their size, times a price of the bin. A tenth must be saved.
ItemPrices PricesOf(const PackingProblem& problem, std::vector<double> prices) {
  std::vector<std::size_t> kinds;
  for (const double price : prices)
    kinds.push_back(static_cast<std::size_t>(std::ranges::find(prices, price) - prices.begin()));
  return {[&problem, prices = std::move(prices)](std::size_t item, std::size_t bin) {
            return prices[bin] * static_cast<double>(problem.items[item].size[0]);
          },
          [](double from, double to) { return to <= from * 0.9; }, std::move(kinds)};
}

Moves MovesOf(const CheapMoves& from) {
  Moves moves;
  for (const PackingMove& move : from.moves) moves.emplace_back(move.item, move.to);
  return moves;
}

TEST(CheapOffersTest, AreWhatPaysOffTheCheapestFirst) {
  PackingProblem problem = Problem({10, 10, 10, 10, 10}, {{2, 0}, {3, 1}, {1, 1}});
  problem.bins[3].may_receive = false;
  problem.items[2].may_move = false;
  problem.is_allowed = [](std::size_t item, std::size_t bin) { return item != 1 || bin != 2; };
  const CheapOffers offers(problem, PricesOf(problem, {10, 9.5, 4, 1, 2}));
  EXPECT_EQ(offers.items(), (Bins{0, 1}));
  ASSERT_EQ(offers.Of(0).size(), 3u) << "the second bin saves too little, and the fourth takes nothing";
  EXPECT_EQ(offers.Of(0)[0].bin, 4u);
  EXPECT_EQ(offers.Of(0)[1].bin, 2u);
  EXPECT_EQ(offers.Of(0)[2].bin, 0u);
  EXPECT_DOUBLE_EQ(offers.CostOf(0, 4), 4);
  EXPECT_DOUBLE_EQ(offers.HomeCostOf(0), 20);
  EXPECT_FALSE(offers.MayBe(1, 2));
  EXPECT_FALSE(offers.MayBe(2, 4));
}

TEST(CheapOffersTest, AreBoundedAndSpreadOverBinsThatCostTheSame) {
  PackingProblem problem = Problem(std::vector<std::int64_t>(300, 10), {{1, 0}, {1, 0}, {1, 0}});
  std::vector<double> prices(300, 1);
  prices[0] = 2;
  const CheapOffers offers(problem, PricesOf(problem, prices));
  EXPECT_EQ(offers.Of(0).size(), kCheapOffersMax + 1);
  EXPECT_NE(offers.Of(1).front().bin, offers.Of(2).front().bin);
}

TEST(CheapAnnealingTest, FindsTheCheapestTogether) {
  // All are in the dearest bin. The cheapest one has room for the 6 or for the other two, the third for the 4 or the 2.
  const PackingProblem problem = Problem({6, 20, 4}, {{6, 1}, {4, 1}, {2, 1}});
  const CheapOffers offers(problem, PricesOf(problem, {1, 10, 5}));
  const PackingState home(problem);
  Random random(1);
  const Bins at = CheapAnnealing(home, offers, random).Run(20'000);
  // 6 + 20 + 20; with the 4 and the 2 together in the cheapest one it would be 6 + 60.
  EXPECT_EQ(at, (Bins{0, 2, 1}));
}

TEST(CheapOrderTest, WhatMakesRoomGoesFirst) {
  // The 5 goes to the cheapest bin when the 3 has left it for one that is cheaper for it.
  const PackingProblem problem = Problem({6, 6, 6}, {{5, 1}, {3, 0}});
  ItemPrices prices = PricesOf(problem, {1, 2, 3});
  prices.cost = [](std::size_t item, std::size_t bin) {
    const double costs[2][3] = {{5, 50, 50}, {8, 9, 3}};
    return costs[item][bin];
  };
  const CheapOffers offers(problem, prices);
  std::uint64_t steps = 1000;
  const CheapMoves moves = OrderCheapMoves(PackingState(problem), offers, {0, 2}, steps);
  EXPECT_EQ(MovesOf(moves), (Moves{{1, 2}, {0, 0}}));
  EXPECT_DOUBLE_EQ(moves.saving, 50);
  EXPECT_LT(steps, 1000u);
}

TEST(CheapOrderTest, ACircleIsBrokenWhereThatCostsLeast) {
  // Two would change places, and there is no room for either meanwhile. The second one finds its next best place.
  const PackingProblem problem = Problem({5, 5, 5}, {{5, 0}, {5, 1}});
  ItemPrices prices = PricesOf(problem, {1, 2, 3});
  prices.cost = [](std::size_t item, std::size_t bin) {
    const double costs[2][3] = {{10, 1, 8}, {1, 10, 2}};
    return costs[item][bin];
  };
  const CheapOffers offers(problem, prices);
  std::uint64_t steps = 1000;
  const CheapMoves moves = OrderCheapMoves(PackingState(problem), offers, {1, 0}, steps);
  EXPECT_EQ(MovesOf(moves), (Moves{{1, 2}, {0, 1}}));
  EXPECT_DOUBLE_EQ(moves.saving, 17);
}

TEST(CheapOrderTest, EndsWhenItsStepsAreUsedUp) {
  const PackingProblem problem = Problem({50, 50}, {{1, 0}, {1, 0}, {1, 0}});
  const CheapOffers offers(problem, PricesOf(problem, {10, 1}));
  std::uint64_t steps = 0;
  EXPECT_TRUE(OrderCheapMoves(PackingState(problem), offers, {1, 1, 1}, steps).moves.empty());
}

}  // namespace
}  // namespace berth::rebalance
