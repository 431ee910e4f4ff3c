// SPDX-License-Identifier: Apache-2.0
// `berth plugin` and its subcommands on the command line.
#pragma once

#include <optional>
#include <string>

#include "berth/app/plugin_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// `options` is filled while the command line is parsed.
CLI::App* AddPluginCommand(CLI::App& app, PluginOptions& options, std::optional<std::string>& plugin_directory);

}  // namespace berth::app
