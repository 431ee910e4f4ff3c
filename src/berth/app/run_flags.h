// SPDX-License-Identifier: Apache-2.0
// The flags of `berth run`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/run_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand, which sets the other arguments; all of them must outlive the parsing.
CLI::App* AddRunCommand(CLI::App& app, RunOptions& options, std::optional<std::string>& plugin_directory,
                        int& verbosity);

}  // namespace berth::app
