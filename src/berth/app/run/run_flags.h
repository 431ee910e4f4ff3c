// SPDX-License-Identifier: Apache-2.0
// The command line of `berth run`, and of the program under the name kube-scheduler: kube-scheduler's flags, and
// berth's own flags in a group of their own.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "berth/app/run/run_command.h"
#include "berth/base/error.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {

// Adds all of these flags. `options` and `plugin_directory` must outlive the parsing.
void AddRunFlags(cli::FlagSet& flags, RunOptions& options, std::optional<std::string>& plugin_directory);

// The version of Kubernetes that the program goes by, with its own behind it, or that of --version=v1.36.3-SUFFIX.
std::string ReportedVersion(const RunOptions& options, int release_minor);

// One line on standard error about what ended the program; in the log's format where it is kube-scheduler's, as there,
// or asked to be JSON. Returns the exit status: of kube-scheduler, whose users and scripts know 1 alone, that.
int FailRun(const RunOptions& options, const Error& error, cli::ExitCode status);

// Parses and checks the command line (without the program's name and "run"), and sets up the log. Returns an exit
// status if the program should end: after printing help or the version, or after one line about an error.
std::optional<int> ReadRunFlags(std::span<const std::string> arguments, RunOptions& options,
                                std::optional<std::string>& plugin_directory);

}  // namespace berth::app
