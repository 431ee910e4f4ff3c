// SPDX-License-Identifier: Apache-2.0
// `berth rebalance run`: a controller that moves pods as a DeschedulerPolicy says, each only to a place that was proved
// for its replacement, beside any scheduler.
#pragma once

#include "berth/shell/cli/command.h"

namespace berth::app {

class Commands;

void AddRebalanceRunCommand(Commands& commands, cli::Command& rebalance);

}  // namespace berth::app
