// SPDX-License-Identifier: Apache-2.0
#include "berth/app/commands.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>

#include "berth/app/apiserver_flags.h"
#include "berth/app/can_drain_flags.h"
#include "berth/app/capacity_flags.h"
#include "berth/app/cluster_flags.h"
#include "berth/app/common_flags.h"
#include "berth/app/completion_command.h"
#include "berth/app/demo_flags.h"
#include "berth/app/explain_flags.h"
#include "berth/app/headroom_flags.h"
#include "berth/app/kubelets_flags.h"
#include "berth/app/plugin_flags.h"
#include "berth/app/price_flags.h"
#include "berth/app/rebalance_flags.h"
#include "berth/app/replay_flags.h"
#include "berth/app/shadow_flags.h"
#include "berth/app/simulate_flags.h"
#include "berth/app/snapshot_flags.h"
#include "berth/app/version_command.h"
#include "berth/base/check.h"
#include "berth/shell/cli/exit_codes.h"

namespace berth::app {

using config::KnownPlugins;

Commands::Commands(const std::string& program)
    : app_(std::make_unique<CLI::App>("berth: a drop-in Kubernetes scheduler", program)) {
  CLI::App& app = *app_;
  app.set_version_flag("--version", std::string("berth " BERTH_VERSION));
  app.require_subcommand(1);
  AddVerbosity(app, verbosity_);
  const auto add = [this](const CLI::App* flags, std::function<int(KnownPlugins)> run) -> Command& {
    return commands_.emplace_back(Command{flags, std::move(run)});
  };

  app.add_subcommand("run", "schedule the pods of a cluster");
  const auto server = std::make_shared<ApiServerCommandOptions>();
  add(AddApiServerCommand(app, *server, verbosity_), [server](KnownPlugins) { return RunApiServer(*server); });
  const auto cluster = std::make_shared<ClusterCommandOptions>();
  add(AddClusterCommand(app, *cluster, plugin_directory_, verbosity_),
      [cluster](KnownPlugins known) { return RunCluster(*cluster, known); });
  const auto kubelets = std::make_shared<KubeletsOptions>();
  add(AddKubeletsCommand(app, *kubelets, verbosity_), [kubelets](KnownPlugins) { return RunKubelets(*kubelets); });
  const auto demo = std::make_shared<DemoOptions>();
  add(AddDemoCommand(app, *demo, plugin_directory_), [demo](KnownPlugins known) { return RunDemo(*demo, known); });
  const auto plugin = std::make_shared<PluginOptions>();
  add(AddPluginCommand(app, *plugin, plugin_directory_), [plugin](KnownPlugins known) {
    return RunPlugin(*plugin, known);
  }).ends_by_signal = true;
  const auto explain = std::make_shared<ExplainOptions>();
  add(AddExplainCommand(app, *explain, plugin_directory_),
      [explain](KnownPlugins known) { return RunExplain(*explain, known); });
  const auto price = std::make_shared<PriceOptions>();
  add(AddPriceCommand(app, *price), [price](KnownPlugins) { return RunPrice(*price); });
  const auto capacity = std::make_shared<CapacityCommandOptions>();
  add(AddCapacityCommand(app, *capacity, plugin_directory_),
      [capacity](KnownPlugins known) { return RunCapacity(*capacity, known); });
  const auto can_drain = std::make_shared<CanDrainOptions>();
  add(AddCanDrainCommand(app, *can_drain, plugin_directory_),
      [can_drain](KnownPlugins known) { return RunCanDrain(*can_drain, known); });
  const auto headroom = std::make_shared<HeadroomCommandOptions>();
  add(AddHeadroomCommand(app, *headroom, plugin_directory_),
      [headroom](KnownPlugins known) { return RunHeadroom(*headroom, known); });
  const auto rebalance = std::make_shared<RebalanceOptions>();
  add(AddRebalanceCommand(app, *rebalance, plugin_directory_, verbosity_), [rebalance](KnownPlugins known) {
    return rebalance->is_run ? RunRebalance(rebalance->run, known) : RunRebalancePlan(rebalance->plan, known);
  });
  const auto simulate = std::make_shared<SimulateOptions>();
  add(AddSimulateCommand(app, *simulate, plugin_directory_, verbosity_),
      [simulate](KnownPlugins known) { return RunSimulate(*simulate, known); });
  const auto replay = std::make_shared<ReplayOptions>();
  add(AddReplayCommand(app, *replay, plugin_directory_),
      [replay](KnownPlugins known) { return RunReplay(*replay, known); });
  const auto shadow = std::make_shared<ShadowCommandOptions>();
  add(AddShadowCommand(app, *shadow, plugin_directory_, verbosity_),
      [shadow](KnownPlugins known) { return RunShadow(*shadow, known); });
  const auto snapshot = std::make_shared<SnapshotOptions>();
  add(AddSnapshotCommand(app, *snapshot), [snapshot](KnownPlugins) { return RunSnapshot(*snapshot); });
  const auto completion = std::make_shared<CompletionOptions>();
  add(AddCompletionCommand(app, *completion), [completion](KnownPlugins) { return RunCompletion(*completion); });
  const auto version = std::make_shared<VersionOptions>();
  add(AddVersionCommand(app, *version), [version](KnownPlugins) { return RunVersion(*version); });
  add(app.add_subcommand("help", "the help of a command: help explain pod"), [&app](KnownPlugins) {
    std::printf("%s", app.help().c_str());
    return cli::kExitOk;
  });
}

Commands::~Commands() = default;

const Command& Commands::Parsed() const {
  const auto parsed = std::ranges::find_if(commands_, [](const Command& command) { return command.flags->parsed(); });
  BERTH_CHECK(parsed != commands_.end());
  return *parsed;
}

}  // namespace berth::app
