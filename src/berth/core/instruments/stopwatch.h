// SPDX-License-Identifier: Apache-2.0
// Stopwatch: measures durations for the core's metrics. No decision depends on it. Read() reads the clock; a
// measurement that begins where another one has just ended uses latest() instead. Within turns only.
#pragma once

#include <algorithm>

#include "berth/base/time.h"

namespace berth::instruments {

class Stopwatch {
 public:
  // `clock` must be the clock of the turns' `now`, and outlive the stopwatch. Null: no time passes within a turn, so
  // that simulations measure simulated time.
  explicit Stopwatch(const Clock* clock) : clock_(clock) {}

  void BeginTurn(Time now) { latest_ = std::max(latest_, now); }
  Time Read() {
    if (clock_ != nullptr) latest_ = std::max(latest_, clock_->Now());
    return latest_;
  }
  // The result of the last Read(), or the start of this turn if that is later.
  Time latest() const { return latest_; }

 private:
  const Clock* clock_;
  Time latest_{};
};

inline double Seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-6; }

}  // namespace berth::instruments
