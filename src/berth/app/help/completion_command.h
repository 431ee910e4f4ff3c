// SPDX-License-Identifier: Apache-2.0
// `berth completion bash|zsh|fish`: the script that makes the shell ask `berth __complete`, and that command, which is
// hidden. kubectl asks it too, under the name kubectl_complete-berth.
#pragma once

#include <span>
#include <string>

#include "berth/shell/cli/command.h"

namespace berth::app {

class Commands;

void AddCompletionCommand(Commands& commands);

// Prints what may stand in place of the last of `words`, which follow the program's name.
int RunComplete(const cli::Command& program, std::span<const std::string> words);

}  // namespace berth::app
