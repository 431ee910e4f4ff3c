// SPDX-License-Identifier: Apache-2.0
// QueueOptions: the settings of a SchedulingQueue. A plain value.
#pragma once

#include <chrono>

#include "berth/base/time.h"

namespace berth::queue {

struct QueueOptions {
  Duration initial_backoff = std::chrono::seconds(1);
  Duration max_backoff = std::chrono::seconds(10);  // 0: no back-off
  Duration unschedulable_max = std::chrono::minutes(5);
  // See framework::Release.
  bool nominates_gated_pods = false;
  bool wildcards_reach_gated_pods = false;
  // Whether moves of pods are logged with --v=5 and --vmodule, as upstream logs them.
  bool logs_moves = false;
};

}  // namespace berth::queue
