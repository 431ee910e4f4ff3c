// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/scheduling_cycle.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/base/subject.h"
#include "berth/core/scheduler/attempt_log.h"
#include "berth/core/scheduler/attempt_trace.h"
#include "berth/core/scheduler/bookings.h"
#include "berth/core/scheduler/choice_reason.h"
#include "berth/core/scheduler/nomination_moves.h"
#include "berth/core/scheduler/reserve_and_permit.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/preemption_report.h"

namespace berth::scheduler {

using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using runtime::Outcome;
using runtime::Result;

namespace {

// A large pod that waits longer than this gets a condition that says why. Not sooner, because patching a pod of a
// megabyte costs the API server more than binding it.
constexpr Duration kLargePodReportedAfter = std::chrono::seconds(5);

}  // namespace

bool SchedulingCycle::ScheduleOne() {
  if (waiting_) return false;
  std::optional<queue::QueuedPodInfo> popped = state_.queue.Pop(state_.now);
  if (!popped) return false;
  ++state_.counts.cycles;
  popped->attempt_began = state_.stopwatch.latest();
  if (popped->is_pod_group) {
    idle_sweep_.RecordCycle(false);
    group_cycle_->Run(random_);
    return true;
  }
  Decision& decision = state_.BeginDecision(*popped);
  SchedulingAttempt attempt{state_.profiles.Find(*popped->pod), std::move(*popped), &decision, 0};
  const PodInfo& pod = *attempt.queued.pod;
  const Subject subject(pod.uid);
  const std::size_t count_asked = queue::CountAsked(*pod.pod_class);
  if (DropStale(attempt) || PutOff(attempt, count_asked)) return true;
  // A pod that comes for promised room is evaluated as if it were nominated for it.
  const PodInfoPtr& evaluated =
      state_.bookings == nullptr ? attempt.queued.pod : state_.bookings->Open(attempt.queued.pod);
  state_.UpdateNominations();
  LogAttempt(state_, pod);
  attempt.seed = decision.seed = random_.Next();
  attempt.queued.is_sampled |= runtime::IsSampled(attempt.seed);
  const TraceFocus focus(state_, *attempt.profile, pod, attempt.queued.is_sampled);
  idle_sweep_.RecordCycle(count_asked >= queue::kLargePodMin);
  const std::vector<config::Extender>& extenders = state_.options.extenders;
  if (!extenders.empty() && ExtenderCycle::IsWantedFor(pod, extenders)) {
    auto cycle = std::make_unique<ExtenderCycle>(state_, std::move(attempt));
    const ExtenderCycle::Progress progress = cycle->Start();
    Advance(std::move(cycle), progress);
    return true;
  }
  const Outcome& outcome = attempt.profile->evaluator.Evaluate(
      evaluated, state_.cache.nodes(), &state_.nominations.rows(), attempt.seed, state_.WallNow());
  if (outcome.result == Result::kRefused && ExtenderPreemption::IsWantedFor(pod, extenders)) {
    auto cycle = std::make_unique<ExtenderCycle>(state_, std::move(attempt));
    const ExtenderCycle::Progress progress = cycle->StartPreemption(outcome);
    Advance(std::move(cycle), progress);
  } else {
    Conclude(std::move(attempt), outcome);
  }
  return true;
}

// Puts back a pod that must wait for others. It returns after its back-off, or sooner if it is activated. Returns false
// if the pod may go on.
bool SchedulingCycle::PutOff(SchedulingAttempt& attempt, std::size_t count_asked) {
  const PodInfo& pod = *attempt.queued.pod;
  SchedulingFailure failure;
  failure.is_put_off = true;
  std::optional<Throttled> held = bindings_.Throttle(pod);
  if (held) {
    ++state_.counts.throttled;
  } else if (std::optional<std::string> why = large_pods_.Throttle(count_asked, state_.now)) {
    held = Throttled{*std::move(why), kLargePodReportedAfter};
  } else {
    return false;
  }
  failure.is_silent = state_.now < attempt.queued.initial_attempt_timestamp.value_or(state_.now) + held->reported_after;
  --attempt.queued.attempts;
  failure.message = attempt.decision->message = std::move(held->why);
  HandleSchedulingFailure(state_, *attempt.profile, std::move(attempt.queued), std::move(failure));
  return true;
}

// The pod leaves the queue without an outcome; the decision's message says why.
void SchedulingCycle::EndTraceOf(const SchedulingAttempt& attempt) {
  if (!attempt.queued.is_sampled) return;
  TraceAttemptEnd(state_, attempt.profile, attempt.queued, {"dropped", attempt.decision->message});
  TraceEnd(state_, attempt.queued.pod->uid, "dropped");
}

// Whether the pod needs no decision any more.
bool SchedulingCycle::DropStale(const SchedulingAttempt& attempt) {
  const PodInfo& pod = *attempt.queued.pod;
  std::string& message = attempt.decision->message;
  if (attempt.profile == nullptr) {
    // The pod was given to another scheduler while it was assumed here, and then could not be bound.
    message = "the pod is for scheduler \"" + pod.spec().scheduler_name + "\"";
  } else if (pod.deletion_time) {
    message = "skip schedule deleting pod: " + pod.Key();
    state_.outputs.AddEvent(attempt.profile->scheduler_name(), pod, true, "FailedScheduling", "Scheduling", message);
  } else if (state_.cache.FindPod(pod.uid) != nullptr) {
    message = "the pod is assumed or bound already";
  } else {
    return false;
  }
  EndTraceOf(attempt);
  state_.queue.Done(pod.uid);
  return true;
}

void SchedulingCycle::Advance(std::unique_ptr<ExtenderCycle> cycle, ExtenderCycle::Progress progress) {
  switch (progress) {
    case ExtenderCycle::Progress::kWaiting: waiting_ = std::move(cycle); return;
    case ExtenderCycle::Progress::kDecided: Conclude(std::move(cycle->attempt()), cycle->outcome()); return;
    case ExtenderCycle::Progress::kFailed: break;
  }
  SchedulingAttempt& attempt = cycle->attempt();
  state_.stopwatch.Read();
  ObserveAlgorithm(attempt.queued);
  SchedulingFailure failure;
  failure.nomination.is_set = true;
  failure.message = attempt.decision->message = cycle->error();
  HandleSchedulingFailure(state_, *attempt.profile, std::move(attempt.queued), std::move(failure));
}

// Observes how long the search for a node took, whether or not it found one.
void SchedulingCycle::ObserveAlgorithm(const queue::QueuedPodInfo& queued) {
  state_.metrics.cycles.algorithm_duration.Observe(
      instruments::Seconds(state_.stopwatch.latest() - queued.attempt_began));
}

// Acts on an evaluation: starts the binding cycle, or fails the attempt.
void SchedulingCycle::Conclude(SchedulingAttempt&& attempt, const Outcome& outcome) {
  Decision& decision = *attempt.decision;
  decision.node_count = static_cast<std::uint32_t>(outcome.node_count);
  decision.feasible_count = static_cast<std::uint32_t>(outcome.feasible_count);
  if (outcome.result != Result::kError) decision.refusals = attempt.profile->evaluator.RefusalCounts();
  if (outcome.result != Result::kFeasible) {
    FailAttempt(std::move(attempt), outcome);
    return;
  }
  LogScores(state_, *attempt.profile, *attempt.queued.pod, outcome);
  state_.cache.nodes().Prefetch(outcome.node);
  decision.node_name = state_.cache.nodes().Name(outcome.node);
  decision.total = outcome.total;
  decision.reason = ChoiceReason(*attempt.profile->plugins, state_.cache.nodes(), outcome);
  ObserveAlgorithm(attempt.queued);
  AssumeAndReserve(std::move(attempt), outcome.node);
}

void SchedulingCycle::FailAttempt(SchedulingAttempt&& attempt, const Outcome& outcome) {
  runtime::Evaluator& evaluator = attempt.profile->evaluator;
  SchedulingFailure failure;
  failure.nomination.is_set = true;  // cleared, unless PostFilter sets it
  if (outcome.result == Result::kError) {
    failure.message = outcome.error;
  } else {
    failure.is_refusal = true;
    failure.unschedulable_plugins = outcome.unschedulable_plugins;
    if (outcome.result == Result::kRefused && !attempt.profile->plugins->post_filter.empty()) {
      const framework::PostFilterResult result =
          attempt.post_filter ? *std::move(attempt.post_filter) : evaluator.RunPostFilter();
      failure.nomination = {result.has_nomination, result.nominated_node_name};
      // If an extender or an error kept preemption from finding a node, a later change to the candidates may help: the
      // preemption plugins count as refusing.
      const bool has_found = result.has_nomination && !result.nominated_node_name.empty();
      const bool is_unsure = attempt.post_filter || result.status.code() == framework::Code::kError;
      if (!has_found && is_unsure && !failure.unschedulable_plugins.empty()) {
        for (const framework::PostFilterPlugin* plugin : attempt.profile->plugins->post_filter)
          if (plugin->IsPreemption()) failure.unschedulable_plugins.emplace(plugin->Name());
      }
      // Without the refusals of these plugins preemption would have made room: events that only they have registered
      // for may help.
      if (result.preemption != nullptr && !failure.unschedulable_plugins.empty())
        failure.unschedulable_plugins.insert(result.preemption->refused_by.begin(),
                                             result.preemption->refused_by.end());
      // The pod waits for the victims to go. The hints of its filters would not wake it if another pod had taken the
      // room.
      const bool waits_for_victims = result.preemption == nullptr ? has_found
                                                                  : result.preemption->waits_for_victims ||
                                                                        result.preemption->chosen != framework::kNoNode;
      if (waits_for_victims && !result.preempted_by.empty()) failure.pending_plugins.insert(result.preempted_by);
    }
    failure.message = evaluator.Message();
  }
  ObserveAlgorithm(attempt.queued);
  attempt.decision->message = failure.message;
  HandleSchedulingFailure(state_, *attempt.profile, std::move(attempt.queued), std::move(failure));
}

void SchedulingCycle::AssumeAndReserve(SchedulingAttempt&& attempt, framework::NodeIndex row) {
  Profile& profile = *attempt.profile;
  const PodInfoPtr assumed = WithNode(*attempt.queued.pod, state_.cache.nodes().Name(row));
  state_.cache.AssumePod(assumed, row);
  EndNomination(state_, *assumed);

  const framework::Cycle cycle = profile.evaluator.cycle();
  const bool is_sampled = attempt.queued.is_sampled;
  if (const Status status = RunReserve(state_, profile, cycle, *assumed, is_sampled); !status.IsSuccess()) {
    RejectReserved(std::move(attempt), *assumed, status);
    return;
  }
  PermitAnswers answers = RunPermit(state_, profile, cycle, *assumed, is_sampled);
  if (!answers.refusal.IsSuccess()) {
    RejectReserved(std::move(attempt), *assumed, answers.refusal);
    return;
  }
  bindings_.StartBinding(profile, std::move(attempt.queued), assumed, row, std::move(answers.waits));
}

// Reserve or Permit refused the chosen node.
void SchedulingCycle::RejectReserved(SchedulingAttempt&& attempt, const PodInfo& assumed, const Status& status) {
  Unreserve(state_, *attempt.profile, assumed);
  HandleSchedulingFailure(state_, *attempt.profile, std::move(attempt.queued), FailureOfChosenNode(status));
}

void SchedulingCycle::CancelWaiting(std::string_view why) {
  if (!waiting_) return;
  const SchedulingAttempt& attempt = waiting_->attempt();
  attempt.decision->message = why;
  EndTraceOf(attempt);
  state_.queue.Done(attempt.queued.pod->uid);
  if (state_.bookings != nullptr) state_.bookings->Close(attempt.queued.pod->uid);
  waiting_.reset();
}

// The cycle goes on with the new object if the pod is still ours to place.
void SchedulingCycle::PodChanged(const PodInfoPtr& pod) {
  if (!waiting_ || waiting_->pod().uid != pod->uid) return;
  const bool is_ours =
      state_.profiles.Find(*pod) == waiting_->attempt().profile && state_.options.pods.Serves(pod->namespace_name());
  if (!is_ours || pod->deletion_time || !pod->node_name.empty()) {
    CancelWaiting("the pod changed while extenders were asked");
  } else {
    waiting_->SetPod(pod);
  }
}

void SchedulingCycle::PodDeleted(std::string_view uid) {
  if (waiting_ && waiting_->pod().uid == uid) CancelWaiting("the pod was deleted while extenders were asked");
}

bool SchedulingCycle::TakeExtenderAnswer(ExtenderDone& input) {
  if (!waiting_ || !waiting_->IsWaitingFor(input.operation)) return false;
  std::unique_ptr<ExtenderCycle> cycle = std::move(waiting_);
  const SchedulingAttempt& attempt = cycle->attempt();
  const TraceFocus focus(state_, *attempt.profile, *attempt.queued.pod, attempt.queued.is_sampled);
  const ExtenderCycle::Progress progress = cycle->TakeAnswer(std::move(input));
  Advance(std::move(cycle), progress);
  return true;
}

}  // namespace berth::scheduler
