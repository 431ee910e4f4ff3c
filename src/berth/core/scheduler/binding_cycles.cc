// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/binding_cycles.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "berth/base/backoff.h"
#include "berth/base/log.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/attempt_log.h"
#include "berth/core/scheduler/attempt_timing.h"
#include "berth/core/scheduler/attempt_trace.h"
#include "berth/core/scheduler/plugin_errors.h"
#include "berth/core/scheduler/scheduling_failure.h"

namespace berth::scheduler {

using framework::Operation;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using instruments::Point;
using runtime::Guarded;
using runtime::GuardedOperation;

namespace {

constexpr Duration kReadBackoffInitial = std::chrono::milliseconds(200);
constexpr Duration kReadBackoffMax = std::chrono::seconds(10);
// Some refusals may concern an earlier post that took effect (409, 404). Others may pass: an API server that has just
// started forbids what it has no rules for yet, and an overloaded one answers 429. Up to this many times, over a few
// seconds, the pod is read and the binding posted again. Then the refusal counts, and the room is given back. Refused
// reads do not count: they show that the API server is not ready.
constexpr int kRefusalsMax = 5;
// Limits on in-doubt cycles of one namespace. Further bindings would most likely hang for the same reason, such as a
// webhook of that namespace, and each holds room on a node. Bindings that take effect in the meantime show that answers
// are only lost now and then: the limit grows by one for each kBoundForOneMore of them.
constexpr std::size_t kInDoubtMin = 16;
constexpr std::size_t kInDoubtMax = 256;
constexpr std::size_t kBoundForOneMore = 4;
constexpr std::size_t kActivatedAtOnceMax = 2;
// After how long a waiting pod's condition says that it is throttled. It is longer if bindings take effect in the
// meantime: then the API server is slow, and should be spared writes.
constexpr Duration kReportedAfter = std::chrono::seconds(3);
constexpr Duration kReportedAfterWhereSlow = std::chrono::seconds(30);

constexpr framework::ClusterEvent kAssignedPodDeleted{framework::EventResource::kAssignedPod,
                                                      framework::action::kDelete};

framework::BindWrite PlainBinding(const PodInfo& assumed) { return {RefOf(assumed), assumed.node_name}; }

// Whether the write is the binding that PlainBinding() makes.
bool IsPlain(const framework::ApiWrite& write, const PodInfo& assumed) {
  const auto* bind = std::get_if<framework::BindWrite>(&write);
  return bind != nullptr && bind->node_name == assumed.node_name && bind->pod.uid == assumed.uid &&
         bind->pod.name == assumed.name && bind->pod.namespace_name == assumed.namespace_name() &&
         bind->pod.resource_version == assumed.resource_version;
}

bool IsRefusalThatMayPass(ErrorCode code) {
  switch (code) {
    case ErrorCode::kConflict:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kNotFound:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kForbidden:
    case ErrorCode::kUnauthorized: return true;
    default: return false;
  }
}

// Whether the error leaves open if the pod is bound: this post or an earlier one may have taken effect, or the API
// server could not be reached. If the room were given away now, the node could be filled twice.
bool IsUnknownOutcome(const Error& error, const BindingCycle& cycle) {
  if (error.outcome_unknown) return true;
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout: return true;
    // This post was not sent, but an earlier one was and may still arrive. A pod of a group keeps its room in any case,
    // because other members may be bound already.
    case ErrorCode::kCancelled: return cycle.read_count > 0 || !cycle.assumed->pod_group_name.empty();
    default: return IsRefusalThatMayPass(error.code) && cycle.refused_count < kRefusalsMax;
  }
}

// Whether an unknown outcome deserves an event. An API server that is away or not ready concerns all pods, and after
// the other errors the pod usually turns out to be bound or gone.
bool SaysMuch(const Error& unknown) {
  return unknown.outcome_unknown || unknown.code == ErrorCode::kTimeout || unknown.code == ErrorCode::kCancelled;
}

}  // namespace

void BindingCycles::StartBinding(Profile& profile, queue::QueuedPodInfo&& queued, const PodInfoPtr& assumed,
                                 framework::NodeIndex row, std::vector<PermitWait>&& permits) {
  BindingCycle& cycle = table_.Add(profile, std::move(queued), assumed);
  cycle.row = row;
  if (state_.decisions.size() > 0) {
    cycle.nodes = {state_.decisions.Newest().node_count, state_.decisions.Newest().feasible_count};
  }
  cycle.permits = std::move(permits);
  for (const PermitWait& wait : cycle.permits) table_.AddDeadline(wait.deadline, cycle);
  if (!FindPreBindPlugins(cycle)) return;
  if (!cycle.permits.empty()) cycle.wait_began = state_.stopwatch.latest();
  // Waits may be long, so the chosen node is written as the nomination: other schedulers then leave the room alone.
  const bool is_slow = !cycle.permits.empty() || !cycle.pre_bind.empty();
  if (state_.release.announces_nominations && is_slow && assumed->nominated_node_name != assumed->node_name) {
    framework::PodStatusWrite write;
    write.pod = RefOf(*assumed);
    write.has_nomination = true;
    write.nominated_node_name = assumed->node_name;
    cycle.queued.last_written.nomination = HashOfNomination(assumed->node_name);
    state_.outputs.AddWrite(state_.outputs.NewOperation(), std::move(write));
  }
  if (cycle.permits.empty()) Continue(cycle);
}

// Returns false when a plugin failed; the cycle is then destroyed.
bool BindingCycles::FindPreBindPlugins(BindingCycle& cycle) {
  PointTiming timing(state_, *cycle.profile);
  for (framework::PreBindPlugin* plugin : cycle.profile->plugins->pre_bind) {
    const CallTiming call(state_, cycle.queued.is_sampled);
    const Status status = Guarded([&] { return plugin->PreBindPreFlight(*cycle.assumed); });
    call.End(Point::kPreBindPreFlight, plugin->Name(), status.code());
    if (status.IsSkip()) continue;
    if (!status.IsSuccess()) {
      timing.End(Point::kPreBindPreFlight, framework::Code::kError);
      Fail(cycle, PreFlightFailure(plugin->Name(), status), {}, {});
      return false;
    }
    cycle.pre_bind.push_back(plugin);
  }
  timing.End(Point::kPreBindPreFlight, cycle.pre_bind.empty() ? framework::Code::kSkip : framework::Code::kSuccess);
  return true;
}

// Runs plugins until one has to be waited for, or the cycle ends. `cycle` may be destroyed afterwards.
void BindingCycles::Continue(BindingCycle& cycle) {
  const TraceFocus focus(state_, *cycle.profile, *cycle.assumed, cycle.queued.is_sampled);
  if (cycle.phase == BindingPhase::kPermit) {
    state_.queue.Done(cycle.queued);
    if (cycle.wait_began != Time{}) {
      const Time now = state_.stopwatch.Read();
      cycle.profile->metrics->ObservePermitWait(framework::Code::kSuccess, now - std::exchange(cycle.wait_began, {}));
    }
    cycle.point_began = state_.stopwatch.latest();
    cycle.phase = BindingPhase::kPreBind;
    cycle.next_plugin = 0;
  }
  if (cycle.phase == BindingPhase::kPreBind) {
    if (cycle.next_plugin < cycle.pre_bind.size()) {
      framework::PreBindPlugin& plugin = *cycle.pre_bind[cycle.next_plugin++];
      cycle.plugin = plugin.Name();
      RunOperation(cycle, CallPlugin(cycle, [&] { return plugin.PreBind(*cycle.assumed); }));
      return;
    }
    PointTiming(state_, *cycle.profile, cycle.point_began).End(Point::kPreBind, cycle.pre_bind);
    cycle.point_began = state_.stopwatch.latest();
    cycle.phase = BindingPhase::kBind;
    cycle.next_plugin = 0;
  }
  StartBind(cycle);
}

// Asks the next extender or bind plugin to bind the pod.
void BindingCycles::StartBind(BindingCycle& cycle) {
  // The node may have been deleted during PreBind; a binding to it would strand the pod.
  if (!HasItsNode(cycle)) {
    FailForLostNode(cycle);
    return;
  }
  if (!state_.options.extenders.empty() && AskExtenderToBind(cycle)) return;
  const auto& bind = cycle.profile->plugins->bind;
  while (cycle.next_plugin < bind.size()) {
    framework::BindPlugin& plugin = *bind[cycle.next_plugin++];
    cycle.plugin = plugin.Name();
    Operation operation = CallPlugin(cycle, [&] { return plugin.Bind(*cycle.assumed); });
    if (operation.is_done() && operation.status.IsSkip()) {
      ObserveCall(cycle, framework::Code::kSkip);
      continue;
    }
    RunOperation(cycle, std::move(operation));
    return;
  }
  Fail(cycle, Status::Error("no bind plugin took the pod"), {}, {});
}

// Returns whether an extender was asked to bind the pod. An interested extender replaces the bind plugins.
bool BindingCycles::AskExtenderToBind(BindingCycle& cycle) {
  const std::vector<config::Extender>& extenders = state_.options.extenders;
  while (cycle.next_extender < extenders.size()) {
    const std::size_t i = cycle.next_extender++;
    const PodInfo& pod = *cycle.assumed;
    if (extenders[i].bind_verb.empty() || !extenders[i].IsInterested(pod.spec())) continue;
    cycle.plugin = {};
    state_.outputs.AddQuestion({NewOperation(cycle), i, ExtenderVerb::kBind, RefOf(pod), {pod.node_name}});
    return true;
  }
  return false;
}

// Asks a plugin for an operation. During the call the plugin cannot cancel this cycle through its handle.
template <typename Call>
Operation BindingCycles::CallPlugin(BindingCycle& cycle, Call&& call) {
  cycle.is_calling_plugin = true;
  if (cycle.queued.is_sampled && cycle.call_began == Time{}) cycle.call_began = state_.stopwatch.Read();
  Operation operation = GuardedOperation(std::forward<Call>(call));
  cycle.is_calling_plugin = false;
  return operation;
}

void BindingCycles::RunOperation(BindingCycle& cycle, Operation&& operation) {
  if (operation.is_done()) {
    EndOperation(cycle, operation.status);
    return;
  }
  cycle.step.is_plain_binding = operation.writes.size() == 1 && IsPlain(operation.writes.front(), *cycle.assumed);
  const bool is_wait = operation.writes.empty() && !operation.work;
  state_.operations.Begin(cycle.step, std::move(operation), NewOperation(cycle, is_wait), state_.now);
}

// A step of the cycle's operation has ended; the operation continues or ends.
void BindingCycles::EndStep(BindingCycle& cycle, const framework::StepResult& result) {
  if (cycle.step.HasNextWrite(result)) {
    ++cycle.step.next_write;
    state_.operations.PostWrite(cycle.step, NewOperation(cycle));
    return;
  }
  if (const Operation::Next next = std::exchange(cycle.step.next, nullptr)) {
    RunOperation(cycle, CallPlugin(cycle, [&] { return next(result); }));
    return;
  }
  EndOperation(cycle, result.error ? Status::Error(result.error->message) : result.status);
}

void BindingCycles::EndOperation(BindingCycle& cycle, const Status& status) {
  const bool is_bind = cycle.phase == BindingPhase::kBind;
  ObserveCall(cycle, status.code());
  if (!status.IsSuccess()) {
    // An extender's error message is passed on unchanged.
    const std::string_view point = cycle.plugin.empty() ? "" : is_bind ? "Bind" : "PreBind";
    Fail(cycle, status, point, cycle.plugin);
  } else if (is_bind) {
    Finish(cycle);
  } else {
    Continue(cycle);
  }
}

std::uint64_t BindingCycles::NewOperation(BindingCycle& cycle, bool is_wait) {
  const std::uint64_t number = state_.outputs.NewOperation();
  // An extender's binding is no point of plugins.
  if (cycle.queued.is_sampled && !is_wait) TraceOperation(state_, cycle.assumed->uid, number, !cycle.plugin.empty());
  return table_.SetOperation(cycle, number, state_.now, is_wait);
}

// --- Inputs ---

// The watch may be faster than the response to the binding, or only one of the two may arrive.
void BindingCycles::PodAssigned(const PodInfoPtr& pod) {
  BindingCycle* const cycle = table_.Find(pod->uid);
  if (cycle == nullptr) return;
  // Before our own binding is sent, somebody else has bound the pod, perhaps to the same node.
  const bool is_sent = cycle->phase != BindingPhase::kPermit && cycle->phase != BindingPhase::kPreBind;
  if (!is_sent || cycle->assumed->node_name != pod->node_name) {
    Drop(*cycle);
  } else if (cycle->phase == BindingPhase::kRead) {
    Finish(*cycle);
  }
}

// A watch that lags behind our binding shows the pod without its node for a while.
void BindingCycles::PodStillPending(const PodInfoPtr& pod) {
  BindingCycle* const cycle = table_.Find(pod->uid);
  if (cycle == nullptr) return;
  cycle->queued.pod = pod;
  if (!pod->deletion_time) return;
  if (cycle->phase == BindingPhase::kPermit)
    Fail(*cycle, Status::Unschedulable("pod is being deleted"), {}, cycle->permits.front().plugin);
  // The API server refuses to bind a pod that is being deleted: as in upstream, its room is free at once.
  else if (cycle->phase == BindingPhase::kPreBind)
    Drop(*cycle);
}

// A confirmed pod is not assumed any more: Drop() leaves it in the cache.
void BindingCycles::PodDeleted(std::string_view uid) {
  if (BindingCycle* const cycle = table_.Find(uid)) Drop(*cycle);
}

void BindingCycles::PermitDecided(const framework::PermitDecision& decision) {
  BindingCycle* const cycle = table_.Find(decision.pod_uid);
  if (cycle == nullptr || cycle->phase != BindingPhase::kPermit) return;
  if (!table_.EndPermitWait(*cycle, decision.plugin)) return;
  if (!decision.allow) {
    Fail(*cycle, Status::Unschedulable(decision.message), {}, decision.plugin);
  } else if (cycle->permits.empty()) {
    Continue(*cycle);
  }
}

void BindingCycles::WriteEnded(std::uint64_t operation, framework::StepResult&& result) {
  BindingCycle* const cycle = table_.TakeByOperation(operation);
  if (cycle == nullptr) return;  // a status patch, or a cycle that has ended
  const OperationStep& step = cycle->step;
  if (!result.error || !std::holds_alternative<framework::BindWrite>(step.writes[step.next_write])) {
    EndStep(*cycle, result);
    return;
  }
  if (IsUnknownOutcome(*result.error, *cycle)) {
    if (IsRefusalThatMayPass(result.error->code)) ++cycle->refused_count;
    OutcomeIsUnknown(*cycle, result.error->message, SaysMuch(*result.error));
  } else if (cycle->read_count > 0) {
    // A refusal of the first post is final. After an unknown outcome, an earlier post may have taken effect: the pod is
    // read first.
    cycle->refusal = result.error->message;
    ReadPodLater(*cycle);
  } else {
    EndStep(*cycle, result);
  }
}

void BindingCycles::StepEnded(std::uint64_t operation, const framework::StepResult& result) {
  if (BindingCycle* const cycle = table_.TakeByOperation(operation)) EndStep(*cycle, result);
}

PodInfoPtr BindingCycles::PodWasRead(PodReadDone&& input) {
  BindingCycle* const cycle = table_.TakeByOperation(input.operation);
  if (cycle == nullptr) return nullptr;
  if (input.error) {
    ReadPodLater(*cycle);
    return nullptr;
  }
  if (!input.pod || input.pod->metadata.uid != cycle->assumed->uid ||
      input.pod->status.phase == api::PodPhase::kSucceeded || input.pod->status.phase == api::PodPhase::kFailed) {
    Drop(*cycle);
    return nullptr;
  }
  const std::string& node = input.pod->spec.node_name;
  if (node == cycle->assumed->node_name) {
    Finish(*cycle);
    return nullptr;
  }
  if (!node.empty()) {
    PodInfoPtr bound_elsewhere = state_.MakePodInfo(*input.pod);
    Drop(*cycle);
    return bound_elsewhere;
  }
  if (input.pod->metadata.deletion_time) {
    Drop(*cycle);
  } else {
    PostBindingAgain(*cycle);
  }
  return nullptr;
}

void BindingCycles::TakeExtenderAnswer(ExtenderDone&& input) {
  BindingCycle* const cycle = table_.TakeByOperation(input.operation);
  if (cycle == nullptr) return;
  if (input.answer.ok()) {
    Finish(*cycle);
  } else if (state_.options.extenders[cycle->next_extender - 1].ignorable) {
    // If the extender did bind the pod, the API server refuses the next binding, and the pod is read.
    Continue(*cycle);
  } else {
    // The extender may have bound the pod before it failed or its response was lost: the pod is read.
    cycle->refusal = input.answer.error().message;
    OutcomeIsUnknown(*cycle, cycle->refusal, true);
  }
}

bool BindingCycles::Cancel(std::string_view uid, std::string_view plugin, std::string_view message) {
  BindingCycle* const cycle = table_.Find(uid);
  if (cycle == nullptr || cycle->is_calling_plugin) return false;
  // kError rather than a refusal, in kube-scheduler's words: the pod may retry without a plugin's queueing hint. During
  // PreBind, writes may be under way; their outcomes are then dropped, and Unreserve gives up what they were for.
  if (cycle->phase == BindingPhase::kPermit) {
    Fail(*cycle, Status::Error("waiting on permit for pod: " + std::string(message)), {}, {});
    return true;
  }
  if (cycle->phase == BindingPhase::kPreBind) {
    Fail(*cycle, Status::Error(std::string(message).append(" by ").append(plugin)), "PreBind", cycle->plugin);
    return true;
  }
  return false;
}

// --- Unknown outcomes, time-outs ---

void BindingCycles::OutcomeIsUnknown(BindingCycle& cycle, const std::string& why, bool says_much) {
  ++state_.counts.bindings_unknown;
  // No event the first time: responses are lost now and then, and reading the pod clears it up.
  if (cycle.read_count > 0 || cycle.is_in_doubt) {
    table_.SetInDoubt(cycle);
    if (says_much)
      ReportTrouble(cycle,
                    "binding to node \"" + cycle.assumed->node_name + "\": " + why +
                        "; it may have taken effect all the same, so the pod keeps its place there, and the binding "
                        "is tried again");
  }
  ReadPodLater(cycle);
}

// Reports by an event. A condition could arrive after the binding, and say of a bound pod that it is not scheduled.
void BindingCycles::ReportTrouble(BindingCycle& cycle, std::string message) {
  if (cycle.reported_trouble == message) return;
  cycle.reported_trouble = message;
  const PodInfo& pod = *cycle.queued.pod;
  log::Warning("scheduler", "A pod's binding does not take effect", {{"pod", pod.Key()}, {"err", message}});
  state_.outputs.AddEvent(cycle.profile->scheduler_name(), pod, true, "FailedScheduling", "Binding",
                          std::move(message));
}

std::size_t BindingCycles::RoomForInDoubt(std::string_view namespace_name) const {
  const BindingTable::InDoubt in_doubt = table_.InDoubtOf(namespace_name);
  const std::size_t most = std::min(kInDoubtMax, kInDoubtMin + in_doubt.bound / kBoundForOneMore);
  return in_doubt.cycles < most ? most - in_doubt.cycles : 0;
}

// A binding of the namespace has ended: activates throttled pods if there is room for them. At most
// kActivatedAtOnceMax, so that pods of a slow namespace do not take the turn of others; each of these activates more
// when it ends.
void BindingCycles::ActivateThrottled(const std::string& namespace_name) {
  if (throttled_.empty()) return;
  const auto held = throttled_.find(namespace_name);
  if (held == throttled_.end()) return;
  const std::size_t room = std::min(kActivatedAtOnceMax, RoomForInDoubt(namespace_name));
  std::vector<std::string> uids;
  while (uids.size() < room && !held->second.empty())
    uids.push_back(std::move(held->second.extract(held->second.begin()).value()));
  if (held->second.empty()) throttled_.erase(held);
  state_.queue.Activate(uids, state_.now);
}

std::optional<Throttled> BindingCycles::Throttle(const PodInfo& pod) {
  if (RoomForInDoubt(pod.namespace_name()) > 0) return std::nullopt;
  throttled_[pod.namespace_name()].insert(pod.uid);
  const bool is_answered = table_.InDoubtOf(pod.namespace_name()).bound > 0;
  return Throttled{
      "bindings of namespace \"" + pod.namespace_name() +
          "\" have no answer or no known outcome (the events of their pods say why): this pod waits for them",
      is_answered ? kReportedAfterWhereSlow : kReportedAfter};
}

// Reads the pod to learn whether its binding took effect; the pod stays assumed until that is known. The first read is
// immediate; later ones are delayed exponentially.
void BindingCycles::ReadPodLater(BindingCycle& cycle) {
  const int reads = cycle.read_count++;
  const Duration delay = reads == 0 ? Duration{0} : Doubled(kReadBackoffInitial, kReadBackoffMax, reads - 1);
  // No operation is under way until the next read, yet the binding may still take effect.
  if (reads > 0) table_.SetInDoubt(cycle);
  cycle.phase = BindingPhase::kRead;
  cycle.is_waiting_to_read = true;
  cycle.read_at = state_.now + delay;
  table_.AddDeadline(cycle.read_at, cycle);
}

// The pod is not bound, but the lost request may still arrive. Posting the same binding again is idempotent: the room
// stays taken, whichever request arrives first.
void BindingCycles::PostBindingAgain(BindingCycle& cycle) {
  if (!HasItsNode(cycle)) {
    FailForLostNode(cycle);
    return;
  }
  cycle.phase = BindingPhase::kBind;
  if (!cycle.refusal.empty()) {
    EndOperation(cycle, Status::Error(cycle.refusal));
    return;
  }
  OperationStep& step = cycle.step;
  if (step.is_plain_binding) step.writes[step.next_write] = PlainBinding(*cycle.assumed);
  state_.operations.PostWrite(step, NewOperation(cycle));
}

void BindingCycles::Tick() {
  while (BindingCycle* const late = table_.TakeLate(state_.now)) {
    // In the last two phases a step without writes is a binding extender or a read.
    const bool may_take_effect = !late->step.writes.empty() || late->phase >= BindingPhase::kBind;
    if (may_take_effect) table_.SetInDoubt(*late);
  }
  while (BindingCycle* const late = table_.TakeVeryLate(state_.now)) {
    const std::string what = late->phase == BindingPhase::kPreBind
                                 ? "PreBind of " + std::string(late->plugin) + " for node \""
                                 : std::string("binding to node \"");
    ReportTrouble(*late, what + late->assumed->node_name + "\": no answer for " +
                             FormatGoDuration(state_.options.binding_reported_after) +
                             "; the pod keeps its place there");
  }
  while (BindingCycle* const cycle = table_.TakeDue(state_.now)) {
    if (cycle->is_waiting_to_read && cycle->read_at <= state_.now) {
      cycle->is_waiting_to_read = false;
      const PodInfo& pod = *cycle->assumed;
      state_.outputs.AddWrite(NewOperation(*cycle), framework::PodRead{{pod.namespace_name(), pod.name, pod.uid, {}}});
    } else if (cycle->phase == BindingPhase::kPermit) {
      EndPermitTimeouts(*cycle);
    }
  }
}

void BindingCycles::EndPermitTimeouts(BindingCycle& cycle) {
  const auto late = std::find_if(cycle.permits.begin(), cycle.permits.end(),
                                 [this](const PermitWait& wait) { return wait.deadline <= state_.now; });
  if (late == cycle.permits.end()) return;
  Fail(cycle,
       Status::Unschedulable("rejected due to timeout after waiting " + FormatGoDuration(late->timeout) +
                             " at plugin " + late->plugin),
       {}, late->plugin);
}

// --- The end of a cycle ---

// The plugin's operation has ended: observes its duration in a sampled attempt.
void BindingCycles::ObserveCall(BindingCycle& cycle, framework::Code code) {
  if (cycle.call_began == Time{}) return;
  const Duration took = state_.stopwatch.Read() - std::exchange(cycle.call_began, {});
  const Point point = cycle.phase == BindingPhase::kPreBind ? Point::kPreBind : Point::kBind;
  if (!cycle.plugin.empty()) state_.metrics.ObservePlugin(point, cycle.plugin, code, took);
}

void BindingCycles::ObserveFailure(const BindingCycle& cycle, framework::Code code) {
  instruments::ProfileMetrics& metrics = *cycle.profile->metrics;
  const Time now = state_.stopwatch.Read();
  if (cycle.wait_began != Time{}) {
    metrics.ObservePermitWait(code, now - cycle.wait_began);
  } else if (cycle.phase == BindingPhase::kPreBind) {
    metrics.ObservePoint(Point::kPreBind, code, now - cycle.point_began);
  } else if (cycle.phase != BindingPhase::kPermit && !cycle.plugin.empty()) {
    metrics.ObservePoint(Point::kBind, code, now - cycle.point_began);
  }
}

void BindingCycles::ObserveSuccess(const BindingCycle& cycle) {
  instruments::ProfileMetrics& metrics = *cycle.profile->metrics;
  instruments::CycleCells& cycles = state_.metrics.cycles;
  const queue::QueuedPodInfo& queued = cycle.queued;
  const Time now = state_.stopwatch.Read();
  // The Bind point is for plugins; an extender's binding is not observed.
  if (!cycle.plugin.empty()) metrics.ObservePoint(Point::kBind, framework::Code::kSuccess, now - cycle.point_began);
  metrics.ObserveAttempt(instruments::AttemptResult::kScheduled, now - queued.attempt_began);
  cycles.ObserveBound(queued.attempts, now - queued.initial_attempt_timestamp.value_or(now));
  if (queued.flushed_from != nullptr) {
    cycles.bound_after_flush.Add();
    ObserveRescue(queued);
  }
}

// The pod was woken by the flush and fits: a change made it schedulable, but no event that its refusing plugins had
// registered for woke it.
void BindingCycles::ObserveRescue(const queue::QueuedPodInfo& queued) {
  ++state_.counts.rescued_by_flush;
  // In a core that answers questions time goes by at once, and not everything changes that would in a cluster.
  if (state_.options.metrics == nullptr) return;
  const std::string refusers = state_.queue.DescribeRescue(queued, state_.now);
  if (refusers.empty()) return;
  log::Warning("scheduler", "Pod fits, and waited for the flush after five minutes: no event had woken it",
               {{"pod", queued.pod->Key()}, {"refusedBy", refusers}});
}

void BindingCycles::Finish(BindingCycle& cycle) {
  const PodInfoPtr pod = cycle.assumed;
  const Profile& profile = *cycle.profile;
  ++state_.counts.scheduled;
  const bool is_sampled = cycle.queued.is_sampled;
  const TraceFocus focus(state_, profile, *pod, is_sampled);
  ObserveSuccess(cycle);
  LogBound(state_, cycle);
  if (is_sampled) TraceAttemptEnd(state_, &profile, cycle.queued, {"scheduled", {}, pod->node_name});
  table_.RecordBound(cycle);
  std::string note;
  note.reserve(32 + pod->namespace_name().size() + pod->name.size() + pod->node_name.size());
  note.append("Successfully assigned ").append(pod->namespace_name()).append("/").append(pod->name);
  note.append(" to ").append(pod->node_name);
  state_.outputs.AddEvent(profile.scheduler_name(), *pod, false, "Scheduled", "Binding", std::move(note));
  if (!HasItsNode(cycle)) {
    // The API server does not check that a node exists. Without this event nobody would learn that the pod runs
    // nowhere.
    state_.outputs.AddEvent(
        profile.scheduler_name(), *pod, true, "NodeNotFound", "Binding",
        "node \"" + pod->node_name +
            "\" was deleted while the pod was being bound to it: the pod runs nowhere until it is deleted");
    log::Warning("scheduler", "Pod is bound to a node that was deleted meanwhile",
                 {{"pod", pod->Key()}, {"node", pod->node_name}});
  }
  table_.Recycle(table_.Take(cycle));
  ActivateThrottled(pod->namespace_name());
  PointTiming timing(state_, profile);
  for (framework::PostBindPlugin* plugin : profile.plugins->post_bind) {
    // PostBind is informational: nothing waits for it, and a failure changes nothing.
    const CallTiming call(state_, is_sampled);
    Operation operation = GuardedOperation([&] { return plugin->PostBind(*pod); });
    call.End(Point::kPostBind, plugin->Name(), framework::Code::kSuccess);
    if (!operation.status.IsSuccess()) LogFailure("PostBind", plugin->Name(), *pod, operation.status);
    background_.Start(std::move(operation), state_.now);
  }
  timing.End(Point::kPostBind, profile.plugins->post_bind);
  if (is_sampled) TraceEnd(state_, pod->uid, "bound", pod->node_name);
}

// Ends the cycle and puts the pod back into the queue. A pod that waited at Permit was in flight until now, so that the
// events since its Pop are checked against it. An empty `point` means that the status is not a plugin's own failure.
void BindingCycles::Fail(BindingCycle& cycle, const Status& status, std::string_view point, std::string_view plugin) {
  const std::unique_ptr<BindingCycle> taken = table_.Take(cycle);
  const Profile& profile = *cycle.profile;
  const PodInfoPtr assumed = cycle.assumed;
  const bool is_permit = cycle.phase == BindingPhase::kPermit && point.empty();
  const TraceFocus focus(state_, profile, *assumed, cycle.queued.is_sampled);
  ObserveFailure(cycle, status.code());
  Unreserve(state_, profile, *assumed);
  SchedulingFailure failure;
  failure.nomination.is_set = true;
  failure.is_refusal = status.IsRejected();
  if (is_permit && status.IsRejected()) {
    failure.message = "0/1 nodes are available: 1 " + status.Message() + ".";
    failure.unschedulable_plugins.insert(std::string(plugin));
  } else {
    failure.message =
        point.empty() || status.IsRejected() ? status.Message() : RunningPlugin(point, plugin, status.Message());
  }
  const queue::EventSource source{.old_pod = assumed};
  // Other pods may use the room now. A refused pod must not be woken by its own removal.
  if (!failure.is_refusal) state_.queue.Move(kAssignedPodDeleted, source, state_.now);
  const bool is_refusal = failure.is_refusal;
  HandleSchedulingFailure(state_, profile, std::move(cycle.queued), std::move(failure));
  ActivateThrottled(assumed->namespace_name());
  if (is_refusal) state_.queue.Move(kAssignedPodDeleted, source, state_.now, {std::nullopt, assumed->uid});
}

void BindingCycles::FailForLostNode(BindingCycle& cycle) {
  Fail(cycle, Status::Error("node \"" + cycle.assumed->node_name + "\" was deleted before the pod was bound to it"), {},
       {});
}

// The pod is gone, or no longer ours to bind.
void BindingCycles::Drop(BindingCycle& cycle) {
  const PodInfoPtr pod = cycle.assumed;
  const Profile& profile = *cycle.profile;
  if (cycle.queued.is_sampled) {
    TraceAttemptEnd(state_, &profile, cycle.queued, {"dropped", {}, pod->node_name});
    TraceEnd(state_, pod->uid, "dropped");
  }
  state_.queue.Done(cycle.queued);
  table_.Recycle(table_.Take(cycle));
  Unreserve(state_, profile, *pod);
  state_.queue.Move(kAssignedPodDeleted, {.old_pod = pod}, state_.now);
  ActivateThrottled(pod->namespace_name());
}

// Whether the chosen node still exists. It usually still has its row.
bool BindingCycles::HasItsNode(const BindingCycle& cycle) const {
  const cache::ColumnNodeTable& nodes = state_.cache.nodes();
  const std::string& name = cycle.assumed->node_name;
  if (cycle.row < nodes.row_count()) {
    const framework::NodeInfo& info = nodes.Info(cycle.row);
    if (info.has_node() && info.name() == name) return true;
  }
  return nodes.Find(name) != framework::kNoNode;
}

}  // namespace berth::scheduler
