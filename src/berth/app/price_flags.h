// SPDX-License-Identifier: Apache-2.0
// The flags of `berth price`.
#pragma once

#include "berth/app/price_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand with its own subcommands. Parsing fills `options`; both arguments must outlive it.
CLI::App* AddPriceCommand(CLI::App& app, PriceOptions& options);

}  // namespace berth::app
