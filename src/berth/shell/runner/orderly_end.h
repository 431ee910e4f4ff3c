// SPDX-License-Identifier: Apache-2.0
// EndInOrder: how a process that schedules ends when it is told to: what ends first, how long each part may take, and
// whether the lease is given back.
#pragma once

#include <functional>

#include "berth/base/time.h"
#include "berth/shell/runner/leader_election.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::runner {

// A process that is told to end waits so many seconds for bindings under way, and then a little for events.
inline constexpr int kShutdownGraceSeconds = 5;

struct EndingProcess {
  SchedulerShell& shell;
  LeaderElection* election = nullptr;  // after Start(); null: there is none
  // What else decides and writes in this process: ends it, and says afterwards whether all that it has sent is settled.
  // Empty: nothing.
  std::function<void()> end_others = {};
  std::function<bool()> are_others_settled = {};
};

// 1. A standby withdraws. A leader goes on renewing, so that what is under way may still be sent.
// 2. Nothing more is decided; bindings under way get `grace` to be settled.
// 3. A leader gives the lease back, if nothing that was sent may still take effect. Else it closes the fence and leaves
//    the lease to run out: the next leader lists what arrived late.
// Not on the event loop's thread, which must still run.
void EndInOrder(const EndingProcess& process, Duration grace = std::chrono::seconds(kShutdownGraceSeconds));

}  // namespace berth::runner
