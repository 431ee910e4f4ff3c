// SPDX-License-Identifier: Apache-2.0
// `berth rebalance run`: a controller that moves pods as a DeschedulerPolicy says, each only to a place that was proved
// for its replacement, beside any scheduler. Returns the exit status; a failure is one line on standard error. Call it
// once per process, on the main thread, after cli::BlockSignals().
#pragma once

#include <string>

#include "berth/app/connection.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/rebalance/controller.h"

namespace berth::app {

struct RebalanceRunOptions {
  ConnectionOptions connection;
  std::string policy;  // the DeschedulerPolicy's file
  std::string config;  // KubeSchedulerConfiguration's file; empty: the defaults
  rebalance::ControllerOptions controller;
  config::LeaderElection election;   // its namespace and name are those of the ledger, too
  std::string metrics_bind_address;  // empty: none are served
};

int RunRebalance(const RebalanceRunOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
