// SPDX-License-Identifier: Apache-2.0
// The flags of `berth apiserver`.
#pragma once

#include "berth/app/apiserver_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all arguments must outlive it.
CLI::App* AddApiServerCommand(CLI::App& app, ApiServerCommandOptions& options, int& verbosity);

}  // namespace berth::app
