// SPDX-License-Identifier: Apache-2.0
// IdleSweep: every five minutes drops what profiles and pod classes keep for pods that no longer come. After a large
// pod (queue/large_pods.h), for which megabytes are kept, it sweeps twice within twenty seconds. Within turns only,
// between cycles. While nothing is kept it sets no timer.
#pragma once

#include <chrono>
#include <optional>

#include "berth/base/time.h"
#include "berth/core/scheduler/core_state.h"

namespace berth::scheduler {

class IdleSweep {
 public:
  // Data that no pod has used is dropped within two periods.
  static constexpr Duration kPeriod = std::chrono::minutes(5);
  static constexpr Duration kPeriodAfterLargePods = std::chrono::seconds(10);

  explicit IdleSweep(CoreState& state) : state_(state) {}

  // A cycle has begun, and may keep data.
  void RecordCycle(bool is_of_large_pod = false) {
    has_cycled_ = true;
    if (is_of_large_pod) RecordLargePod();
    if (!due_at_) due_at_ = state_.now + kPeriod;
  }
  // A large pod was decided or is gone, so that what is kept for it can be dropped soon.
  void RecordLargePod() {
    if (short_periods_left_ == 0) due_at_ = state_.now + kPeriodAfterLargePods;
    short_periods_left_ = 2;
  }
  // Sweeps if a sweep is due.
  void Tick();
  std::optional<Time> NextWake() const { return due_at_; }

 private:
  CoreState& state_;
  // When this period ends. nullopt: nothing is kept, and the next cycle begins a period.
  std::optional<Time> due_at_;
  bool has_cycled_ = false;  // in this period
  int short_periods_left_ = 0;
};

}  // namespace berth::scheduler
