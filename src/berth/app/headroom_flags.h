// SPDX-License-Identifier: Apache-2.0
// The flags of `berth headroom`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/headroom_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all of them must outlive it.
CLI::App* AddHeadroomCommand(CLI::App& app, HeadroomCommandOptions& options,
                             std::optional<std::string>& plugin_directory);

}  // namespace berth::app
