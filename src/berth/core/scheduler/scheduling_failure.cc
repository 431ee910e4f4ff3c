// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/scheduling_failure.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/base/text_hash.h"
#include "berth/base/utf8.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/attempt_log.h"
#include "berth/core/scheduler/attempt_timing.h"
#include "berth/core/scheduler/bookings.h"
#include "berth/core/scheduler/nomination_moves.h"
#include "berth/core/scheduler/plugin_errors.h"

namespace berth::scheduler {

using framework::PodInfo;
using framework::PodInfoPtr;

void Unreserve(CoreState& state, const Profile& profile, const PodInfo& assumed) {
  const auto& reserve = profile.plugins->reserve;
  state.stopwatch.Read();
  PointTiming timing(state, profile);
  for (auto it = reserve.rbegin(); it != reserve.rend(); ++it) {
    const framework::Status failed = runtime::GuardedCall([&] { (*it)->Unreserve(assumed, assumed.node_name); });
    if (!failed.IsSuccess()) LogFailure("Unreserve", (*it)->Name(), assumed, failed);
  }
  timing.End(instruments::Point::kUnreserve, reserve);
  if (state.cache.IsAssumed(assumed.uid)) state.cache.ForgetPod(assumed.uid);
}

// Never 0, which stands for "nothing written".
std::size_t HashOfNomination(std::string_view node_name) { return HashText(node_name) | 1; }

namespace {

// An API server accepts objects up to 1.5 MB in total, and the pod may already be that large. Berth's own messages are
// shorter.
constexpr std::size_t kMessageBytesMax = std::size_t{64} << 10;

void CutMessage(std::string& message) {
  if (message.size() <= kMessageBytesMax) return;
  message.resize(CutUtf8(message, kMessageBytesMax).size());
  message += " ... (cut)";
}

std::size_t HashOfCondition(std::string_view reason, std::string_view message) {
  return HashText(reason) * 31 + HashText(message);
}

// The write that reports the failure; empty when the object says it already. The object may look up to date only
// because an earlier write with other content has not come back yet: `queued` holds what was written last.
framework::PodStatusWrite StatusWriteOf(const PodInfo& pod, const SchedulingFailure& failure, std::string_view reason,
                                        queue::QueuedPodInfo& queued) {
  framework::PodStatusWrite write;
  const api::PodCondition* old = pod.scheduled_condition.get();
  const std::size_t hash = HashOfCondition(reason, failure.message);
  write.has_condition = old == nullptr || old->status != "False" || old->reason != reason ||
                        old->message != failure.message ||
                        (queued.last_written.condition != 0 && queued.last_written.condition != hash);
  queued.last_written.condition = hash;  // the object says it, if it is not written now
  const std::size_t nomination = HashOfNomination(failure.nomination.node_name);
  write.has_nomination = failure.nomination.is_set &&
                         (failure.nomination.node_name != pod.nominated_node_name ||
                          (queued.last_written.nomination != 0 && queued.last_written.nomination != nomination));
  if (write.has_nomination) queued.last_written.nomination = nomination;
  queued.last_written.was_repeated = false;
  if (!write.has_condition && !write.has_nomination) return write;
  write.pod = RefOf(pod);
  if (write.has_condition) {
    write.condition_type = "PodScheduled";
    write.condition_status = "False";
    write.condition_reason = reason;
    write.condition_message = failure.message;
    write.is_transition = old == nullptr || old->status != "False";
    write.observed_generation = pod.generation;
  }
  write.nominated_node_name = failure.nomination.node_name;
  return write;
}

}  // namespace

bool WriteSchedulerError(CoreState& state, const PodInfo& pod, const std::string& message) {
  SchedulingFailure failure;
  failure.message = message;
  queue::QueuedPodInfo never_tried;
  framework::PodStatusWrite write = StatusWriteOf(pod, failure, "SchedulerError", never_tried);
  if (!write.has_condition) return false;
  state.outputs.AddWrite(state.outputs.NewOperation(), std::move(write));
  return true;
}

void RepeatOverwrittenStatus(CoreState& state, const PodInfo& before, const PodInfo& pod) {
  const api::PodCondition* const old = before.scheduled_condition.get();
  const api::PodCondition* const now = pod.scheduled_condition.get();
  if (old == nullptr || now == nullptr || old->status != "False" || now->status != "False") return;
  queue::LastWrittenStatus* const last_written = state.queue.FindLastWritten(pod.uid);
  if (last_written == nullptr || last_written->condition == 0 || last_written->was_repeated) return;
  if (HashOfCondition(old->reason, old->message) != last_written->condition) return;
  if (HashOfCondition(now->reason, now->message) == last_written->condition) return;
  last_written->was_repeated = true;
  framework::PodStatusWrite write;
  write.pod = RefOf(pod);
  write.has_condition = true;
  write.condition_type = "PodScheduled";
  write.condition_status = "False";
  write.condition_reason = old->reason;
  write.condition_message = old->message;
  write.is_transition = false;
  write.observed_generation = pod.generation;
  // The older write may have changed the nomination as well. A nomination that changes without the condition is
  // somebody else's request.
  write.has_nomination = last_written->nomination != 0 &&
                         last_written->nomination == HashOfNomination(before.nominated_node_name) &&
                         before.nominated_node_name != pod.nominated_node_name;
  if (write.has_nomination) write.nominated_node_name = before.nominated_node_name;
  state.outputs.AddWrite(state.outputs.NewOperation(), std::move(write));
}

void HandleSchedulingFailure(CoreState& state, const Profile& profile, queue::QueuedPodInfo&& queued,
                             SchedulingFailure&& failure) {
  const PodInfoPtr pod = queued.pod;
  CutMessage(failure.message);
  LogFailedAttempt(state, *pod, failure);
  if (!failure.is_put_off) {
    ++(failure.is_refusal ? state.counts.unschedulable : state.counts.errors);
    using enum instruments::AttemptResult;
    profile.metrics->ObserveAttempt(failure.is_refusal ? kUnschedulable : kError,
                                    state.stopwatch.Read() - queued.attempt_began);
  }
  const std::string_view reason = failure.is_refusal ? "Unschedulable" : "SchedulerError";
  framework::PodStatusWrite write;
  if (!failure.is_silent) write = StatusWriteOf(*pod, failure, reason, queued);
  state.queue.AddUnschedulable(std::move(queued), failure.unschedulable_plugins, failure.pending_plugins, state.now);
  const std::string node_before(state.queue.nominator().NominatedNode(pod->uid));
  if (failure.nomination.is_set) {
    state.queue.nominator().AddNominatedPod(pod, failure.nomination.node_name);
  } else {
    // Uses the object's nomination: as in upstream's Update, changes to a pod in flight did not reach the nominator,
    // and one of them may have withdrawn the nomination.
    state.queue.nominator().AddNominatedPod(pod);
  }
  // If the object has the nomination, its next update wakes other pods. A nomination that has not been written yet ends
  // here.
  if (!node_before.empty() && node_before != pod->nominated_node_name &&
      node_before != state.queue.nominator().NominatedNode(pod->uid)) {
    MoveForNomination(state, *pod, node_before);
  }
  if (state.bookings != nullptr) {
    state.bookings->Close(pod->uid);
    state.bookings->PodWaits(pod->uid);
  }
  if (failure.is_silent) return;
  if (write.has_condition || write.has_nomination)
    state.outputs.AddWrite(state.outputs.NewOperation(), std::move(write));
  state.outputs.AddEvent(profile.scheduler_name(), *pod, true, "FailedScheduling", "Scheduling",
                         std::move(failure.message));
}

}  // namespace berth::scheduler
