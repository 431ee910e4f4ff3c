// SPDX-License-Identifier: Apache-2.0
// The flags of `berth kubelets`.
#pragma once

#include "berth/app/kubelets_command.h"

namespace CLI {
class App;
}

namespace berth::app {

// Adds the subcommand. Parsing fills the other arguments; all arguments must outlive it.
CLI::App* AddKubeletsCommand(CLI::App& app, KubeletsOptions& options, int& verbosity);

}  // namespace berth::app
