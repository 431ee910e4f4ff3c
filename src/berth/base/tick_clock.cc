// SPDX-License-Identifier: Apache-2.0
#include "berth/base/tick_clock.h"

#include <algorithm>
#include <chrono>

namespace berth {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(5);
// The first readings must be this far apart to determine the length of a tick.
constexpr Duration kCalibration = std::chrono::microseconds(200);
// A reading of both clocks, within which the thread may have been preempted, may take this part of the time between two
// of them, and of kLook: else the length of a tick, or the time that is counted from, would be wrong by more.
constexpr int kPartOfALook = 100;

}  // namespace

#ifdef __x86_64__
Time TickClock::Now() const {
  // A counter that went back gives a huge number here.
  const std::uint64_t since = __builtin_ia32_rdtsc() - looked_ticks_;
  if (since >= ticks_of_look_) return LookAgain();
  return looked_ + Duration(static_cast<std::int64_t>(static_cast<double>(since) * us_per_tick_));
}

Time TickClock::LookAgain() const {
  const std::uint64_t before = __builtin_ia32_rdtsc();
  const Time now = exact_.Now();
  const std::uint64_t within = __builtin_ia32_rdtsc() - before;
  if (looked_ticks_ != 0 && before > looked_ticks_) {
    const Duration passed = now - looked_;
    if (passed < kCalibration) return now;
    const double us_per_tick = static_cast<double>(passed.count()) / static_cast<double>(before - looked_ticks_);
    const double us_within = static_cast<double>(looked_within_ + within) * us_per_tick;
    if (us_within <= static_cast<double>(std::min(passed, kLook).count()) / kPartOfALook) {
      us_per_tick_ = us_per_tick;
      ticks_of_look_ = static_cast<std::uint64_t>(static_cast<double>(kLook.count()) / us_per_tick);
    } else if (us_per_tick_ != 0 || within >= looked_within_) {
      return now;
    }
  }
  looked_ = now;
  looked_ticks_ = before;
  looked_within_ = within;
  return now;
}
#else
Time TickClock::Now() const { return exact_.Now(); }
Time TickClock::LookAgain() const { return exact_.Now(); }
#endif

}  // namespace berth
