// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/idle_sweep.h"

#include "berth/core/scheduler/bookings.h"

namespace berth::scheduler {

void IdleSweep::Tick() {
  if (!due_at_ || state_.now < *due_at_) return;
  for (const auto& [name, profile] : state_.profiles.by_name()) profile->evaluator.DropIdle();
  if (state_.bookings != nullptr) state_.bookings->DropIdle();
  state_.classes.Sweep();
  due_at_.reset();
  // After a period without a cycle this sweep drops everything, so that no timer is needed.
  if (has_cycled_) due_at_ = state_.now + kPeriod;
  if (short_periods_left_ > 0) {
    ++state_.counts.sweeps_of_large_pods;
    if (--short_periods_left_ > 0) due_at_ = state_.now + kPeriodAfterLargePods;
  }
  has_cycled_ = false;
}

}  // namespace berth::scheduler
