// SPDX-License-Identifier: Apache-2.0
#include "berth/base/tick_clock.h"

#include <algorithm>
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

// A thread that is preempted between the readings of the two clocks.
class PreemptedClock final : public Clock {
 public:
  explicit PreemptedClock(const Clock& exact) : exact_(exact) {}

  // The next reading takes that long before the clock is read, or after it.
  void TakeBefore(Duration time) { before_ = time; }
  void TakeAfter(Duration time) { after_ = time; }

  Time Now() const override {
    Pass(before_);
    const Time now = exact_.Now();
    Pass(after_);
    return now;
  }

 private:
  void Pass(Duration& time) const {
    const Time end = exact_.Now() + time;
    while (exact_.Now() < end) {
    }
    time = {};
  }

  const Clock& exact_;
  mutable Duration before_{};
  mutable Duration after_{};
};

// How far the clock is from the exact one, as its best of some readings, each of which may be preempted, too.
Duration Off(const TickClock& ticks, const Clock& exact) {
  Duration least = std::chrono::seconds(1);
  for (int reading = 0; reading < 20; ++reading) {
    const Time before = exact.Now();
    const Time said = ticks.Now();
    const Time after = exact.Now();
    least = std::min(least, said < before ? before - said : said > after ? said - after : Duration{});
  }
  return least;
}

TEST(TickClockTest, AReadingThatWasPreemptedDoesNotSpoilTheLengthOfATick) {
  const SystemClock exact;
  for (const bool is_before : {true, false}) {
    PreemptedClock preempted(exact);
    const TickClock ticks(preempted);
    is_before ? preempted.TakeBefore(std::chrono::milliseconds(1)) : preempted.TakeAfter(std::chrono::milliseconds(1));
    // Through the first calibration, and a part of the look that it is used for.
    const Time end = exact.Now() + std::chrono::milliseconds(4);
    while (exact.Now() < end) {
      EXPECT_LT(Off(ticks, exact), std::chrono::microseconds(200)) << is_before;
    }
  }
}

}  // namespace
}  // namespace berth
