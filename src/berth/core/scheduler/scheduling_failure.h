// SPDX-License-Identifier: Apache-2.0
// What happens to a pod that was not placed: Unreserve, condition, event, back into the queue (behaviour
// inventory 2.8). Within turns only; it starts nothing.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// What an attempt's failure does to the pod's nomination.
struct NominationChange {
  bool is_set = false;
  std::string node_name;
};

struct SchedulingFailure {
  bool is_refusal = false;  // reason Unschedulable; else SchedulerError
  bool is_silent = false;   // neither condition nor event
  bool is_put_off = false;  // nothing was tried: this counts as no attempt
  std::string message;
  std::set<std::string> unschedulable_plugins;
  std::set<std::string> pending_plugins;
  NominationChange nomination;
};

// For StatusTold::nomination; the node's name may be empty.
std::size_t HashOfNomination(std::string_view node_name);

// Asks the Reserve plugins, the last one first, to give up what they hold for the pod, and ends its assumption.
void Unreserve(CoreState& state, const Profile& profile, const framework::PodInfo& assumed);

// The pod's condition says from now on that it is not scheduled because of this error. False: it did already.
bool WriteSchedulerError(CoreState& state, const framework::PodInfo& pod, const std::string& message);

// The waiting pod's object has changed. If its condition was the one that was written last, and says something else
// now, an older write has come behind: of a process that died, or one whose answer was given up for lost. It is written
// again, once an attempt, so that two writers do not go on for ever. Upstream leaves it until the next attempt.
void RepeatOverwrittenStatus(CoreState& state, const framework::PodInfo& before, const framework::PodInfo& pod);

// Upstream: handleSchedulingFailure. `queued.pod` is the pod's newest object.
void HandleSchedulingFailure(CoreState& state, const Profile& profile, queue::QueuedPodInfo&& queued,
                             SchedulingFailure&& failure);

}  // namespace berth::scheduler
