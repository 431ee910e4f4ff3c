// SPDX-License-Identifier: Apache-2.0
// TickClock: a Clock that costs a few instructions instead of a hundred: it reads the CPU's time stamp counter, and the
// exact clock every few milliseconds. For measuring durations only: it may be off by some tens of microseconds, and go
// back by as much. One thread at a time.
#pragma once

#include <cstdint>

#include "berth/base/time.h"

namespace berth {

class TickClock final : public Clock {
 public:
  // `exact` must outlive it.
  explicit TickClock(const Clock& exact) : exact_(exact) {}

  Time Now() const override;

 private:
  Time LookAgain() const;

  const Clock& exact_;
  // The last reading of the exact clock that is counted from.
  mutable Time looked_{};
  mutable std::uint64_t looked_ticks_ = 0;   // 0: none yet
  mutable std::uint64_t looked_within_ = 0;  // number of ticks that the reading took
  mutable double us_per_tick_ = 0;           // 0: not calibrated yet
  mutable std::uint64_t ticks_of_look_ = 0;  // number of ticks until the next reading
};

}  // namespace berth
