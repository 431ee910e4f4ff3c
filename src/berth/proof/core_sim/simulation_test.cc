// SPDX-License-Identifier: Apache-2.0
// Replay a run, with all that happened:  BERTH_SIM_SEED=17 core_sim_test
#include "berth/proof/core_sim/simulation.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace berth::core_sim {
namespace {

void Check(std::uint64_t seed, bool prints_trace, Report& sum) {
  const Report report = Simulate(seed, prints_trace);
  EXPECT_EQ(report.violation, "") << "replay with: BERTH_SIM_SEED=" << seed << " core_sim_test";
  sum.bound += report.bound;
  sum.unknown += report.unknown;
  sum.restarts += report.restarts;
  sum.relists += report.relists;
  sum.evicted += report.evicted;
}

TEST(Simulation, NothingGoesWrong) {
  Report sum;
  if (const char* seed = std::getenv("BERTH_SIM_SEED")) return Check(std::strtoull(seed, nullptr, 10), true, sum);
  const char* count = std::getenv("BERTH_SIM_SEEDS");
  const std::uint64_t seeds = count != nullptr ? std::strtoull(count, nullptr, 10) : 30;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) Check(seed, false, sum);
  // Runs in which nothing happens would prove nothing.
  EXPECT_GT(sum.bound, 20 * static_cast<int>(seeds));
  EXPECT_GT(sum.unknown, static_cast<int>(seeds));
  EXPECT_GT(sum.relists, static_cast<int>(seeds));
  EXPECT_GT(sum.evicted, static_cast<int>(seeds));
  EXPECT_GT(sum.restarts, static_cast<int>(seeds) / 6);
}

TEST(Simulation, TheSeedDecides) {
  const Report one = Simulate(4, false);
  const Report again = Simulate(4, false);
  EXPECT_EQ(one.bound, again.bound);
  EXPECT_EQ(one.unknown, again.unknown);
  EXPECT_EQ(one.relists, again.relists);
}

}  // namespace
}  // namespace berth::core_sim
