// SPDX-License-Identifier: Apache-2.0
// The flags of `berth capacity`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/capacity_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all of them must outlive it.
CLI::App* AddCapacityCommand(CLI::App& app, CapacityCommandOptions& options,
                             std::optional<std::string>& plugin_directory);

}  // namespace berth::app
