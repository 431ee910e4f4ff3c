// SPDX-License-Identifier: Apache-2.0
// SchedulerCore: a turn of the real core (core/scheduler), for the runner. Not thread-safe: the runner sees to it that
// one turn is taken at a time, on whichever thread. It does no I/O and reads no clock but the one it is given.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/scheduler/counts.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/metrics.h"
#include "berth/shell/runner/turn_runner.h"

namespace berth::recording {
class Recorder;
}
namespace berth::tracing {
class Tracer;
}

namespace berth::runner {

class SchedulerCore final : public Core {
 public:
  // The most decisions in one turn, after which inputs are taken again.
  static constexpr int kDecisionsPerTurn = 64;

  struct Options {
    // The most busy binding cycles at once (Scheduler::busy_binding_count()). It is asked before each decision.
    std::function<std::size_t()> bindings_max;
    // Called after each decision; may be empty.
    std::function<void(const scheduler::Decision&)> on_decision;
    // True: nothing is decided before each source of data from outside has answered or failed once.
    bool waits_for_outside_data = false;
    framework::Metrics* metrics = &framework::Metrics::None();
    recording::Recorder* recorder = nullptr;  // records each call of the scheduler; null: none
    tracing::Tracer* tracer = nullptr;        // takes spans after each turn; null: no pod is traced
  };

  // `clock`, and what the functions use, must outlive it.
  SchedulerCore(std::unique_ptr<scheduler::Scheduler> scheduler, const Clock& clock, Options options);

  TurnResult TakeTurn(const TurnRequest& request, std::vector<scheduler::Input>& inputs,
                      std::vector<scheduler::Output>& outputs) override;

  // To be called between turns.
  const scheduler::Scheduler& scheduler() const { return *scheduler_; }
  // For its MakeOverlay() alone, between turns.
  scheduler::Scheduler& for_questions() { return *scheduler_; }

 private:
  void TakeInputs(std::vector<scheduler::Input>& inputs, Time now);
  void DecideSome(const TurnRequest& request, TurnResult& result);
  bool DecideOne(Time now);
  void ReportDecision() const;

  const std::unique_ptr<scheduler::Scheduler> scheduler_;
  const Clock& clock_;
  const Options options_;
  framework::Gauge& bindings_in_doubt_;
  framework::Counter& throttled_attempts_;
  framework::Counter& rescued_by_flush_;
  scheduler::Counts counts_;  // as of the last turn
};

}  // namespace berth::runner
