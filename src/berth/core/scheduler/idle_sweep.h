// SPDX-License-Identifier: Apache-2.0
// IdleSweep: drops, every five minutes, what profiles and pod classes keep of pods that come no more; after a large pod
// (queue/large_pods.h), of which megabytes are kept, twice within twenty seconds. Within turns only; between cycles. It
// sets no timer while nothing is kept.
#pragma once

#include <chrono>
#include <optional>

#include "berth/base/time.h"
#include "berth/core/scheduler/core_state.h"

namespace berth::scheduler {

class IdleSweep {
 public:
  // What no pod has used goes after twice this at most.
  static constexpr Duration kPeriod = std::chrono::minutes(5);
  static constexpr Duration kPeriodAfterLargePods = std::chrono::seconds(10);

  explicit IdleSweep(CoreState& state) : state_(state) {}

  // A cycle has begun: it may keep something.
  void RecordCycle(bool is_of_large_pod = false) {
    has_cycled_ = true;
    if (is_of_large_pod) RecordLargePod();
    if (!due_at_) due_at_ = state_.now + kPeriod;
  }
  // One was decided, or is gone: then what is kept of it can go.
  void RecordLargePod() {
    if (short_periods_left_ == 0) due_at_ = state_.now + kPeriodAfterLargePods;
    short_periods_left_ = 2;
  }
  // Sweeps if it is time.
  void Tick();
  std::optional<Time> NextWake() const { return due_at_; }

 private:
  CoreState& state_;
  // When this period ends; nullopt: nothing is kept, and the next cycle begins one.
  std::optional<Time> due_at_;
  bool has_cycled_ = false;  // in this period
  int short_periods_left_ = 0;
};

}  // namespace berth::scheduler
