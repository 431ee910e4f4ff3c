// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/kubelets_command.h"

#include <memory>

#include "berth/app/cluster/nodes_file.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"

namespace berth::app {
namespace {

struct KubeletsOptions {
  ConnectionOptions connection;
  int nodes = 5;
  std::string nodes_file;  // of the nodes' shapes, in place of `nodes`; empty: none
};

int RunKubelets(const KubeletsOptions& options) {
  const SystemClock clock;
  const std::uint64_t seed = RandomSeed();
  kubelet::KubeletOptions kubelets;
  kubelets.nodes = options.nodes;
  auto shapes = ReadNodesFile(options.nodes_file);
  if (!shapes.ok()) return cli::FailWith(shapes.error(), cli::kExitUsage);
  if (!shapes->empty()) kubelets.nodes = static_cast<int>(shapes->size());
  kubelets.shapes = *std::move(shapes);
  kubelets.seed = seed;
  if (const auto valid = kubelet::CheckKubeletOptions(kubelets); !valid.ok())
    return cli::FailWith(valid.error(), cli::kExitUsage);
  auto connection = Connection::Make(options.connection, clock, seed);
  if (!connection.ok()) return cli::FailWith(connection.error(), cli::kExitUsage);
  kubelet::KubeletSimulator simulator((*connection)->rest(), kubelets);
  log::Info("app", "Simulating nodes", {{"nodes", kubelets.nodes}, {"server", (*connection)->server()}});
  simulator.Start();
  log::Info("app", "Ending", {{"signal", cli::WaitForSignal()}});
  simulator.Stop();
  (*connection)->Stop();
  return 0;
}

}  // namespace

void AddKubeletsCommand(Commands& commands) {
  const auto options = std::make_shared<KubeletsOptions>();
  cli::Command& command = commands.Add("kubelets", "simulated nodes and kubelets for any cluster",
                                       {[options](config::KnownPlugins) { return RunKubelets(*options); }});
  AddConnection(command, options->connection);
  cli::Flag& nodes = command.Option("nodes", options->nodes, "how many").Range(1, kubelet::kNodesMax).ShowDefault();
  AddNodesFile(command, options->nodes_file).Excludes(nodes);
  AddVerbosity(command, commands.verbosity());
}

}  // namespace berth::app
