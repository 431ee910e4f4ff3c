// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/scheduler_core.h"

#include <utility>

#include <malloc.h>

#include "berth/shell/recording/recorder.h"
#include "berth/shell/tracing/tracer.h"

namespace berth::runner {

SchedulerCore::SchedulerCore(std::unique_ptr<scheduler::Scheduler> scheduler, const Clock& clock, Options options)
    : scheduler_(std::move(scheduler)),
      clock_(clock),
      options_(std::move(options)),
      bindings_in_doubt_(options_.metrics->GetGauge(
          "berth_unsettled_bindings", "Bindings without an answer for a second, or whose outcome is not known.", {})),
      throttled_attempts_(options_.metrics->GetCounter(
          "berth_held_back_attempts_total",
          "Attempts put off because too many bindings of the pod's namespace were unsettled.", {})),
      rescued_by_flush_(options_.metrics->GetCounter(
          "berth_flush_rescued_total",
          "Pods bound after the flush had brought them back: they fitted, and no event had woken them.", {})) {}

TurnResult SchedulerCore::TakeTurn(const TurnRequest& request, std::vector<scheduler::Input>& inputs,
                                   std::vector<scheduler::Output>& outputs) {
  TurnResult result;
  recording::Recorder* const recorder = options_.recorder;
  if (recorder != nullptr) recorder->BeginTurn(request.now, request.wall_ahead);
  if (request.is_ending) {
    if (recorder != nullptr) recorder->Cancels();
    scheduler_->CancelExtenderCycle(recording::kCancelReason);
  }
  scheduler_->SetWallAhead(request.wall_ahead);
  TakeInputs(inputs, request.now);
  if (recorder != nullptr) recorder->Ticks();
  scheduler_->Tick(request.now);
  const bool can_decide = request.may_decide && (!options_.waits_for_outside_data || scheduler_->HasHeardOutside());
  if (can_decide) DecideSome(request, result);
  scheduler_->TakeOutputs(outputs);
  if (recorder != nullptr) recorder->EndTurn(outputs);
  if (options_.tracer != nullptr) options_.tracer->TakeTurn();
  result.wake_at = scheduler_->NextWake();
  result.is_idle = can_decide && !result.has_more && scheduler_->IsIdle();
  const scheduler::Counts before = std::exchange(counts_, scheduler_->counts());
  if (counts_.in_doubt != before.in_doubt) bindings_in_doubt_.Set(static_cast<double>(counts_.in_doubt));
  if (counts_.throttled != before.throttled) {
    throttled_attempts_.Add(static_cast<double>(counts_.throttled - before.throttled));
  }
  if (counts_.rescued_by_flush != before.rescued_by_flush)
    rescued_by_flush_.Add(static_cast<double>(counts_.rescued_by_flush - before.rescued_by_flush));
  // Gives the freed memory back to the system.
  if (counts_.sweeps_of_large_pods != before.sweeps_of_large_pods) malloc_trim(0);
  // An in-doubt binding counts even if its cycle has ended: the next leader must not decide before its outcome is
  // known.
  result.has_open_writes = counts_.in_doubt + scheduler_->busy_binding_count() > 0;
  result.counts = counts_;
  return result;
}

void SchedulerCore::TakeInputs(std::vector<scheduler::Input>& inputs, Time now) {
  for (scheduler::Input& input : inputs) {
    const bool was_waiting = scheduler_->IsWaitingForExtenders();
    if (options_.recorder != nullptr) options_.recorder->Takes(input);
    scheduler_->Handle(std::move(input), now);
    // The extenders' answers have completed a decision.
    if (was_waiting && !scheduler_->IsWaitingForExtenders()) ReportDecision();
  }
  inputs.clear();
}

void SchedulerCore::DecideSome(const TurnRequest& request, TurnResult& result) {
  const Time begin = request.time_max ? clock_.Now() : request.now;
  for (int i = 0; i < kDecisionsPerTurn && scheduler_->busy_binding_count() < options_.bindings_max(); ++i) {
    result.has_more = DecideOne(request.now);
    if (!result.has_more) return;
    if (request.time_max && clock_.Now() - begin > *request.time_max) {
      result.took_long = true;
      break;
    }
  }
  // When the bindings are at their bound, only an input or a timer can make room.
  if (scheduler_->busy_binding_count() >= options_.bindings_max()) result.has_more = false;
}

bool SchedulerCore::DecideOne(Time now) {
  using recording::Scheduled;
  if (options_.recorder != nullptr) options_.recorder->Schedules();
  const bool has_begun = scheduler_->ScheduleOne(now);
  const bool waits = has_begun && scheduler_->IsWaitingForExtenders();
  if (options_.recorder != nullptr) {
    options_.recorder->Scheduled(!has_begun ? Scheduled::kNothing : waits ? Scheduled::kWaits : Scheduled::kDecided);
  }
  if (has_begun && !waits) ReportDecision();
  return has_begun;
}

void SchedulerCore::ReportDecision() const {
  if (options_.recorder != nullptr) options_.recorder->Decided(scheduler_->decisions().Newest());
  if (options_.on_decision) options_.on_decision(scheduler_->decisions().Newest());
}

}  // namespace berth::runner
