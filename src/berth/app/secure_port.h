// SPDX-License-Identifier: Apache-2.0
// The secure port of `berth run`: joins serving, which knows nothing of the scheduler, with what there is to show.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "berth/app/connection.h"
#include "berth/app/kube_scheduler_options.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/runner/scheduler_shell.h"
#include "berth/shell/serving/secure_server.h"

namespace berth::app {

// What is shown, by functions that may be called on any thread. Those that are empty leave their paths out.
struct SecurePortSources {
  // Fails when this process leads and has not renewed its lease for too long; nullopt: without leader election.
  std::optional<serving::HealthCheck> leader_election;
  std::function<bool()> is_leader;  // empty: without leader election
  std::function<bool()> is_ending;  // SIGTERM has come
  std::function<std::string()> metrics_text;
  std::function<void()> reset_metrics;
  std::function<std::string()> config_json;
  std::function<std::map<std::string, std::string>()> flags;
  bool is_profiling_enabled = true;
  bool has_status_page = true;  // /statusz
};

// A turn of the core, or of the event loop, that takes longer means that the process is stuck.
inline constexpr Duration kStuckAfter = std::chrono::minutes(1);

// Serves until it is destroyed; null with port 0. `shell`, `connection` and `clock` must outlive it, and what the
// sources rest on. Errors are one line.
Expected<std::unique_ptr<serving::SecureServer>> ServeSecurePort(
    const KubeSchedulerOptions& flags, SecurePortSources sources, const runner::SchedulerShell& shell,
    Connection& connection, const ConnectionOptions& connection_options, const Clock& clock, std::uint64_t seed);

}  // namespace berth::app
