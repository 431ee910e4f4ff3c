// SPDX-License-Identifier: Apache-2.0
// SchedulerOptions: how a core is set up, beside its profiles. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/config/extenders.h"
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
  std::vector<config::Extender> extenders;  // in the order in which they are asked (config::InCallOrder)
};

}  // namespace berth::scheduler
