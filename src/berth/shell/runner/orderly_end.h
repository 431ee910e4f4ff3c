// SPDX-License-Identifier: Apache-2.0
// EndInOrder: ends a scheduler process in order after SIGTERM: what ends first, how long each part may take, and
// whether the lease is given back.
#pragma once

#include <functional>

#include "berth/base/time.h"
#include "berth/shell/runner/leader_election.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::runner {

// How long an ending process waits for bindings under way. After that it waits a little for events.
inline constexpr int kShutdownGraceSeconds = 5;

struct EndingProcess {
  SchedulerShell& shell;
  LeaderElection* election = nullptr;  // after Start(); null: there is none
  // Ends other parts of the process that decide and write, and tells afterwards whether all their writes are settled.
  // Empty: there are none.
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
