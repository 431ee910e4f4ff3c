// SPDX-License-Identifier: Apache-2.0
// Reminder: when to say again what repeats, at growing intervals. A value, for one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "berth/base/time.h"

namespace berth::client {

class Reminder {
 public:
  // It is said at once, then again after `first`, then each time after twice as long as before, at most `most`.
  Reminder(Duration first, Duration most) : first_(first), most_(most), wait_(first) {}

  // It has happened once more. How often it has happened since End(), if it should be said now.
  std::optional<std::uint64_t> Note(Time now) {
    ++count_;
    if (said_at_ && now - *said_at_ < wait_) return std::nullopt;
    wait_ = said_at_ ? std::min(most_, 2 * wait_) : first_;
    said_at_ = now;
    return count_;
  }
  // It is over. Whether it had been said.
  bool End() {
    count_ = 0;
    return std::exchange(said_at_, std::nullopt).has_value();
  }

 private:
  Duration first_, most_;
  Duration wait_;  // from the last time it was said
  std::uint64_t count_ = 0;
  std::optional<Time> said_at_;
};

}  // namespace berth::client
