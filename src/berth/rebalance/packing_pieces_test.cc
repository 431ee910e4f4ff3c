// SPDX-License-Identifier: Apache-2.0
// The parts of the search for bins to empty, each by itself: which bins may stay, how items are placed in them, and in
// which order they get there.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/rebalance/guided_ejection.h"
#include "berth/rebalance/kept_bins.h"
#include "berth/rebalance/packing_order.h"
#include "berth/rebalance/packing_state.h"

namespace berth::rebalance {
namespace {

using Set = std::vector<std::size_t>;

struct At {
  PackingSize size;
  std::size_t bin;
  bool may_move = true;
};

PackingProblem Problem(const std::vector<PackingSize>& capacities, const std::vector<At>& items) {
  PackingProblem problem;
  for (const PackingSize& capacity : capacities) problem.bins.push_back({capacity, capacity, true, true, false});
  for (const At& item : items) {
    for (std::size_t i = 0; i < item.size.size(); ++i) problem.bins[item.bin].free[i] -= item.size[i];
    problem.items.push_back({item.size, item.bin, item.may_move});
  }
  problem.empty_max = capacities.size();
  problem.is_allowed = [](std::size_t, std::size_t) { return true; };
  return problem;
}

// --- PackingState ----------------------------------------------------------------------------------------------------

TEST(PackingStateTest, KeepsBooksOfRoom) {
  const PackingProblem problem = Problem({{10, 8}, {10, 20}}, {{{4, 2}, 0}, {{3, 5}, 0}, {{5, 10}, 1}});
  PackingState state(problem);
  EXPECT_TRUE(state.HasRoom(0, 1));
  EXPECT_FALSE(state.HasRoom(2, 0));
  state.Move(1, 1);
  EXPECT_EQ(state.BinOf(1), 1u);
  EXPECT_EQ(state.ItemsIn(0), Set{0});
  EXPECT_EQ(state.ItemsIn(1), (Set{2, 1}));
  EXPECT_EQ(state.FreeOf(1)[1], 5);
  state.Take(2);
  EXPECT_EQ(state.BinOf(2), kNoBin);
  EXPECT_EQ(state.ItemsIn(1), Set{1});
  EXPECT_EQ(state.FreeOf(1)[0], 7);
  EXPECT_DOUBLE_EQ(state.ShareOf(2), 0.5);
}

// --- KeptBins --------------------------------------------------------------------------------------------------------

TEST(KeptBinsTest, CountsWhatCapacityAsksFor) {
  // 14 and 22 in all: by the first resource two bins do, by the second all three are needed.
  const PackingProblem problem = Problem({{10, 10}, {10, 6}, {4, 8}}, {{{6, 8}, 0}, {{6, 6}, 1}, {{2, 8}, 2}});
  EXPECT_EQ(KeptBins(problem).FewestByCapacity(), 3u);
  EXPECT_EQ(KeptBins(problem).used_count(), 3u);
}

TEST(KeptBinsTest, KeepsWhatCannotBeEmptiedAndPassesOverWhatGoesFirst) {
  PackingProblem problem = Problem({{4}, {10}, {12}, {10}}, {{{1}, 0, false}, {{1}, 1}, {{1}, 2}, {{1}, 3}});
  problem.bins[2].goes_first = true;
  Random random(1);
  const KeptBins kept(problem);
  EXPECT_TRUE(kept.MustStay(0));
  const std::vector<Set> sets = kept.Choose(2, random);
  ASSERT_FALSE(sets.empty());
  for (const Set& set : sets) {
    EXPECT_EQ(set.front(), 0u);
    EXPECT_NE(set.back(), 2u);
  }
}

TEST(KeptBinsTest, CountsRoomOnlyWhereItemsMayCome) {
  PackingProblem problem = Problem({{20}, {8}, {8}}, {{{4}, 0}, {{4}, 1}, {{4}, 2}});
  EXPECT_EQ(KeptBins(problem).FewestByCapacity(), 1u);
  problem.bins[0].may_receive = false;
  EXPECT_EQ(KeptBins(problem).FewestByCapacity(), 2u);
}

TEST(KeptBinsTest, FindsSetsThatNoWeightingOfResourcesHasFirst) {
  // Two of each kind are larger in one resource; it takes one of each, or the two that are middling.
  const PackingProblem problem =
      Problem({{10, 4}, {10, 4}, {4, 10}, {4, 10}, {7, 7}, {7, 7}},
              {{{3, 3}, 0}, {{3, 3}, 1}, {{3, 3}, 2}, {{2, 2}, 3}, {{1, 2}, 4}, {{2, 1}, 5}});
  Random random(1);
  const std::vector<Set> sets = KeptBins(problem).Choose(2, random);
  ASSERT_FALSE(sets.empty());
  for (const Set& set : sets) {
    std::int64_t first = 0, second = 0;
    for (const std::size_t bin : set) {
      first += problem.bins[bin].capacity[0];
      second += problem.bins[bin].capacity[1];
    }
    EXPECT_GE(first, 14);
    EXPECT_GE(second, 14);
  }
}

// --- GuidedEjection --------------------------------------------------------------------------------------------------

// All of the bin's items go to the others.
bool PlaceAllOf(std::size_t bin, PackingState& state, std::uint64_t steps = 100'000) {
  std::vector<char> is_open(state.bin_count(), 1);
  is_open[bin] = 0;
  const Set pool = state.ItemsIn(bin);
  for (const std::size_t item : pool) state.Take(item);
  Random random(1);
  return GuidedEjection(state, is_open, random).PlaceAll(pool, steps);
}

TEST(GuidedEjectionTest, MakesRoomByMovingOthers) {
  // The 6 fits only when the 3 and the 1 have found other places, and 3 and 4 are together.
  const PackingProblem problem = Problem({{10}, {7}, {6}}, {{{4}, 0}, {{3}, 0}, {{3}, 1}, {{1}, 1}, {{6}, 2}});
  PackingState state(problem);
  ASSERT_TRUE(PlaceAllOf(2, state));
  EXPECT_TRUE(state.ItemsIn(2).empty());
  for (std::size_t bin = 0; bin < 2; ++bin) EXPECT_GE(state.FreeOf(bin)[0], 0);
  EXPECT_EQ(state.ItemsIn(0).size() + state.ItemsIn(1).size(), 5u);
}

TEST(GuidedEjectionTest, LeavesAloneWhatMayNotMoveOrCome) {
  PackingProblem problem = Problem({{10}, {10}, {10}}, {{{7}, 0, false}, {{3}, 1}, {{4}, 1}, {{5}, 2}});
  // The 5 may go to the first bin alone, where nothing moves away.
  problem.is_allowed = [](std::size_t item, std::size_t bin) { return item != 3 || bin == 0; };
  PackingState state(problem);
  EXPECT_FALSE(PlaceAllOf(2, state));
  EXPECT_EQ(state.BinOf(0), 0u);
}

TEST(GuidedEjectionTest, EndsWhenItsStepsAreUsedUp) {
  // 21 into 20: there is no way.
  const PackingProblem problem =
      Problem({{10}, {10}, {10}}, {{{4}, 0}, {{3}, 0}, {{4}, 1}, {{4}, 1}, {{3}, 2}, {{3}, 2}});
  PackingState state(problem);
  EXPECT_FALSE(PlaceAllOf(2, state, 10'000));
}

// --- OrderMoves ------------------------------------------------------------------------------------------------------

std::vector<std::pair<std::size_t, std::size_t>> MovesOf(const PackingProblem& problem, const Set& target) {
  std::vector<std::pair<std::size_t, std::size_t>> moves;
  for (const PackingMove& move : OrderMoves(problem, target)) moves.emplace_back(move.item, move.to);
  return moves;
}

using Moves = std::vector<std::pair<std::size_t, std::size_t>>;

TEST(PackingOrderTest, WhatMakesRoomGoesFirst) {
  // The 5 of the last bin goes to the first, the 4 there to the second, and the 3 there to the third.
  const PackingProblem problem =
      Problem({{9}, {8}, {10}, {5}}, {{{4}, 0}, {{3}, 0}, {{3}, 1}, {{4}, 1}, {{6}, 2}, {{5}, 3}});
  EXPECT_EQ(MovesOf(problem, {1, 0, 2, 1, 2, 0}), (Moves{{2, 2}, {0, 1}, {5, 0}}));
}

TEST(PackingOrderTest, NothingOfABinLeavesThatCannotBeEmptied) {
  // The 4 and the 5 wait for each other, and what comes from the last bin waits for them.
  const PackingProblem problem =
      Problem({{10}, {10}, {10}}, {{{5}, 0}, {{4}, 0}, {{4}, 1}, {{5}, 1}, {{1}, 2}, {{2}, 2}});
  // As large as the bins are, the target is a fit, and no sequence leads there.
  EXPECT_EQ(MovesOf(problem, {0, 1, 1, 0, 0, 1}), Moves{});
}

TEST(PackingOrderTest, AlikeOnesTakeEachOthersPlaces) {
  // The two of size 3 would change places and one of size 2 would leave what another of its size comes to.
  const PackingProblem problem = Problem({{6}, {6}, {6}}, {{{3}, 0}, {{3}, 1}, {{2}, 0}, {{2}, 2}});
  EXPECT_EQ(MovesOf(problem, {1, 0, 1, 0}), (Moves{{3, 1}}));
}

TEST(PackingOrderTest, WhatNeedNotMoveStays) {
  const PackingProblem problem = Problem({{10}, {10}, {10}}, {{{3}, 0}, {{2}, 1}, {{1}, 2}});
  EXPECT_EQ(MovesOf(problem, {1, 1, 0}), (Moves{{2, 0}}));
}

TEST(PackingOrderTest, GoesElsewhereWhereTheTargetStaysFull) {
  // As above, with a bin beside them that has room.
  const PackingProblem problem =
      Problem({{10}, {10}, {10}, {10}}, {{{5}, 0}, {{4}, 0}, {{4}, 1}, {{5}, 1}, {{1}, 2}, {{2}, 2}, {{1}, 3, false}});
  EXPECT_EQ(MovesOf(problem, {0, 1, 1, 0, 0, 1, 3}), (Moves{{5, 3}, {4, 0}}));
}

TEST(PackingOrderTest, NoBinThatIsKeptIsEmptyMeanwhile) {
  // The 6 can come when the 5 has gone, and nothing else is there.
  const PackingProblem problem = Problem({{8}, {7}, {8}}, {{{5}, 0}, {{2}, 1}, {{6}, 2}});
  EXPECT_EQ(MovesOf(problem, {1, 1, 0}), Moves{});
}

}  // namespace
}  // namespace berth::rebalance
