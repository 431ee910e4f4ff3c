// SPDX-License-Identifier: Apache-2.0
// What happens to a pod that was not placed: Unreserve, condition, event, back into the queue. Within turns only; it
// starts no operation.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// How a failed attempt changes the pod's nomination.
struct NominationChange {
  bool is_set = false;
  std::string node_name;
};

struct SchedulingFailure {
  bool is_refusal = false;  // the condition's reason is Unschedulable; otherwise SchedulerError
  bool is_silent = false;   // writes neither condition nor event
  bool is_put_off = false;  // nothing was tried, so that this does not count as an attempt
  std::string message;
  std::set<std::string> unschedulable_plugins;
  std::set<std::string> pending_plugins;
  NominationChange nomination;
};

// For LastWrittenStatus::nomination. The node's name may be empty.
std::size_t HashOfNomination(std::string_view node_name);

// Calls Unreserve of the Reserve plugins in reverse order, and ends the pod's assumption.
void Unreserve(CoreState& state, const Profile& profile, const framework::PodInfo& assumed);

// Writes the condition that the pod is not scheduled because of this error. Returns false if the condition says so
// already.
bool WriteSchedulerError(CoreState& state, const framework::PodInfo& pod, const std::string& message);

// Called when a waiting pod's object has changed. If the condition was the one written last and now differs, an older
// write has overtaken it: from a process that died, or one whose answer was given up. The condition is written again,
// at most once an attempt, so that two writers do not fight forever. Upstream leaves it until the next attempt.
void RepeatOverwrittenStatus(CoreState& state, const framework::PodInfo& before, const framework::PodInfo& pod);

// Upstream: handleSchedulingFailure. `queued.pod` must be the pod's newest object.
void HandleSchedulingFailure(CoreState& state, const Profile& profile, queue::QueuedPodInfo&& queued,
                             SchedulingFailure&& failure);

}  // namespace berth::scheduler
