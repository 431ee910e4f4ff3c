// SPDX-License-Identifier: Apache-2.0
// Stopwatch: how long the core's work takes, for its metrics. No decision ever sees what it says. Reading costs a look
// at the clock, so whoever measures begins where somebody else has just ended: at latest(). Within turns only.
#pragma once

#include <algorithm>

#include "berth/base/time.h"

namespace berth::instruments {

class Stopwatch {
 public:
  // Null: time stands still within a turn, so that simulations measure simulated time. `clock` must outlive it, and be
  // the one that `now` of each turn comes from.
  explicit Stopwatch(const Clock* clock) : clock_(clock) {}

  void BeginTurn(Time now) { latest_ = std::max(latest_, now); }
  Time Read() {
    if (clock_ != nullptr) latest_ = std::max(latest_, clock_->Now());
    return latest_;
  }
  // What the last Read() said, or the beginning of this turn.
  Time latest() const { return latest_; }

 private:
  const Clock* clock_;
  Time latest_{};
};

inline double Seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-6; }

}  // namespace berth::instruments
