// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/cluster_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/app/cluster/nodes_file.h"
#include "berth/app/cluster/own_cluster_release.h"
#include "berth/app/cluster/own_cluster_scheduler.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/kubernetes_release.h"
#include "berth/app/page/own_page.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/core/config/known_plugins.h"
#include "berth/demo/served_cluster.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/page/decision_feed.h"
#include "berth/page/page_server.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {
namespace {

struct ClusterCommandOptions {
  std::string listen = "127.0.0.1:8001";
  int nodes = 5;
  std::string nodes_file;                       // of the nodes' shapes, in place of `nodes`; empty: none
  std::string config;                           // a KubeSchedulerConfiguration file; empty: the default one
  std::string kubeconfig = "berth.kubeconfig";  // where to write one; empty: nowhere
  std::vector<std::string> host_names;
  bool has_tls = false;
  std::string data;   // a file that the objects are kept in; empty: they are forgotten at the end
  std::string token;  // that clients have to show; "random": one is made; empty: none
  std::optional<std::uint64_t> seed;
  OwnClusterRelease release;
};

// A header's value, which the token is part of, has printable characters only.
std::string CheckToken(const std::string& text) {
  const bool is_printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return text.empty() || !is_printable ? "--token must be letters, digits and signs without spaces, or \"random\"" : "";
}

void SayHowToUse(const embedded_cluster::EmbeddedCluster& cluster, const ClusterCommandOptions& options) {
  std::printf("The cluster is at %s until you press Ctrl-C. In another terminal:\n", cluster.url().c_str());
  if (!options.kubeconfig.empty()) std::printf("  export KUBECONFIG=%s\n", options.kubeconfig.c_str());
  const std::string server = options.kubeconfig.empty() ? " --server " + cluster.url() : "";
  std::printf("  kubectl%s create deployment web --image nginx --replicas 3\n", server.c_str());
  std::printf("  kubectl%s get nodes,pods -o wide\n", server.c_str());
  std::fflush(stdout);
}

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

  page::DecisionFeed feed(false);
  OwnClusterMetrics metrics(configuration->release);
  runner::ShellOptions shell_options = OwnClusterShellOptions(cluster, metrics, options.config, seed, plugins);
  shell_options.on_decision = FeedPage(feed, clock);
  auto shell =
      runner::SchedulerShell::Make(*configuration, cluster.rest(), cluster.events(), clock, std::move(shell_options));
  if (!shell.ok()) return FailWithShell(shell.error(), options.config);
  (*shell)->Start();
  const auto page = MakeOwnPage({.configuration = *configuration,
                                 .configuration_file = options.config,
                                 .plugins = plugins,
                                 .source = cluster.url(),
                                 .kubernetes = std::string(KubernetesVersion(configuration->release.minor)),
                                 .seed = seed,
                                 .metrics = &metrics.of_process.registry()},
                                cluster.rest(), **shell, feed, clock);
  auto page_server = ServePage(*page, "");
  SayHowToUse(cluster, options);
  if (page_server.ok()) {
    page->Start();
    std::printf("%s\n", PageLine(**page_server).c_str());
    std::fflush(stdout);
  } else {
    log::Warning("app", "There is no page", {{"error", page_server.error().message}});
  }
  log::Info("app", "Ending", {{"signal", cli::WaitForSignal()}});
  if (page_server.ok()) page_server->reset();
  page->Stop();
  (*shell)->Stop(std::chrono::seconds(1));
  cluster.Stop();
  return cli::kExitOk;
}

}  // namespace

void AddClusterCommand(Commands& commands) {
  const auto options = std::make_shared<ClusterCommandOptions>();
  cli::Command& command = commands.Add("cluster", "a development cluster: API server, nodes, controllers and berth",
                                       {[options](config::KnownPlugins known) { return RunCluster(*options, known); }});
  command.Option("listen", options->listen, "address and port").Check(CheckAddress).ShowDefault();
  cli::Flag& nodes =
      command.Option("nodes", options->nodes, "simulated nodes").Range(1, kubelet::kNodesMax).ShowDefault();
  AddNodesFile(command, options->nodes_file).Excludes(nodes);
  AddWriteKubeconfig(command, options->kubeconfig).ShowDefault();
  command.Option("data", options->data, "keep the objects in this file, and begin with those that are in it")
      .Type(cli::kFileHint);
  command.Switch("tls", options->has_tls, "serve HTTPS, with a certificate that is made for it");
  command.Option("token", options->token, "what clients have to show; \"random\" makes one, for the kubeconfig")
      .Check(CheckToken);
  command.Option("host-name", options->host_names,
                 "a name that clients reach it by, beside its address and localhost; may be repeated");
  command.Option("config", options->config, "KubeSchedulerConfiguration file of the scheduler").Type(cli::kFileHint);
  AddOwnClusterRelease(command, options->release);
  AddPluginDirectory(command, commands.plugin_directory());
  command.Option("seed", options->seed, "seed of all chance").Check(CheckSeed);
  AddVerbosity(command, commands.verbosity());
}

}  // namespace berth::app
