// SPDX-License-Identifier: Apache-2.0
#include "berth/base/tick_clock.h"

#include <chrono>

#include <gtest/gtest.h>

namespace berth {
namespace {

// Follows the exact clock for longer than the interval between two readings of it.
TEST(TickClockTest, FollowsTheExactClock) {
  const SystemClock exact;
  const TickClock ticks(exact);
  const Time end = exact.Now() + std::chrono::milliseconds(30);
  Time now = exact.Now();
  while (now < end) {
    const Time said = ticks.Now();
    const Time after = exact.Now();
    // The thread may be preempted in between: the result must lie between the exact readings on both sides.
    EXPECT_GE(said, now - std::chrono::milliseconds(2));
    EXPECT_LE(said, after + std::chrono::milliseconds(2));
    now = after;
  }
}

}  // namespace
}  // namespace berth
