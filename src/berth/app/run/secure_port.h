// SPDX-License-Identifier: Apache-2.0
// The secure port of `berth run`: gives the server in shell/serving, which knows nothing of the scheduler, its data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "berth/app/connection.h"
#include "berth/app/run/kube_scheduler_options.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/runner/scheduler_shell.h"
#include "berth/shell/serving/secure_server.h"

namespace berth::app {

// Functions that give the data. They may be called on any thread. If one is empty, its path does not exist.
struct SecurePortSources {
  // Fails if this process leads and has not renewed its lease for too long. nullopt: no leader election.
  std::optional<serving::HealthCheck> leader_election;
  std::function<bool()> is_leader;  // empty: no leader election
  std::function<bool()> is_ending;  // SIGTERM has come
  // As ServedState's.
  decltype(serving::ServedState::explain) explain;
  decltype(serving::ServedState::page) page;
  std::function<std::string()> metrics_text;
  std::function<void()> reset_metrics;
  std::function<std::string()> config_json;
  std::function<std::map<std::string, std::string>()> flags;
  bool is_profiling_enabled = true;
  bool has_status_page = true;  // /statusz
  bool ends_anonymous_http2 = true;
};

// If a turn of the core or a callback on the event loop takes longer, the process counts as stuck.
inline constexpr Duration kStuckAfter = std::chrono::minutes(1);

// The returned server serves until it is destroyed; null with port 0. `shell`, `connection`, `clock` and everything
// that the functions of `sources` use must outlive it. Errors are one line.
Expected<std::unique_ptr<serving::SecureServer>> ServeSecurePort(
    const KubeSchedulerOptions& flags, SecurePortSources sources, const runner::SchedulerShell& shell,
    Connection& connection, const ConnectionOptions& connection_options, const Clock& clock, std::uint64_t seed);

}  // namespace berth::app
