// SPDX-License-Identifier: Apache-2.0
#include "berth/app/commands.h"

#include <cstdio>
#include <utility>

#include "berth/app/authors/plugin_command.h"
#include "berth/app/cluster/apiserver_command.h"
#include "berth/app/cluster/cluster_command.h"
#include "berth/app/cluster/demo_command.h"
#include "berth/app/cluster/kubelets_command.h"
#include "berth/app/cluster/price_command.h"
#include "berth/app/common_flags.h"
#include "berth/app/help/completion_command.h"
#include "berth/app/help/version_command.h"
#include "berth/app/page/ui_command.h"
#include "berth/app/questions/buy_command.h"
#include "berth/app/questions/can_drain_command.h"
#include "berth/app/questions/capacity_command.h"
#include "berth/app/questions/explain_command.h"
#include "berth/app/questions/headroom_command.h"
#include "berth/app/questions/replay_command.h"
#include "berth/app/questions/serve_command.h"
#include "berth/app/questions/shadow_command.h"
#include "berth/app/questions/simulate_command.h"
#include "berth/app/questions/snapshot_command.h"
#include "berth/app/rebalance/rebalance_command.h"
#include "berth/app/run/run_flags.h"
#include "berth/base/check.h"
#include "berth/shell/cli/exit_codes.h"

namespace berth::app {

Commands::Commands(const std::string& program) : program_(program, "berth: a drop-in Kubernetes scheduler") {
  program_.RequireSubcommand();
  AddVerbosity(program_, verbosity_);
  cli::Command& run = program_.AddForeign("run", "schedule the pods of a cluster");
  AddRunFlags(run, unused_run_options_, plugin_directory_);
  AddApiServerCommand(*this);
  AddClusterCommand(*this);
  AddKubeletsCommand(*this);
  AddDemoCommand(*this);
  AddPluginCommand(*this);
  AddExplainCommand(*this);
  AddPriceCommand(*this);
  AddCapacityCommand(*this);
  AddBuyCommand(*this);
  AddCanDrainCommand(*this);
  AddHeadroomCommand(*this);
  AddRebalanceCommand(*this);
  AddSimulateCommand(*this);
  AddReplayCommand(*this);
  AddShadowCommand(*this);
  AddSnapshotCommand(*this);
  AddServeCommand(*this);
  AddUiCommand(*this);
  AddCompletionCommand(*this);
  AddVersionCommand(*this);
  cli::Command& help = Add("help", "the help of a command: help explain pod", {});
  Set(help, {[&help](config::KnownPlugins) {
        std::printf("%s", help.Help().c_str());
        return cli::kExitOk;
      }});
}

cli::Command& Commands::Add(std::string_view name, std::string_view description, CommandAction action) {
  cli::Command& command = program_.AddSubcommand(name, description);
  Set(command, std::move(action));
  return command;
}

const CommandAction& Commands::ActionOf(const cli::Command& command) const {
  const auto found = actions_.find(&command);
  if (found != actions_.end() && found->second.run) return found->second;
  BERTH_CHECK(command.parent() != nullptr, command.name());
  return ActionOf(*command.parent());
}

}  // namespace berth::app
