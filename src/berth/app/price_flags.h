// SPDX-License-Identifier: Apache-2.0
// The flags of `berth price`.
#pragma once

#include "berth/app/price_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand and its own subcommands, which set `options`. Both arguments must outlive the parsing.
CLI::App* AddPriceCommand(CLI::App& app, PriceOptions& options);

}  // namespace berth::app
