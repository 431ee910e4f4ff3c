// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_filling.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "berth/base/random.h"

namespace berth::buy {
namespace {

// The best value by looking at every fill.
double BestByTrying(const PackingProblem& problem, const NodeOffer& offer, const std::vector<double>& values,
                    const std::vector<std::int64_t>& counts, std::size_t kind, Amounts room) {
  if (kind == problem.kinds.size()) return 0;
  double best = 0;
  const Amounts& size = problem.kinds[kind].size;
  for (std::int64_t count = 0; count <= std::min<std::int64_t>(offer.fits[kind], counts[kind]); ++count) {
    best = std::max(
        best, values[kind] * static_cast<double>(count) + BestByTrying(problem, offer, values, counts, kind + 1, room));
    for (std::size_t i = 0; i < size.size(); ++i) room[i] -= size[i];
    if (std::ranges::any_of(room, [](std::int64_t left) { return left < 0; })) break;
  }
  return best;
}

TEST(FillNode, FindsTheMostValuableFillAndABoundThatHolds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    PackingProblem problem;
    NodeOffer offer;
    offer.room = {static_cast<std::int64_t>(4 + random.Below(20)), static_cast<std::int64_t>(4 + random.Below(20)), 9};
    std::vector<double> values;
    std::vector<std::int64_t> counts;
    for (std::size_t kind = 0; kind < 2 + random.Below(4); ++kind) {
      problem.kinds.push_back(
          {9, {static_cast<std::int64_t>(random.Below(7)), static_cast<std::int64_t>(random.Below(7)), 1}});
      offer.fits.push_back(static_cast<std::int32_t>(random.Below(9)));
      values.push_back(static_cast<double>(random.Below(100)) / 10);
      counts.push_back(static_cast<std::int64_t>(random.Below(9)));
    }
    std::vector<double> weights;
    std::uint64_t steps = 0;
    const NodeFilling filling = FillNode(problem, offer, values, counts, 0, weights, steps);
    const double best = BestByTrying(problem, offer, values, counts, 0, offer.room);
    EXPECT_NEAR(filling.value, best, 1e-9) << "seed " << seed;
    EXPECT_GE(filling.bound, best - 1e-9) << "seed " << seed;
    EXPECT_TRUE(Fits(problem, offer, filling.fill)) << "seed " << seed;
  }
}

TEST(FillNode, FindsWhatIsWorthMoreThanEnoughAndNothingElse) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    PackingProblem problem;
    NodeOffer offer;
    offer.room = {static_cast<std::int64_t>(8 + random.Below(30)), static_cast<std::int64_t>(8 + random.Below(30)), 3};
    std::vector<double> values;
    std::vector<std::int64_t> counts;
    for (std::size_t kind = 0; kind < 5; ++kind) {
      // The last amount is one of which a pod takes all or nothing. Some kinds are alike in size and worth.
      problem.kinds.push_back({9,
                               {static_cast<std::int64_t>(1 + random.Below(6)),
                                static_cast<std::int64_t>(1 + random.Below(6)), kind % 2 == 0 ? 3 : 0}});
      if (kind == 4) problem.kinds.back().size = problem.kinds.front().size;
      offer.fits.push_back(static_cast<std::int32_t>(1 + random.Below(6)));
      values.push_back(kind == 4 ? values.front() : static_cast<double>(1 + random.Below(90)) / 10);
      counts.push_back(static_cast<std::int64_t>(1 + random.Below(6)));
    }
    const double best = BestByTrying(problem, offer, values, counts, 0, offer.room);
    const double enough = best * (0.85 + 0.003 * static_cast<double>(random.Below(100)));
    std::vector<double> weights;
    std::uint64_t steps = 0;
    const NodeFilling filling = FillNode(problem, offer, values, counts, enough, weights, steps);
    EXPECT_GE(std::max(filling.bound, enough), best - 1e-9) << "seed " << seed;
    EXPECT_TRUE(Fits(problem, offer, filling.fill)) << "seed " << seed;
    if (best <= enough) continue;
    ++found;
    EXPECT_NEAR(filling.value, best, 1e-9) << "seed " << seed;
    double value = 0;
    for (const auto& [kind, count] : filling.fill) {
      value += values[kind] * count;
      EXPECT_LE(count, std::min<std::int64_t>(offer.fits[kind], counts[kind])) << "seed " << seed;
    }
    EXPECT_NEAR(value, filling.value, 1e-9) << "seed " << seed;
  }
  EXPECT_GT(found, 100);
}

TEST(FillNode, LooksForNothingWhereTheBoundIsLowEnough) {
  PackingProblem problem;
  problem.kinds.push_back({10, {2, 1}});
  const NodeOffer offer{{10, 10}, 1, kUnlimited, {5}};
  std::vector<double> weights;
  std::uint64_t steps = 0;
  const NodeFilling filling = FillNode(problem, offer, {1}, {10}, 5, weights, steps);
  EXPECT_TRUE(filling.fill.empty());
  EXPECT_NEAR(filling.bound, 5, 1e-9);
}

}  // namespace
}  // namespace berth::buy
