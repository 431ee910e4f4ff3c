// SPDX-License-Identifier: Apache-2.0
// Moves of the search can be made in their order, and few random problems have a better answer.
#include "berth/rebalance/packing.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/rebalance/cheap_packing.h"

namespace berth::rebalance {
namespace {

PackingProblem RandomProblem(std::uint64_t seed) {
  Random random(seed);
  PackingProblem problem;
  const std::size_t bins = 3 + random.Below(4);
  for (std::size_t i = 0; i < bins; ++i) {
    PackingBin& bin = problem.bins.emplace_back();
    const auto size = static_cast<std::int64_t>(6 + random.Below(6));
    bin.capacity = bin.free = {size, size * 2};
    bin.may_empty = random.Below(10) != 0;
    bin.may_receive = true;
  }
  for (std::size_t i = 0; i < 4 + random.Below(5); ++i) {
    PackingItem item;
    item.bin = random.Below(bins);
    item.size = {static_cast<std::int64_t>(1 + random.Below(4)), static_cast<std::int64_t>(1 + random.Below(6))};
    item.may_move = random.Below(12) != 0;
    PackingBin& bin = problem.bins[item.bin];
    if (bin.free[0] < item.size[0] || bin.free[1] < item.size[1]) continue;
    bin.free[0] -= item.size[0];
    bin.free[1] -= item.size[1];
    problem.items.push_back(item);
  }
  // As Consolidate has it: what is empty stays so.
  std::vector<bool> is_used(bins);
  for (const PackingItem& item : problem.items) is_used[item.bin] = true;
  for (std::size_t i = 0; i < bins; ++i) {
    if (!is_used[i]) problem.bins[i].capacity = problem.bins[i].free = {0, 0};
  }
  problem.empty_max = bins;
  problem.is_allowed = [seed](std::size_t item, std::size_t bin) { return (item * 7 + bin * 3 + seed) % 11 != 0; };
  return problem;
}

// Makes the moves one after the other; the bins in use afterwards.
std::set<std::size_t> Replay(PackingProblem problem, const std::vector<PackingMove>& moves) {
  std::set<std::size_t> moved, emptied;
  for (const PackingMove& move : moves) {
    PackingItem& item = problem.items[move.item];
    EXPECT_TRUE(item.may_move);
    EXPECT_TRUE(moved.insert(move.item).second) << "twice";
    EXPECT_TRUE(problem.is_allowed(move.item, move.to));
    EXPECT_FALSE(emptied.contains(move.to)) << "into a bin that was emptied";
    for (std::size_t i = 0; i < item.size.size(); ++i) {
      problem.bins[item.bin].free[i] += item.size[i];
      problem.bins[move.to].free[i] -= item.size[i];
      EXPECT_GE(problem.bins[move.to].free[i], 0);
    }
    item.bin = move.to;
    emptied.insert(move.empties);
  }
  std::set<std::size_t> used;
  for (const PackingItem& item : problem.items) used.insert(item.bin);
  for (const std::size_t bin : emptied) EXPECT_FALSE(used.contains(bin));
  return used;
}

// The fewest bins, by trying everything, in whatever order moves could be made.
std::size_t Fewest(const PackingProblem& problem, std::vector<PackingSize>& free, std::vector<std::size_t>& count,
                   std::size_t at) {
  if (at == problem.items.size()) {
    std::size_t used = 0;
    for (const std::size_t each : count) used += each > 0;
    return used;
  }
  const PackingItem& item = problem.items[at];
  std::size_t best = problem.bins.size();
  for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) {
    const bool stays = bin == item.bin;
    if (!stays && (!item.may_move || !problem.is_allowed(at, bin))) continue;
    if (free[bin][0] < item.size[0] || free[bin][1] < item.size[1]) continue;
    for (std::size_t i = 0; i < 2; ++i) free[bin][i] -= item.size[i];
    ++count[bin];
    best = std::min(best, Fewest(problem, free, count, at + 1));
    --count[bin];
    for (std::size_t i = 0; i < 2; ++i) free[bin][i] += item.size[i];
  }
  return best;
}

TEST(PackingTest, IsFeasibleAndNearlyAsGoodAsCanBe) {
  std::size_t used = 0, fewest = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PackingProblem problem = RandomProblem(seed);
    // What may not be emptied is kept by an item that stays.
    for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) {
      if (!problem.bins[bin].may_empty && problem.bins[bin].capacity[0] > 0)
        problem.items.push_back({{0, 0}, bin, false});
    }
    used += Replay(problem, PackTogether(problem)).size();
    std::vector<PackingSize> free;
    for (const PackingBin& bin : problem.bins) free.push_back(bin.capacity);
    std::vector<std::size_t> count(problem.bins.size());
    fewest += Fewest(problem, free, count, 0);
  }
  // What is fewest may be out of reach by moves of which each must fit when it is made.
  EXPECT_LE(static_cast<double>(used), static_cast<double>(fewest) * 1.02)
      << used << " bins, where " << fewest << " do";
}

TEST(PackingTest, HoldsItsLimits) {
  PackingProblem problem;
  for (int i = 0; i < 5; ++i) problem.bins.push_back({{10}, {9}, true, true, false});
  for (std::size_t i = 0; i < 5; ++i) problem.items.push_back({{1}, i, true});
  problem.is_allowed = [](std::size_t, std::size_t) { return true; };
  problem.empty_max = 2;
  EXPECT_EQ(Replay(problem, PackTogether(problem)).size(), 3u);
  problem.empty_max = 5;
  problem.keep = 4;
  EXPECT_EQ(Replay(problem, PackTogether(problem)).size(), 4u);
  problem.keep = 1;
  EXPECT_EQ(Replay(problem, PackTogether(problem)).size(), 1u);
  problem.bins[3].goes_first = true;
  problem.empty_max = 1;
  EXPECT_EQ(PackTogether(problem)[0].empties, 3u);
}

TEST(PackingTest, KeepsAsManyBinsAsItShallInTightProblems) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PackingProblem problem = RandomProblem(seed);
    std::set<std::size_t> used;
    for (const PackingItem& item : problem.items) used.insert(item.bin);
    problem.keep = used.size() > 1 ? used.size() - 1 : 1;
    const std::set<std::size_t> left = Replay(problem, PackTogether(problem));
    EXPECT_GE(left.size(), problem.keep);
    for (const std::size_t bin : used) EXPECT_TRUE(problem.bins[bin].may_empty || left.contains(bin));
  }
}

// What all items cost if as few as possible is paid, whatever the order of moves.
double Cheapest(const PackingProblem& problem, const std::function<double(std::size_t, std::size_t)>& cost,
                std::vector<PackingSize>& free, std::size_t at) {
  if (at == problem.items.size()) return 0;
  const PackingItem& item = problem.items[at];
  double best = 1e9;
  for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) {
    if (bin != item.bin && (!item.may_move || !problem.is_allowed(at, bin))) continue;
    if (free[bin][0] < item.size[0] || free[bin][1] < item.size[1]) continue;
    for (std::size_t i = 0; i < 2; ++i) free[bin][i] -= item.size[i];
    best = std::min(best, cost(at, bin) + Cheapest(problem, cost, free, at + 1));
    for (std::size_t i = 0; i < 2; ++i) free[bin][i] += item.size[i];
  }
  return best;
}

TEST(CheapPackingTest, IsFeasibleAndNearlyAsGoodAsCanBe) {
  double paid = 0, least = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PackingProblem problem = RandomProblem(seed);
    std::vector<std::size_t> kinds;
    for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) kinds.push_back((bin * 5 + seed) % 4);
    const auto cost = [&](std::size_t item, std::size_t bin) {
      return static_cast<double>(problem.items[item].size[0]) * static_cast<double>(1 + kinds[bin]);
    };
    const auto moves = MoveForLess(problem, {cost, [](double from, double to) { return to < from; }, kinds});
    std::vector<PackingSize> free;
    for (const PackingBin& bin : problem.bins) free.push_back(bin.free);
    std::vector<std::size_t> at;
    for (const PackingItem& item : problem.items) at.push_back(item.bin);
    std::set<std::size_t> moved;
    for (const PackingMove& move : moves) {
      EXPECT_TRUE(moved.insert(move.item).second) << "twice";
      EXPECT_TRUE(problem.items[move.item].may_move && problem.is_allowed(move.item, move.to));
      EXPECT_LT(cost(move.item, move.to), cost(move.item, at[move.item]));
      for (std::size_t i = 0; i < 2; ++i) {
        free[at[move.item]][i] += problem.items[move.item].size[i];
        free[move.to][i] -= problem.items[move.item].size[i];
        EXPECT_GE(free[move.to][i], 0);
      }
      at[move.item] = move.to;
    }
    for (std::size_t i = 0; i < at.size(); ++i) paid += cost(i, at[i]);
    free.clear();
    for (const PackingBin& bin : problem.bins) free.push_back(bin.capacity);
    least += Cheapest(problem, cost, free, 0);
  }
  EXPECT_LE(paid, least * 1.025);
}

TEST(PackingTest, SaysTheSameEachTime) {
  const PackingProblem problem = RandomProblem(7);
  const auto first = PackTogether(problem), second = PackTogether(problem);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].item, second[i].item);
    EXPECT_EQ(first[i].to, second[i].to);
  }
}

}  // namespace
}  // namespace berth::rebalance
