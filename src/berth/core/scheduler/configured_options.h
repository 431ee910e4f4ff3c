// SPDX-License-Identifier: Apache-2.0
// The options that a KubeSchedulerConfiguration sets for the core. Pure.
#pragma once

#include <chrono>

#include "berth/core/config/types.h"
#include "berth/core/scheduler/scheduler_options.h"

namespace berth::scheduler {

// Fields that the configuration does not set keep their defaults.
inline SchedulerOptions OptionsOf(const config::KubeSchedulerConfiguration& configuration) {
  SchedulerOptions options;
  options.extenders = config::InCallOrder(configuration.extenders);
  options.queue.initial_backoff = std::chrono::seconds(configuration.pod_initial_backoff_seconds);
  options.queue.max_backoff = std::chrono::seconds(configuration.pod_max_backoff_seconds);
  return options;
}

}  // namespace berth::scheduler
