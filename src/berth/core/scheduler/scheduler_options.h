// SPDX-License-Identifier: Apache-2.0
// SchedulerOptions: how a core is set up, beside its profiles. A plain value.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/config/extenders.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/scheduler/pod_choice.h"

namespace berth::scheduler {

struct SchedulerOptions {
  std::uint64_t seed = 0;
  queue::SchedulingQueue::Options queue;
  runtime::EvaluatorOptions evaluator;
  std::size_t decisions_max = 4096;
  PodChoice pods;
  // When a binding cycle's request or work counts as late, and does not bound the others any more; and when the pod is
  // told that it has no answer.
  Duration binding_late_after = std::chrono::seconds(1);
  Duration binding_told_after = std::chrono::seconds(10);
  std::vector<config::Extender> extenders;  // in the order in which they are asked (config::InCallOrder)
  // Where the core counts; null: nowhere that is read. Must outlive the core, as `stopwatch` must.
  instruments::SchedulerMetrics* metrics = nullptr;
  // The clock that turns go by, to time the core's work for the metrics; null: time stands still within a turn.
  const Clock* stopwatch = nullptr;
};

}  // namespace berth::scheduler
