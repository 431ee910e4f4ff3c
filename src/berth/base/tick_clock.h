// SPDX-License-Identifier: Apache-2.0
// TickClock: a Clock that costs a few instructions, where a look at the system's costs a hundred: it counts the
// processor's ticks and looks at the exact clock every few milliseconds. For measuring how long things take, and
// nothing else: it may be off by a few microseconds, and go back as much. One thread at a time.
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
  Time LookAgain(std::uint64_t ticks) const;

  const Clock& exact_;
  // Of the last look at the exact clock.
  mutable Time looked_{};
  mutable std::uint64_t looked_ticks_ = 0;
  mutable double us_per_tick_ = 0;           // 0: not known yet
  mutable std::uint64_t ticks_of_look_ = 0;  // it is good for so many ticks
};

}  // namespace berth
