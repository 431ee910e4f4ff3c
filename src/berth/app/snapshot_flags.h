// SPDX-License-Identifier: Apache-2.0
// The flags of `berth snapshot`.
#pragma once

#include "berth/app/snapshot_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills `options`; both arguments must outlive it.
CLI::App* AddSnapshotCommand(CLI::App& app, SnapshotOptions& options);

}  // namespace berth::app
