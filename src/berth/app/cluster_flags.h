// SPDX-License-Identifier: Apache-2.0
// The flags of `berth cluster`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/cluster_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all arguments must outlive it.
CLI::App* AddClusterCommand(CLI::App& app, ClusterCommandOptions& options, std::optional<std::string>& plugin_directory,
                            int& verbosity);

}  // namespace berth::app
