// SPDX-License-Identifier: Apache-2.0
// What leader election (shell/runner/leader_election.h) takes from the operating system, for the commands that write:
// an identity, and the end of the process when the lease is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "berth/core/config/types.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/runner/leader_election.h"

namespace berth::app {

// LeaderElection::Prepare() with an identity of its own. When the lease is lost the log says so and WaitForSignal
// returns: the process must then end with EndWithLostLease(). On the main thread.
void PrepareElection(runner::LeaderElection& election, const config::LeaderElection& settings,
                     const std::string& component, std::uint64_t seed, client::RestClient& rest,
                     std::function<void()> on_leading);

// Ends the process at once with status 1, as upstream's does, the log having said why: writes that still wait in it
// must not be sent.
[[noreturn]] void EndWithLostLease();

}  // namespace berth::app
