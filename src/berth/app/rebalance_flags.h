// SPDX-License-Identifier: Apache-2.0
// The flags of `berth rebalance`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/rebalance_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all of them must outlive it.
CLI::App* AddRebalanceCommand(CLI::App& app, RebalanceOptions& options, std::optional<std::string>& plugin_directory);

}  // namespace berth::app
