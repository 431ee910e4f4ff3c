// SPDX-License-Identifier: Apache-2.0
// Backoff: how long a pod waits between attempts. Pure arithmetic. Expirations are compared in whole seconds
// ("windows"), so that the pods of one window leave together and are ordered by priority among themselves.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "berth/base/time.h"

namespace berth::queue {

struct Backoff {
  static constexpr Duration kWindow = std::chrono::seconds(1);

  Duration initial;
  Duration max;  // 0: no back-off

  // initial * 2^(count - 1), at most max; 0 for count 0.
  Duration Length(std::int32_t count) const;

  // The end of the back-off of a pod that failed at `timestamp` for the count-th time. Time::min() if it has none.
  Time Expiration(Time timestamp, std::int32_t count) const;
  // The same for a group of `size` pods. Its maximum back-off grows with the square root of its size.
  Time ExpirationOfGroup(Time timestamp, std::int32_t count, std::size_t size) const;

  // A back-off lasts until the end of the window in which it expires, which is up to a second longer.
  static bool IsOver(Time expiration, Time now) { return expiration < AlignToWindow(now); }
  // The first time at which IsOver() is true.
  static Time End(Time expiration) { return expiration + kWindow; }

  static Time AlignToWindow(Time time) { return std::chrono::floor<std::chrono::seconds>(time); }
};

}  // namespace berth::queue
