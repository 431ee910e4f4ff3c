// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_packer.h"

#include <gtest/gtest.h>

#include "berth/buy/column_generation.h"
#include "berth/buy/packing_testing.h"

namespace berth::buy {
namespace {

constexpr std::uint64_t kManySteps = 10'000'000;

void ExpectSound(const PackingProblem& problem, const PackResult& result, std::uint64_t seed) {
  Remainder rest = Everything(problem);
  std::int64_t price = 0;
  for (const PackedNode& node : result.packing.nodes) {
    EXPECT_TRUE(Fits(problem, problem.offers[node.offer], node.fill)) << "seed " << seed;
    EXPECT_TRUE(MayBuy(problem, node.offer, rest)) << "seed " << seed;
    PackedNode bought = node;
    Buy(problem, bought, rest);
    EXPECT_EQ(bought.fill, node.fill) << "seed " << seed << ": more pods than there are";
    price += problem.offers[node.offer].price_micro;
  }
  EXPECT_EQ(rest.demands, result.packing.left) << "seed " << seed;
  EXPECT_EQ(price, result.packing.price_micro) << "seed " << seed;
}

TEST(PackNodes, IsNearTheOptimumAndTheBoundIsBelowIt) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const PackingProblem problem = RandomProblem(seed, {.kinds_max = 3, .offers_max = 4, .pods_max = 14});
    const PackResult result = PackNodes(problem, {});
    ExpectSound(problem, result, seed);
    const std::int64_t optimum = OptimumByTrying(problem);
    EXPECT_EQ(result.packing.LeftCount(), 0) << "seed " << seed;
    EXPECT_LE(result.bound_micro, optimum) << "seed " << seed;
    EXPECT_GE(result.packing.price_micro, optimum) << "seed " << seed;
    EXPECT_LE(static_cast<double>(result.packing.price_micro), static_cast<double>(optimum) * 1.02) << "seed " << seed;
  }
}

TEST(PackNodes, IsNearItsBoundInLargerProblems) {
  double bounds = 0;
  double prices = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const PackingProblem problem = RandomProblem(seed);
    const PackResult result = PackNodes(problem, {});
    ExpectSound(problem, result, seed);
    EXPECT_LE(result.bound_micro, result.packing.price_micro) << "seed " << seed;
    bounds += static_cast<double>(result.bound_micro);
    prices += static_cast<double>(result.packing.price_micro);
  }
  EXPECT_LE(prices, bounds * 1.03);
}

TEST(PackNodes, IsTheSameEachTime) {
  const PackingProblem problem = RandomProblem(7);
  const PackResult once = PackNodes(problem, {});
  const PackResult again = PackNodes(problem, {});
  ASSERT_EQ(once.packing.nodes.size(), again.packing.nodes.size());
  for (std::size_t i = 0; i < once.packing.nodes.size(); ++i) {
    EXPECT_EQ(once.packing.nodes[i].offer, again.packing.nodes[i].offer);
    EXPECT_EQ(once.packing.nodes[i].fill, again.packing.nodes[i].fill);
  }
}

TEST(PackNodes, KeepsLimits) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    PackingProblem problem = RandomProblem(seed, {.kinds_max = 4, .offers_max = 8, .pods_max = 60});
    SideLimit nodes{std::vector<double>(problem.offers.size(), 1), 6};
    problem.limits.push_back(std::move(nodes));
    problem.offers.back().count_max = 2;
    ExpectSound(problem, PackNodes(problem, {}), seed);
  }
}

TEST(PackNodes, EndsWhenItIsInterruptedOrOutOfSteps) {
  const PackingProblem problem = RandomProblem(11);
  PackOptions options;
  options.is_interrupted = [] { return true; };
  const PackResult interrupted = PackNodes(problem, options);
  EXPECT_TRUE(interrupted.is_interrupted);
  ExpectSound(problem, interrupted, 11);
  options.is_interrupted = nullptr;
  options.steps_max = 1;
  ExpectSound(problem, PackNodes(problem, options), 11);
}

TEST(BoundOfPrice, HoldsAndIsNotFarOffHoweverFewStepsThereAre) {
  double bounds = 0;
  double optima = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const PackingProblem problem = RandomProblem(seed, {.kinds_max = 3, .offers_max = 4, .pods_max = 14});
    const std::int64_t optimum = OptimumByTrying(problem);
    const std::int64_t bound = BoundOfPrice(problem, 1);
    EXPECT_LE(bound, optimum) << "seed " << seed;
    EXPECT_LE(BoundOfPrice(problem, kManySteps), optimum) << "seed " << seed;
    bounds += static_cast<double>(bound);
    optima += static_cast<double>(optimum);
  }
  EXPECT_GE(bounds, optima * 0.5);
}

TEST(PackNodes, FiftyThousandPodsOfTwoKindsAreFewPatternsAndLittleWork) {
  // The numbers of cluster-autoscaler's BenchmarkBinpackingEstimate; 2,595 nodes are filled to the last millicore.
  PackingProblem problem;
  problem.kinds.push_back({50'000, {50, 100, 1}});
  problem.kinds.push_back({1'000, {95, 190, 1}});
  problem.offers.push_back({{1'000, 5'000, 100}, 1'000'000, kUnlimited, {20, 10}});
  PackOptions options;
  options.steps_max = 100'000;
  const PackResult result = PackNodes(problem, options);
  ExpectSound(problem, result, 0);
  EXPECT_EQ(result.packing.nodes.size(), 2'595U);
  EXPECT_EQ(result.bound_micro, 2'595'000'000);
}

TEST(PackNodes, WithoutOffersAllIsLeft) {
  PackingProblem problem;
  problem.kinds.push_back({3, {1}});
  EXPECT_EQ(PackNodes(problem, {}).packing.LeftCount(), 3);
  EXPECT_EQ(BoundOfPrice(problem, kManySteps), 0);
}

}  // namespace
}  // namespace berth::buy
