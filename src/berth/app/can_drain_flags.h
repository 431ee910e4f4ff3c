// SPDX-License-Identifier: Apache-2.0
// The flags of `berth can-drain`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/can_drain_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all of them must outlive it.
CLI::App* AddCanDrainCommand(CLI::App& app, CanDrainOptions& options, std::optional<std::string>& plugin_directory);

}  // namespace berth::app
