// SPDX-License-Identifier: Apache-2.0
// The flags of leader election, with kube-scheduler's names and meaning: those that are given override the file.
#pragma once

#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/core/config/types.h"

namespace CLI {
class App;
}

namespace berth::app {

struct LeaderElectionFlags {
  std::optional<bool> leader_elect;
  std::optional<Duration> lease_duration;
  std::optional<Duration> renew_deadline;
  std::optional<Duration> retry_period;
  std::optional<std::string> resource_lock;
  std::optional<std::string> resource_name;
  std::optional<std::string> resource_namespace;
};

// `flags` must outlive the parsing.
void AddLeaderElection(CLI::App& command, LeaderElectionFlags& flags);

void ApplyTo(config::LeaderElection& settings, const LeaderElectionFlags& flags);

}  // namespace berth::app
