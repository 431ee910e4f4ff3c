// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/attempt_trace.h"

#include "berth/core/instruments/pod_traces.h"

namespace berth::scheduler {

void TraceFocus::Begin(CoreState& state, const Profile& profile, const framework::PodInfo& pod) {
  if (!state.metrics.traces->BeginFocus(pod.uid)) return;
  state_ = &state;
  metrics_ = profile.metrics.get();
  metrics_->NoteIn(state.metrics.traces);
}

void TraceFocus::End() {
  metrics_->NoteIn(nullptr);
  state_->metrics.traces->EndFocus();
}

void TraceAttemptEnd(CoreState& state, const Profile* profile, const queue::QueuedPodInfo& queued,
                     const AttemptOutcome& outcome) {
  if (state.metrics.traces == nullptr) return;
  instruments::AttemptEnd end;
  end.result = outcome.result;
  end.message = outcome.message;
  end.node_name = outcome.node_name;
  if (profile != nullptr) end.profile = profile->scheduler_name();
  end.began = queued.attempt_began;
  end.number = queued.attempts;
  state.metrics.traces->EndAttempt(queued.pod->uid, end);
}

void TraceEnd(CoreState& state, std::string_view uid, std::string_view result, std::string_view node_name) {
  if (state.metrics.traces != nullptr) state.metrics.traces->End(uid, result, node_name);
}

void TraceOperation(CoreState& state, std::string_view uid, std::uint64_t operation, bool is_in_point) {
  if (state.metrics.traces != nullptr) state.metrics.traces->AddOperation(uid, operation, is_in_point);
}

}  // namespace berth::scheduler
