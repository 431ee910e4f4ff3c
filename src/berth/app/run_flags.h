// SPDX-License-Identifier: Apache-2.0
// The command line of `berth run`, and of the program when it is called as kube-scheduler: kube-scheduler's flags, and
// berth's own in a group of theirs.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "berth/app/run_command.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {

// The flags of both; `options` and `plugin_directory` must outlive the parsing.
void AddRunFlags(cli::FlagSet& flags, RunOptions& options, std::optional<std::string>& plugin_directory);

// Reads and checks the command line (without the program's name and "run"), and sets up the log. The exit status when
// that is all there is to do: help or the version was asked for, or something is wrong, which it says in one line.
std::optional<int> ReadRunFlags(std::span<const std::string> arguments, RunOptions& options,
                                std::optional<std::string>& plugin_directory);

}  // namespace berth::app
