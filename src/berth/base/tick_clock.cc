// SPDX-License-Identifier: Apache-2.0
#include "berth/base/tick_clock.h"

#include <chrono>

namespace berth {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(5);
// The first readings must be this far apart to determine the length of a tick.
constexpr Duration kCalibration = std::chrono::microseconds(200);

}  // namespace

#ifdef __x86_64__
Time TickClock::Now() const {
  const std::uint64_t ticks = __builtin_ia32_rdtsc();
  // A counter that went back gives a huge number here.
  const std::uint64_t since = ticks - looked_ticks_;
  if (since >= ticks_of_look_) return LookAgain(ticks);
  return looked_ + Duration(static_cast<std::int64_t>(static_cast<double>(since) * us_per_tick_));
}
#else
Time TickClock::Now() const { return exact_.Now(); }
#endif

Time TickClock::LookAgain(std::uint64_t ticks) const {
  const Time now = exact_.Now();
  const Duration passed = now - looked_;
  if (looked_ticks_ != 0 && ticks > looked_ticks_ && passed < kCalibration) return now;
  if (looked_ticks_ != 0 && ticks > looked_ticks_) {
    us_per_tick_ = static_cast<double>(passed.count()) / static_cast<double>(ticks - looked_ticks_);
    ticks_of_look_ = static_cast<std::uint64_t>(static_cast<double>(kLook.count()) / us_per_tick_);
  }
  looked_ = now;
  looked_ticks_ = ticks;
  return now;
}

}  // namespace berth
