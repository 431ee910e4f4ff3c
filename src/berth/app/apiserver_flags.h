// SPDX-License-Identifier: Apache-2.0
// The flags of `berth apiserver`.
#pragma once

#include "berth/app/apiserver_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand, which sets the other arguments; all of them must outlive the parsing.
CLI::App* AddApiServerCommand(CLI::App& app, ApiServerCommandOptions& options, int& verbosity);

}  // namespace berth::app
