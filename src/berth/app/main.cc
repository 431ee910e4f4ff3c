// SPDX-License-Identifier: Apache-2.0
// The command line: which subcommand is meant, and what it is run with. Flags are in NAME_flags.cc, what is done in
// NAME_command.cc.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "berth/app/apiserver_flags.h"
#include "berth/app/can_drain_flags.h"
#include "berth/app/capacity_flags.h"
#include "berth/app/command_line.h"
#include "berth/app/common_flags.h"
#include "berth/app/demo_flags.h"
#include "berth/app/explain_flags.h"
#include "berth/app/headroom_flags.h"
#include "berth/app/kubelets_flags.h"
#include "berth/app/plugin_flags.h"
#include "berth/app/price_flags.h"
#include "berth/app/run_flags.h"
#include "berth/app/shadow_flags.h"
#include "berth/app/simulate_flags.h"
#include "berth/app/snapshot_flags.h"
#include "berth/base/log_settings.h"
#include "berth/plugin.h"
#include "berth/plugins/own_plugins.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/plugin_files/plugin_loader.h"

namespace berth::app {
namespace {

// All that come with berth, those of the program and those of the directory.
Expected<std::vector<plugins::PluginRegistration>> AllPlugins(std::vector<PluginRegistration> of_program,
                                                              const std::optional<std::string>& directory) {
  std::vector<plugins::OwnPlugin> own;
  for (PluginRegistration& plugin : of_program) own.push_back({std::move(plugin), {}});
  if (directory) {
    BERTH_ASSIGN_OR_RETURN(std::vector<plugins::OwnPlugin> loaded, plugin_files::LoadPlugins(*directory));
    std::move(loaded.begin(), loaded.end(), std::back_inserter(own));
  }
  return plugins::AllPlugins(own);
}

// Where main begins when it is to schedule: the flags of `berth run`, or of kube-scheduler, when that is how it was
// called. They are read as kube-scheduler's users write them (cli::FlagSet), all other commands' by CLI11.
struct RunCall {
  bool is_kube_scheduler = false;
  std::vector<std::string> arguments;
};

std::optional<RunCall> RunArguments(int argc, char** argv) {
  RunCall call;
  std::string_view program = argc > 0 ? argv[0] : "";
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1: 0
  call.is_kube_scheduler = program == "kube-scheduler";
  call.arguments.assign(argv + std::min(argc, 1), argv + argc);
  if (call.is_kube_scheduler) return call;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string& argument = call.arguments[i];
    if (argument == "-h" || argument == "--help" || argument == "--version") return std::nullopt;
    if (argument == "-v" || argument == "--v") {
      ++i;
    } else if (!argument.starts_with('-')) {
      if (argument != "run") return std::nullopt;
      call.arguments.erase(call.arguments.begin() + static_cast<std::ptrdiff_t>(i));
      return call;
    }
  }
  return std::nullopt;
}

int Schedule(const RunCall& call, std::vector<PluginRegistration> plugins_of_program) {
  RunOptions options;
  options.is_kube_scheduler = call.is_kube_scheduler;
  std::optional<std::string> plugin_directory;
  if (const std::optional<int> status = ReadRunFlags(call.arguments, options, plugin_directory)) return *status;
  // Before signals are blocked and threads start: files of plugins are tried in child processes.
  const auto known_plugins = AllPlugins(std::move(plugins_of_program), plugin_directory);
  if (!known_plugins.ok()) return cli::FailWith(known_plugins.error(), cli::kExitUsage);
  cli::BlockSignals();
  const int status = RunOnCluster(options, *known_plugins);
  return call.is_kube_scheduler && status == cli::kExitUsage ? cli::kExitFailed : status;
}

int Main(int argc, char** argv, std::vector<PluginRegistration> plugins_of_program) {
  if (const auto run = RunArguments(argc, argv)) return Schedule(*run, std::move(plugins_of_program));
  CLI::App app{"berth: a drop-in Kubernetes scheduler", "berth"};
  app.set_version_flag("--version", std::string("berth " BERTH_VERSION));
  app.require_subcommand(1);
  int verbosity = 0;
  AddVerbosity(app, verbosity);
  std::optional<std::string> plugin_directory;

  app.add_subcommand("run", "schedule the pods of a cluster");  // for the help; see RunArguments
  ApiServerCommandOptions server;
  const CLI::App* server_command = AddApiServerCommand(app, server, verbosity);
  KubeletsOptions kubelets;
  const CLI::App* kubelets_command = AddKubeletsCommand(app, kubelets, verbosity);
  DemoOptions demo;
  AddDemoCommand(app, demo, plugin_directory);
  PluginOptions plugin;
  const CLI::App* plugin_command = AddPluginCommand(app, plugin, plugin_directory);
  ExplainOptions explain;
  const CLI::App* explain_command = AddExplainCommand(app, explain, plugin_directory);
  PriceOptions price;
  const CLI::App* price_command = AddPriceCommand(app, price);
  CapacityCommandOptions capacity;
  const CLI::App* capacity_command = AddCapacityCommand(app, capacity, plugin_directory);
  CanDrainOptions can_drain;
  const CLI::App* can_drain_command = AddCanDrainCommand(app, can_drain, plugin_directory);
  HeadroomCommandOptions headroom;
  const CLI::App* headroom_command = AddHeadroomCommand(app, headroom, plugin_directory);
  SimulateOptions simulate;
  const CLI::App* simulate_command = AddSimulateCommand(app, simulate, plugin_directory, verbosity);
  ShadowCommandOptions shadow;
  const CLI::App* shadow_command = AddShadowCommand(app, shadow, plugin_directory, verbosity);
  SnapshotOptions snapshot;
  const CLI::App* snapshot_command = AddSnapshotCommand(app, snapshot);

  try {
    app.parse(NormalizedArguments(argc, argv));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "berth: %s (berth --help lists commands and flags)\n",
                 cli::Printable(Explain(app, error)).c_str());
    return cli::kExitUsage;
  }
  log::Configure({log::Format::kText, verbosity, {}});
  // Before signals are blocked and threads start: files of plugins are tried in child processes.
  const auto known_plugins = AllPlugins(std::move(plugins_of_program), plugin_directory);
  if (!known_plugins.ok()) return cli::FailWith(known_plugins.error(), cli::kExitUsage);
  if (plugin_command->parsed()) return RunPlugin(plugin, *known_plugins);  // which Ctrl-C may end at once
  cli::BlockSignals();
  if (server_command->parsed()) return RunApiServer(server);
  if (kubelets_command->parsed()) return RunKubelets(kubelets);
  if (explain_command->parsed()) return RunExplain(explain, *known_plugins);
  if (price_command->parsed()) return RunPrice(price);
  if (capacity_command->parsed()) return RunCapacity(capacity, *known_plugins);
  if (can_drain_command->parsed()) return RunCanDrain(can_drain, *known_plugins);
  if (headroom_command->parsed()) return RunHeadroom(headroom, *known_plugins);
  if (simulate_command->parsed()) return RunSimulate(simulate, *known_plugins);
  if (shadow_command->parsed()) return RunShadow(shadow, *known_plugins);
  if (snapshot_command->parsed()) return RunSnapshot(snapshot);
  return RunDemo(demo, *known_plugins);
}

}  // namespace
}  // namespace berth::app

int berth::RunScheduler(int argc, char** argv, std::vector<PluginRegistration> plugins) {
  return app::Main(argc, argv, std::move(plugins));
}
