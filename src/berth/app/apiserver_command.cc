// SPDX-License-Identifier: Apache-2.0
#include "berth/app/apiserver_command.h"

#include <cstdio>

#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"

namespace berth::app {

int RunApiServer(const ApiServerCommandOptions& options) {
  const SystemClock clock;
  auto cluster = embedded_cluster::EmbeddedCluster::Start(
      {options.listen, options.nodes, RandomSeed(), HostName(), options.host_names}, clock);
  if (!cluster.ok()) return cli::FailWith(cluster.error());
  const std::string address = (*cluster)->address();
  log::Info("app", "Serving", {{"url", "http://" + address}, {"nodes", options.nodes}});
  std::printf("kubectl --server http://%s get nodes,pods -A\n", address.c_str());
  std::fflush(stdout);
  log::Info("app", "Ending", {{"signal", cli::WaitForSignal()}});
  return 0;
}

}  // namespace berth::app
