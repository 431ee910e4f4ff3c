// SPDX-License-Identifier: Apache-2.0
// The command line: which subcommand is meant, and what it is run with. The table of commands is in commands.cc, flags
// and what is done are in NAME_command.cc.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/app/commands.h"
#include "berth/app/help/completion_command.h"
#include "berth/app/help/man_pages.h"
#include "berth/app/run/run_command.h"
#include "berth/app/run/run_flags.h"
#include "berth/base/log_settings.h"
#include "berth/base/version.h"
#include "berth/plugin.h"
#include "berth/plugins/own_plugins.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/plugin_files/plugin_loader.h"

namespace berth::app {
namespace {

// The name under which the program takes kube-scheduler's flags alone.
constexpr std::string_view kKubeScheduler = "kube-scheduler";

// What the program was called as, and what follows its name.
struct Call {
  std::string name;                    // of the file: "berth", "kubectl-berth"
  std::string program;                 // as the help calls it: "berth", "kubectl berth"
  std::vector<std::string> arguments;  // with `help COMMAND` as `COMMAND --help`
};

Call ReadCall(int argc, char** argv) {
  Call call;
  call.name = argc > 0 ? argv[0] : "";
  call.name.erase(0, call.name.rfind('/') + 1);  // npos + 1: 0
  call.program = call.name == "kubectl-berth" ? "kubectl berth" : "berth";
  call.arguments.assign(argv + std::min(argc, 1), argv + argc);
  if (call.name != kKubeScheduler && !call.arguments.empty() && call.arguments.front() == "help") {
    std::rotate(call.arguments.begin(), call.arguments.begin() + 1, call.arguments.end());
    call.arguments.back() = "--help";
  }
  return call;
}

// All that come with berth, those of the program and those of the directory.
Expected<std::vector<config::KnownPlugin>> AllPlugins(std::vector<PluginRegistration> of_program,
                                                      const std::optional<std::string>& directory) {
  std::vector<plugins::OwnPlugin> own;
  for (PluginRegistration& plugin : of_program) own.push_back({std::move(plugin), {}});
  if (directory) {
    BERTH_ASSIGN_OR_RETURN(std::vector<plugins::OwnPlugin> loaded, plugin_files::LoadPlugins(*directory));
    std::move(loaded.begin(), loaded.end(), std::back_inserter(own));
  }
  return plugins::AllPlugins(own);
}

// What follows `berth run`, or all of it, when the program is called kube-scheduler; nullopt: another command is meant.
// These flags are read as kube-scheduler's users write them (cli::FlagSet), all other commands' by cli::Command.
std::optional<std::vector<std::string>> RunArguments(const Call& call) {
  std::vector<std::string> arguments = call.arguments;
  if (call.name == kKubeScheduler) return arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--version") return std::nullopt;
    if (argument == "-v" || argument == "--v") {
      ++i;
    } else if (!argument.starts_with('-')) {
      if (argument != "run") return std::nullopt;
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      return arguments;
    }
  }
  return std::nullopt;
}

int Schedule(const Call& call, const std::vector<std::string>& arguments,
             std::vector<PluginRegistration> plugins_of_program) {
  RunOptions options;
  options.is_kube_scheduler = call.name == kKubeScheduler;
  options.program = options.is_kube_scheduler ? std::string(kKubeScheduler) : call.program + " run";
  std::optional<std::string> plugin_directory;
  if (const std::optional<int> status = ReadRunFlags(arguments, options, plugin_directory)) return *status;
  // Before signals are blocked and threads start: files of plugins are tried in child processes.
  const auto known_plugins = AllPlugins(std::move(plugins_of_program), plugin_directory);
  if (!known_plugins.ok()) return FailRun(options, known_plugins.error(), cli::kExitUsage);
  options.plugin_directory = plugin_directory.value_or("");
  cli::BlockSignals();
  const int status = RunOnCluster(options, *known_plugins);
  return options.is_kube_scheduler && status == cli::kExitUsage ? cli::kExitFailed : status;
}

int Main(int argc, char** argv, std::vector<PluginRegistration> plugins_of_program) {
  const Call call = ReadCall(argc, argv);
  Commands commands(call.program);
  cli::Command& program = commands.program();
  if (call.name == "kubectl_complete-berth") return RunComplete(program, call.arguments);
  if (!call.arguments.empty() && call.arguments.front() == "__complete")
    return RunComplete(program, std::span(call.arguments).subspan(1));
  if (call.arguments.size() == 2 && call.arguments.front() == "__man")
    return WriteManPages(program, call.arguments.back());
  if (const auto run = RunArguments(call)) return Schedule(call, *run, std::move(plugins_of_program));

  const auto line = program.Read(call.arguments);
  if (!line.ok()) {
    std::fprintf(stderr, "berth: %s (%s --help lists commands and flags)\n",
                 cli::Printable(line.error().message).c_str(), call.program.c_str());
    return cli::kExitUsage;
  }
  if (line->wish != cli::Command::Wish::kRun) {
    const bool is_version = line->wish == cli::Command::Wish::kVersion;
    std::printf("%s", (is_version ? "berth " + std::string(Version()) + "\n" : line->command->Help()).c_str());
    return cli::kExitOk;
  }
  log::Configure({log::Format::kText, commands.verbosity(), {}});
  // Before signals are blocked and threads start: files of plugins are tried in child processes.
  const auto known_plugins = AllPlugins(std::move(plugins_of_program), commands.plugin_directory());
  if (!known_plugins.ok()) return cli::FailWith(known_plugins.error(), cli::kExitUsage);
  const CommandAction& action = commands.ActionOf(*line->command);
  if (!action.ends_by_signal) cli::BlockSignals();
  return action.run(*known_plugins);
}

}  // namespace
}  // namespace berth::app

int berth::RunScheduler(int argc, char** argv, std::vector<PluginRegistration> plugins) {
  return app::Main(argc, argv, std::move(plugins));
}
