// SPDX-License-Identifier: Apache-2.0
#include "berth/app/apiserver_command.h"

#include <cstdio>

#include "berth/app/nodes_file.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/devcluster/embedded_cluster/kubeconfig_file.h"
#include "berth/framework/release.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"

namespace berth::app {

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
       .release_minor = options.release_minor.value_or(framework::kOldestRelease)},
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

}  // namespace berth::app
