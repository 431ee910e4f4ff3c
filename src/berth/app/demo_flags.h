// SPDX-License-Identifier: Apache-2.0
// The flags of `berth demo`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/demo_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all arguments must outlive it.
CLI::App* AddDemoCommand(CLI::App& app, DemoOptions& options, std::optional<std::string>& plugin_directory);

}  // namespace berth::app
