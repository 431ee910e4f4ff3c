// SPDX-License-Identifier: Apache-2.0
// The flags of `berth rebalance`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/rebalance_command.h"
#include "berth/app/rebalance_run_command.h"

namespace CLI {
class App;
}

namespace berth::app {

struct RebalanceOptions {
  RebalancePlanOptions plan;
  RebalanceRunOptions run;
  bool is_run = false;  // else a plan is wanted
};

// Adds the subcommand. Parsing fills the other arguments; all of them must outlive it.
CLI::App* AddRebalanceCommand(CLI::App& app, RebalanceOptions& options, std::optional<std::string>& plugin_directory,
                              int& verbosity);

}  // namespace berth::app
