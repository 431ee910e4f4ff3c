// SPDX-License-Identifier: Apache-2.0
// The flags of `berth shadow`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/shadow_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Parsing fills all three, which must outlive it.
CLI::App* AddShadowCommand(CLI::App& app, ShadowCommandOptions& options, std::optional<std::string>& plugin_directory,
                           int& verbosity);

}  // namespace berth::app
