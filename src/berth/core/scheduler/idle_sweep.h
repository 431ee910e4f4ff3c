// SPDX-License-Identifier: Apache-2.0
// IdleSweep: drops, every five minutes, what profiles and pod classes keep of pods that come no more. Within turns
// only; between cycles. It sets no timer while nothing is kept.
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

  explicit IdleSweep(CoreState& state) : state_(state) {}

  // A cycle has begun: it may keep something.
  void NoteCycle() {
    has_cycled_ = true;
    if (!due_at_) due_at_ = state_.now + kPeriod;
  }
  // Sweeps if it is time.
  void Tick();
  std::optional<Time> NextWake() const { return due_at_; }

 private:
  CoreState& state_;
  // When this period ends; nullopt: nothing is kept, and the next cycle begins one.
  std::optional<Time> due_at_;
  bool has_cycled_ = false;  // in this period
};

}  // namespace berth::scheduler
