// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/column_generation.h"

#include <gtest/gtest.h>

#include "berth/buy/packing_testing.h"

namespace berth::buy {
namespace {

TEST(ColumnGeneration, TheBoundIsThePriceOfTheRelaxation) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const PackingProblem problem = RandomProblem(seed);
    ColumnGeneration generation(problem);
    const auto solution = generation.Solve(Everything(problem));
    EXPECT_NEAR(solution.missing, 0, 1e-6) << "seed " << seed;
    EXPECT_LE(solution.bound_micro, solution.price_micro + 1) << "seed " << seed;
    // Fillings that end at their bound of steps leave a gap.
    EXPECT_GE(solution.bound_micro, solution.price_micro * 0.995) << "seed " << seed;
  }
}

TEST(ColumnGeneration, OffersOfWhichThereAreFewCount) {
  PackingProblem problem;
  problem.kinds.push_back({10, {1}});
  problem.offers.push_back({{5}, 1'000'000, 1, {5}});
  problem.offers.push_back({{5}, 3'000'000, kUnlimited, {5}});
  ColumnGeneration generation(problem);
  const auto solution = generation.Solve(Everything(problem));
  EXPECT_NEAR(solution.price_micro, 4'000'000, 1);
  EXPECT_NEAR(solution.bound_micro, 4'000'000, 1);
}

TEST(ColumnGeneration, ALimitOfNodesMakesThemLarger) {
  PackingProblem problem;
  problem.kinds.push_back({10, {1}});
  problem.offers.push_back({{1}, 1'000'000, kUnlimited, {1}});
  problem.offers.push_back({{5}, 9'000'000, kUnlimited, {5}});
  problem.limits.push_back({{1, 1}, 2});
  ColumnGeneration generation(problem);
  const auto solution = generation.Solve(Everything(problem));
  EXPECT_NEAR(solution.price_micro, 18'000'000, 1);
  EXPECT_NEAR(solution.bound_micro, 18'000'000, 1);
}

TEST(ColumnGeneration, SaysWhatHasNoNode) {
  PackingProblem problem;
  problem.kinds.push_back({10, {1}});
  problem.offers.push_back({{4}, 1'000'000, 2, {4}});
  ColumnGeneration generation(problem);
  EXPECT_NEAR(generation.Solve(Everything(problem)).missing, 2, 1e-6);
}

}  // namespace
}  // namespace berth::buy
