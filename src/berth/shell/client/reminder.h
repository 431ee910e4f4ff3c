// SPDX-License-Identifier: Apache-2.0
// Reminder: when something that repeats is logged again, at growing intervals. A value, for one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/time.h"

namespace berth::client {

class Reminder {
 public:
  // The first time it is logged at once, then after `first`, and then each time after twice the interval, at most
  // `most`.
  Reminder(Duration first, Duration most) : first_(first), most_(most) {}

  // It has happened once more. Returns how often it has happened since End(), if it should be logged now.
  std::optional<std::uint64_t> Record(Time now) {
    ++count_;
    if (lines_ > 0 && now - logged_at_ < Doubled(first_, most_, lines_ - 1)) return std::nullopt;
    ++lines_;
    logged_at_ = now;
    return count_;
  }
  // It is over. Returns whether it was logged.
  bool End() {
    count_ = 0;
    return std::exchange(lines_, 0) > 0;
  }

 private:
  Duration first_, most_;
  std::uint64_t count_ = 0;
  int lines_ = 0;
  Time logged_at_{};
};

}  // namespace berth::client
