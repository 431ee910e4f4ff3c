// SPDX-License-Identifier: Apache-2.0
// SchedulerOptions: the settings of a core, beside its profiles. A plain value.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/config/extenders.h"
#include "berth/core/queue/queue_options.h"
#include "berth/core/runtime/evaluator_options.h"
#include "berth/core/scheduler/pod_choice.h"

namespace berth::instruments {
class SchedulerMetrics;
}  // namespace berth::instruments

namespace berth::scheduler {

struct SchedulerOptions {
  std::uint64_t seed = 0;
  queue::QueueOptions queue;
  runtime::EvaluatorOptions evaluator;
  std::size_t decisions_max = 4096;
  PodChoice pods;
  // After how long a binding cycle's request or work is late and no longer counts towards the limit on busy bindings;
  // and after how long an event on the pod reports the missing answer.
  Duration binding_late_after = std::chrono::seconds(1);
  Duration binding_reported_after = std::chrono::seconds(10);
  std::vector<config::Extender> extenders;  // in call order (config::InCallOrder)
  // Where the core counts; null: its metrics are not exposed. Must outlive the core, as must `stopwatch`.
  instruments::SchedulerMetrics* metrics = nullptr;
  // The clock that times the core's work for the metrics; null: no time passes within a turn.
  const Clock* stopwatch = nullptr;
};

}  // namespace berth::scheduler
