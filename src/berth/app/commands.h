// SPDX-License-Identifier: Apache-2.0
// The table of berth's commands. The help, `berth help`, completion and the message about an unknown command are made
// from it. A new command is a function AddXCommand() in a file of its own, which commands.cc calls.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/app/run/run_command.h"
#include "berth/plugins/own_plugins.h"
#include "berth/shell/cli/command.h"

namespace berth::app {

struct CommandAction {
  std::function<int(config::KnownPlugins)> run;  // the exit status
  bool ends_by_signal = false;                   // Ctrl-C may end it at once; of others, signals are blocked first
};

class Commands {
 public:
  // `program`: as the user calls it, "berth" or "kubectl berth".
  explicit Commands(const std::string& program);

  // A subcommand of the program, with the flag --help.
  cli::Command& Add(std::string_view name, std::string_view description, CommandAction action);
  // What a subcommand of a subcommand does.
  void Set(const cli::Command& command, CommandAction action) { actions_[&command] = std::move(action); }

  // Reading a command line fills verbosity(), plugin_directory() and the options of one command. `run` is there for the
  // help and completion alone (main.cc).
  cli::Command& program() { return program_; }
  // Of the command or of one above it.
  const CommandAction& ActionOf(const cli::Command& command) const;

  int& verbosity() { return verbosity_; }
  std::optional<std::string>& plugin_directory() { return plugin_directory_; }

 private:
  cli::Command program_;
  int verbosity_ = 0;
  std::optional<std::string> plugin_directory_;
  RunOptions unused_run_options_;  // targets of the flags of `run`
  std::map<const cli::Command*, CommandAction> actions_;
};

}  // namespace berth::app
