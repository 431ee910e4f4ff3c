// SPDX-License-Identifier: Apache-2.0
// The table of berth's commands. The help, `berth help`, completion and the message about an unknown command are made
// from it; a new command is one entry in commands.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/plugins/own_plugins.h"

namespace CLI {
class App;
}

namespace berth::app {

struct Command {
  const CLI::App* flags = nullptr;
  std::function<int(config::KnownPlugins)> run;  // the exit status
  bool ends_by_signal = false;                   // Ctrl-C may end it at once; of others, signals are blocked first
};

class Commands {
 public:
  // `program`: as the user calls it, "berth" or "kubectl berth".
  explicit Commands(const std::string& program);
  ~Commands();

  // Parsing it fills the options of one command, and verbosity() and plugin_directory().
  CLI::App& app() { return *app_; }
  // The command that was parsed. `run` is in the app for the help alone (main.cc).
  const Command& Parsed() const;

  int verbosity() const { return verbosity_; }
  const std::optional<std::string>& plugin_directory() const { return plugin_directory_; }

 private:
  std::unique_ptr<CLI::App> app_;
  int verbosity_ = 0;
  std::optional<std::string> plugin_directory_;
  std::vector<Command> commands_;
};

}  // namespace berth::app
