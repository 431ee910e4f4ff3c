// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/apiserver_command.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/app/cluster/nodes_file.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/devcluster/embedded_cluster/kubeconfig_file.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/framework/release.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"

namespace berth::app {
namespace {

struct ApiServerCommandOptions {
  std::string listen = "127.0.0.1:8001";
  int nodes = 0;
  std::vector<std::string> host_names;
  bool no_controllers = false;
  std::string nodes_file;            // of the nodes' shapes, in place of `nodes`; empty: none
  std::string write_kubeconfig;      // where to; empty: nowhere
  std::optional<int> release_minor;  // of the Kubernetes that it says it is
};

int RunApiServer(const ApiServerCommandOptions& options) {
  const SystemClock clock;
  const auto shapes = ReadNodesFile(options.nodes_file);
  if (!shapes.ok()) return cli::FailWith(shapes.error(), cli::kExitUsage);
  auto cluster = embedded_cluster::EmbeddedCluster::Start(
      {.listen = options.listen,
       .nodes = options.nodes,
       .seed = RandomSeed(),
       .hostname = HostName(),
       .host_names = options.host_names,
       .shapes = *shapes,
       .has_controllers = !options.no_controllers,
       .kubeconfig = options.write_kubeconfig,
       .release_minor = options.release_minor.value_or(framework::kDefaultRelease)},
      clock);
  if (!cluster.ok()) return cli::FailWith(cluster.error());
  const std::string address = embedded_cluster::ReachedAt((*cluster)->address());
  const int nodes = shapes->empty() ? options.nodes : static_cast<int>(shapes->size());
  log::Info("app", "Serving", {{"url", "http://" + address}, {"nodes", nodes}});
  std::printf("kubectl --server http://%s get nodes,pods -A\n", address.c_str());
  std::fflush(stdout);
  log::Info("app", "Ending", {{"signal", cli::WaitForSignal()}});
  return 0;
}

}  // namespace

void AddApiServerCommand(Commands& commands) {
  const auto options = std::make_shared<ApiServerCommandOptions>();
  cli::Command& command = commands.Add("apiserver", "the embedded API server by itself",
                                       {[options](config::KnownPlugins) { return RunApiServer(*options); }});
  command.Option("listen", options->listen, "address and port").Check(CheckAddress).ShowDefault();
  cli::Flag& nodes =
      command.Option("nodes", options->nodes, "simulated nodes").Range(0, kubelet::kNodesMax).ShowDefault();
  AddNodesFile(command, options->nodes_file).Excludes(nodes);
  command.Switch("no-controllers", options->no_controllers,
                 "as beside a kube-controller-manager: no pods are made or collected, but volumes are");
  AddKubernetesVersion(command, options->release_minor, false, "the Kubernetes that it says it is");
  AddWriteKubeconfig(command, options->write_kubeconfig);
  command.Option("host-name", options->host_names,
                 "a name that clients reach it by, beside its address and localhost; may be repeated");
  AddVerbosity(command, commands.verbosity());
}

}  // namespace berth::app
