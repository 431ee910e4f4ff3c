// SPDX-License-Identifier: Apache-2.0
// The flags of `berth explain`.
#pragma once

#include <optional>
#include <string>

#include "berth/app/explain_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments, which must outlive it.
CLI::App* AddExplainCommand(CLI::App& app, ExplainOptions& options, std::optional<std::string>& plugin_directory);

}  // namespace berth::app
