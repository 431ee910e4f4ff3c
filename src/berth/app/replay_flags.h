// SPDX-License-Identifier: Apache-2.0
// The flags of `berth replay`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/replay_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills `options` and the directory; all arguments must outlive it.
CLI::App* AddReplayCommand(CLI::App& app, ReplayOptions& options, std::optional<std::string>& plugin_directory);

}  // namespace berth::app
