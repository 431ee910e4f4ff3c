// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster_command.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "berth/app/nodes_file.h"
#include "berth/app/own_cluster_release.h"
#include "berth/app/own_cluster_scheduler.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/demo/served_cluster.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {
namespace {

void SayHowToUse(const embedded_cluster::EmbeddedCluster& cluster, const ClusterCommandOptions& options) {
  std::printf("The cluster is at %s until you press Ctrl-C. In another terminal:\n", cluster.url().c_str());
  if (!options.kubeconfig.empty()) std::printf("  export KUBECONFIG=%s\n", options.kubeconfig.c_str());
  const std::string server = options.kubeconfig.empty() ? " --server " + cluster.url() : "";
  std::printf("  kubectl%s create deployment web --image nginx --replicas 3\n", server.c_str());
  std::printf("  kubectl%s get nodes,pods -o wide\n", server.c_str());
  std::fflush(stdout);
}

}  // namespace

int RunCluster(const ClusterCommandOptions& options, config::KnownPlugins plugins) {
  const auto gates = OwnClusterGates(options.release);
  if (!gates.ok()) return cli::FailWith(gates.error(), cli::kExitUsage);
  auto configuration = OwnClusterConfiguration(options.config, *gates);
  if (!configuration.ok()) return cli::FailWith(configuration.error(), cli::kExitUsage);
  demo::TakeDefaultSchedulerToo(*configuration);
  const auto shapes = ReadNodesFile(options.nodes_file);
  if (!shapes.ok()) return cli::FailWith(shapes.error(), cli::kExitUsage);
  const SystemClock clock;
  const std::uint64_t seed = options.seed ? *options.seed : RandomSeed();
  const std::string token = options.token == "random" ? RandomUuid() : options.token;
  embedded_cluster::EmbeddedClusterOptions cluster_options{.listen = options.listen,
                                                           .nodes = options.nodes,
                                                           .seed = seed,
                                                           .hostname = HostName(),
                                                           .host_names = options.host_names,
                                                           .shapes = *shapes,
                                                           .kubeconfig = options.kubeconfig,
                                                           .has_tls = options.has_tls,
                                                           .token = token,
                                                           .token_key = RandomUuid() + RandomUuid(),
                                                           .data = options.data};
  FollowGates(*gates, cluster_options);
  auto started = embedded_cluster::EmbeddedCluster::Start(cluster_options, clock);
  if (!started.ok()) return cli::FailWith(started.error());
  embedded_cluster::EmbeddedCluster& cluster = **started;

  auto shell = runner::SchedulerShell::Make(*configuration, cluster.rest(), cluster.events(), clock,
                                            OwnClusterShellOptions(cluster, options.config, seed, plugins));
  if (!shell.ok()) return FailWithShell(shell.error(), options.config);
  (*shell)->Start();
  SayHowToUse(cluster, options);
  log::Info("app", "Ending", {{"signal", cli::WaitForSignal()}});
  (*shell)->Stop(std::chrono::seconds(1));
  cluster.Stop();
  return cli::kExitOk;
}

}  // namespace berth::app
