// SPDX-License-Identifier: Apache-2.0
// SchedulingAttempt: one pod's way through one scheduling cycle. A plain value.
#pragma once

#include <cstdint>
#include <optional>

#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/framework/plugin.h"

namespace berth::scheduler {

struct SchedulingAttempt {
  Profile* profile = nullptr;
  queue::QueuedPodInfo queued;   // queued.pod: the pod's newest object
  Decision* decision = nullptr;  // the newest of the log, because no other cycle begins meanwhile
  std::uint64_t seed = 0;        // breaks ties
  // PostFilter's result, if PostFilter ran while the cycle waited for extenders.
  std::optional<framework::PostFilterResult> post_filter{};
};

}  // namespace berth::scheduler
