// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/covering_program.h"

#include <gtest/gtest.h>

namespace berth::buy {
namespace {

constexpr double kMissing = 1000;
constexpr double kNear = 1e-6;

TEST(CoveringProgram, TakesTheCheapestMixOfColumns) {
  // 10 of a and 4 of b.
  CoveringProgram program({10, 4}, {}, kMissing);
  program.AddColumn({{0, 4}}, 2);
  program.AddColumn({{1, 2}}, 3);
  program.AddColumn({{0, 2}, {1, 1}}, 2.4);
  ASSERT_TRUE(program.Solve(100));
  // All of b beside a: 4 nodes of the third column have 8 a and 4 b, and half a node of the first one the other two.
  EXPECT_NEAR(program.objective(), 10.6, kNear);
  EXPECT_NEAR(program.Values()[0], 0.5, kNear);
  EXPECT_NEAR(program.Values()[2], 4, kNear);
  EXPECT_NEAR(program.demand_prices()[0], 0.5, kNear);
  EXPECT_NEAR(program.demand_prices()[1], 1.4, kNear);
}

TEST(CoveringProgram, GoesOnWhenAColumnIsAdded) {
  CoveringProgram program({6}, {}, kMissing);
  program.AddColumn({{0, 1}}, 1);
  ASSERT_TRUE(program.Solve(100));
  EXPECT_NEAR(program.objective(), 6, kNear);
  program.AddColumn({{0, 3}}, 2);
  ASSERT_TRUE(program.Solve(100));
  EXPECT_NEAR(program.objective(), 4, kNear);
  EXPECT_NEAR(program.Values()[1], 2, kNear);
}

TEST(CoveringProgram, KeepsLimitsAndSaysWhatTheySave) {
  CoveringProgram program({10}, {2}, kMissing);
  program.AddColumn({{0, 4}, {1, 1}}, 1);  // two of them at most
  program.AddColumn({{0, 1}}, 1);
  ASSERT_TRUE(program.Solve(100));
  EXPECT_NEAR(program.objective(), 4, kNear);
  EXPECT_NEAR(program.Values()[0], 2, kNear);
  EXPECT_NEAR(program.limit_prices()[0], 3, kNear);
}

TEST(CoveringProgram, ALimitBelowZeroDemandsTheOtherSide) {
  // Two more of the first column than of the second.
  CoveringProgram program({1}, {-2}, kMissing);
  program.AddColumn({{0, 1}, {1, -1}}, 5);
  program.AddColumn({{0, 1}, {1, 1}}, 1);
  ASSERT_TRUE(program.Solve(100));
  EXPECT_NEAR(program.objective(), 10, kNear);
}

TEST(CoveringProgram, WhatIsMissingCostsMost) {
  CoveringProgram program({5}, {1}, kMissing);
  program.AddColumn({{0, 2}, {1, 1}}, 1);
  ASSERT_TRUE(program.Solve(100));
  EXPECT_NEAR(program.objective(), 1 + 3 * kMissing, kNear);
}

TEST(CoveringProgram, EndsWhereEveryPivotTies) {
  // Many columns alike: without Bland's rule the simplex method may go round in a circle.
  CoveringProgram program({4, 4, 4, 4}, {}, kMissing);
  for (int i = 0; i < 20; ++i) program.AddColumn({{0, 1}, {1, 1}, {2, 1}, {3, 1}}, 1 + (i % 3) * 1e-13);
  EXPECT_TRUE(program.Solve(1000));
  EXPECT_NEAR(program.objective(), 4, kNear);
}

}  // namespace
}  // namespace berth::buy
