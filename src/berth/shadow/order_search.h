// SPDX-License-Identifier: Apache-2.0
// Whether the order of decisions explains that two schedulers differ. When exactly the other scheduler decided a pod is
// not known, only that it was before its binding was seen, and about when. A few changes before and after that place
// are tried.
#pragma once

#include <cstddef>
#include <cstdint>

#include "berth/base/time.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/shadow/comparison.h"
#include "berth/shadow/held_inputs.h"
#include "berth/shadow/recent_changes.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {

// Placements after the decision's place that are tried; those before it are bounded by RecentChanges::kChangesMax.
inline constexpr std::size_t kLaterMax = 32;

enum class OrderAnswer : std::uint8_t {
  kExplains,
  kDoesNot,
  kNotTried,  // not all orders were tried: there were no tries left
};

// Whether both schedulers agree about the pod if it is decided up to that many changes earlier, or later. Each change
// takes one of `tries`. The overlay has no changes, and has none afterwards.
OrderAnswer SearchOrder(scheduler::Overlay& overlay, const Sighting& theirs, const RecentChanges& recent,
                        const HeldInputs& later, std::uint64_t seed, std::size_t& tries);

// A token bucket of tries: where the schedulers differ about every pod no order explains it, and an unbounded search
// would leave no time for the decisions.
class TryBudget {
 public:
  static constexpr std::size_t kPerSecond = 256;
  static constexpr std::size_t kAtOnce = 4096;

  // The tries that are left at this time, to be counted down by the caller.
  std::size_t& LeftAt(Time now);

 private:
  std::size_t left_ = kAtOnce;
  Time filled_at_{};
};

}  // namespace berth::shadow
