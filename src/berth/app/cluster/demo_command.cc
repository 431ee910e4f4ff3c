// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/demo_command.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "berth/app/cluster/nodes_file.h"
#include "berth/app/cluster/own_cluster_release.h"
#include "berth/app/cluster/own_cluster_scheduler.h"
#include "berth/app/cluster/rebalance_demo.h"
#include "berth/app/cluster/rebalance_scenarios.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/kubernetes_release.h"
#include "berth/app/page/own_page.h"
#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/demo/demo_pods.h"
#include "berth/demo/policy_demo.h"
#include "berth/demo/served_cluster.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/devcluster/embedded_cluster/kubeconfig_file.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/page/decision_feed.h"
#include "berth/page/page_server.h"
#include "berth/shell/cli/ansi_screen.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {
namespace {

struct DemoOptions {
  bool serve = false;
  std::string listen = "127.0.0.1:8001";
  int nodes = 5;
  int replicas = 3;
  std::uint64_t seed = 1;
  std::string config;      // a KubeSchedulerConfiguration file, whose first profile schedules; empty: the default one
  std::string nodes_file;  // of the nodes' shapes, in place of `nodes`; empty: none
  std::string write_kubeconfig;  // with `serve`: where to; empty: nowhere
  OwnClusterRelease release;
  std::string policy;    // the policy to show, on a cluster of its own; empty: the plain demo
  std::string scenario;  // of those that show something else, likewise
};

std::string CheckPolicy(const std::string& name) {
  std::vector<std::string> more;
  for (const RebalanceScenario& scenario : RebalanceScenarios()) more.push_back(scenario.name);
  return demo::CheckPolicyDemo(name, more);
}

constexpr auto kTimeLimit = std::chrono::seconds(120);
constexpr int kNodesPerSecondMin = 1'000;  // that come, on a busy machine
constexpr auto kFrame = std::chrono::milliseconds(100);
constexpr int kReasonNodesMax = 10'000;  // of more it takes long to say why it is this one

// What the screen shows, filled from the event loop and the core's thread.
class Board {
 public:
  void SetPod(const demo::ShownPod& pod) {
    const std::lock_guard lock(mutex_);
    pods_[pod.name] = pod;
  }
  void RemovePod(const std::string& name) {
    const std::lock_guard lock(mutex_);
    pods_.erase(name);
  }
  void SetWhy(const std::string& uid, std::string why) {
    const std::lock_guard lock(mutex_);
    why_[uid] = std::move(why);
  }

  // Nothing while there are no pods.
  std::vector<std::string> Lines(const cli::Table::Style& style) const {
    const std::lock_guard lock(mutex_);
    if (pods_.empty()) return {};
    cli::Table table({{"POD"}, {"STATUS"}, {"NODE"}, {"WHY THERE"}});
    for (const auto& [name, pod] : pods_) {
      const auto why = why_.find(pod.uid);
      const std::string status = pod.phase == "Pending" && !pod.node.empty() ? "Bound" : pod.phase;
      const cli::Color color = status == "Running" ? cli::Color::kGreen
                               : status == "Bound" ? cli::Color::kCyan
                                                   : cli::Color::kYellow;
      table.AddRow(
          {name, {status, color}, pod.node.empty() ? "<none>" : pod.node, why == why_.end() ? "" : why->second});
    }
    return table.Lines(style);
  }

  int pod_count() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(pods_.size());
  }
  int running() const {
    const std::lock_guard lock(mutex_);
    int count = 0;
    for (const auto& [name, pod] : pods_) count += pod.phase == "Running" ? 1 : 0;
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, demo::ShownPod> pods_;
  std::map<std::string, std::string> why_;  // by uid
};

int RunDemo(const DemoOptions& options, config::KnownPlugins plugins) {
  const int needed = demo::ScenarioRelease(options.scenario);
  if (options.release.minor.value_or(needed) < needed)
    return cli::FailWith(
        InvalidError("--scenario " + options.scenario + ": needs --kubernetes-version 1." + std::to_string(needed)),
        cli::kExitUsage);
  const auto gates = OwnClusterGates(options.release, needed);
  if (!gates.ok()) return cli::FailWith(gates.error(), cli::kExitUsage);
  if (FindRebalanceScenario(options.policy) != nullptr) {
    if (options.serve)
      return cli::FailWith(InvalidError("--serve: the demo of " + options.policy + " ends by itself"), cli::kExitUsage);
    if (options.release.minor || !options.release.feature_gates.empty()) {
      return cli::FailWith(InvalidError("--kubernetes-version, --feature-gates: the demo of " + options.policy +
                                        " is of Kubernetes 1.36 as it is by default"),
                           cli::kExitUsage);
    }
    return RunRebalanceDemo({options.policy, options.seed, HostName()});
  }
  if (!options.policy.empty() || !options.scenario.empty()) {
    const bool has_policy = !options.policy.empty();
    return demo::RunPolicyDemo({.name = has_policy ? options.policy : options.scenario,
                                .serve = options.serve,
                                .listen = options.listen,
                                .seed = options.seed,
                                .hostname = HostName(),
                                .kubeconfig = options.write_kubeconfig,
                                .gates = *gates,
                                .follow_gates = [&](auto& cluster) { FollowGates(*gates, cluster); }});
  }
  auto configuration = OwnClusterConfiguration(options.config, *gates);
  if (!configuration.ok()) return cli::FailWith(configuration.error(), cli::kExitUsage);
  if (options.serve) demo::TakeDefaultSchedulerToo(*configuration);
  const auto shapes = ReadNodesFile(options.nodes_file);
  if (!shapes.ok()) return cli::FailWith(shapes.error(), cli::kExitUsage);
  const int node_count = shapes->empty() ? options.nodes : static_cast<int>(shapes->size());
  const std::string scheduler_name = configuration->profiles.front().scheduler_name;
  log::SetLevel(log::Level::kError);  // The screen is the demo's.
  const SystemClock clock;
  cli::FileTerminal terminal(STDOUT_FILENO);
  cli::AnsiScreen screen(terminal);
  embedded_cluster::EmbeddedClusterOptions cluster_options{.listen = options.serve ? options.listen : "",
                                                           .nodes = options.nodes,
                                                           .seed = options.seed,
                                                           .hostname = HostName(),
                                                           .shapes = *shapes,
                                                           .kubeconfig = options.write_kubeconfig};
  FollowGates(*gates, cluster_options);
  auto started = embedded_cluster::EmbeddedCluster::Start(cluster_options, clock);
  if (!started.ok()) return cli::FailWith(started.error());
  embedded_cluster::EmbeddedCluster& cluster = **started;

  Board board;
  OwnClusterMetrics metrics(configuration->release);
  runner::ShellOptions shell_options = OwnClusterShellOptions(cluster, metrics, options.config, options.seed, plugins);
  shell_options.tells_reasons = node_count <= kReasonNodesMax;
  page::DecisionFeed feed(false);
  shell_options.on_decision = [&board, feed_page = FeedPage(feed, clock)](const scheduler::Decision& decision) {
    board.SetWhy(decision.pod_uid, decision.Why());
    feed_page(decision);
  };
  auto shell =
      runner::SchedulerShell::Make(*configuration, cluster.rest(), cluster.events(), clock, std::move(shell_options));
  if (!shell.ok()) return FailWithShell(shell.error(), options.config);

  const auto page = MakeOwnPage({.configuration = *configuration,
                                 .configuration_file = options.config,
                                 .plugins = plugins,
                                 .source = cluster.address().empty() ? "in this process" : cluster.url(),
                                 .kubernetes = std::string(KubernetesVersion(configuration->release.minor)),
                                 .seed = options.seed,
                                 .metrics = &metrics.of_process.registry()},
                                cluster.rest(), **shell, feed, clock);
  std::unique_ptr<page::PageServer> page_server;

  const auto informer = demo::WatchPods(
      cluster.rest(), [&board](const demo::ShownPod& pod) { board.SetPod(pod); },
      [&board](const std::string& name) { board.RemovePod(name); });
  informer->Start();

  const auto time_limit = kTimeLimit + std::chrono::seconds(node_count / kNodesPerSecondMin);
  const auto deadline = std::chrono::steady_clock::now() + time_limit;
  bool is_interrupted = false;
  // Shows the board until `is_done`, the time limit or a signal; false for the latter two.
  const auto show_until = [&](const std::string& title, const auto& is_done) {
    for (;;) {
      const bool done = is_done();
      std::vector<std::string> lines{title};
      for (std::string& line : board.Lines(demo::StyleOf(terminal))) lines.push_back(std::move(line));
      screen.Show(std::move(lines), clock.Now());
      if (done) return true;
      is_interrupted = cli::HasSignal();
      if (is_interrupted || std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(kFrame);
      screen.Refresh(clock.Now());
    }
  };
  const auto end = [&](int status) {
    screen.Finish();
    page_server.reset();
    page->Stop();
    (*shell)->Stop(status == cli::kExitOk ? Duration(std::chrono::seconds(1)) : Duration{0});
    cluster.Stop();
    return status;
  };
  const auto fail = [&](const std::string& what) {
    if (is_interrupted) return end(cli::kExitOk);  // as asked
    screen.Finish();
    std::fprintf(stderr, "berth: demo: %s\n", what.c_str());
    return end(cli::kExitFailed);
  };

  const auto nodes_ready = [&] { return cluster.ReadyNodes() >= node_count; };
  if (!show_until("an embedded API server with " + std::to_string(node_count) + " simulated nodes", nodes_ready)) {
    return fail("the simulated nodes did not get ready within " + std::to_string(time_limit.count()) + " s");
  }
  const demo::DemoWorkload nginx{"nginx", options.replicas};
  if (const auto created = demo::CreateWorkload(cluster.rest(), nginx, scheduler_name); !created.ok())
    return fail(created.error().message);

  // The pods wait for a scheduler of their name; then berth starts. Somebody may have created others meanwhile.
  const auto has_pods = [&] { return board.pod_count() >= options.replicas; };
  if (!show_until(
          "Deployment nginx, " + std::to_string(options.replicas) + " replicas, schedulerName: " + scheduler_name,
          has_pods)) {
    return fail("the Deployment's pods did not appear");
  }
  (*shell)->Start();
  std::vector<scheduler::UnboundPod> unbound;
  // All that fit are running, and the scheduler has refused the others.
  const auto is_over = [&] {
    if (board.running() >= options.replicas) return true;
    if (!(*shell)->IsIdle()) return false;
    unbound = (*shell)->Unbound();
    return !unbound.empty() && board.running() + static_cast<int>(unbound.size()) >= options.replicas;
  };
  if (!show_until("Deployment nginx, berth at work", is_over)) {
    return fail(std::to_string(board.running()) + " of " + std::to_string(options.replicas) +
                " pods were running after " + std::to_string(time_limit.count()) + " s");
  }
  const bool all_running = board.running() >= options.replicas;
  screen.Finish();
  if (!terminal.IsTty()) {  // The screen ends with this; a file has seen its lines one by one.
    for (const std::string& line : board.Lines(demo::StyleOf(terminal))) terminal.Write(line + "\n");
  }
  if (!all_running) {
    std::fprintf(stderr, "berth: demo: %zu of %d pods have no room: %s More --nodes would give it to them.\n",
                 unbound.size(), options.replicas, unbound.front().why.c_str());
  }
  if (!options.serve) return end(all_running ? cli::kExitOk : cli::kExitFailed);
  for (const std::string& line :
       demo::ServedLines(embedded_cluster::ReachedAt(cluster.address()), nginx.name, 50, options.write_kubeconfig))
    terminal.Write(line + "\n");
  if (auto served = ServePage(*page, ""); served.ok()) {
    page_server = *std::move(served);
    page->Start();
    terminal.Write(PageLine(*page_server) + "\n");
  } else {
    std::fprintf(stderr, "berth: demo: without its page: %s\n", served.error().message.c_str());
  }
  (void)cli::WaitForSignal();
  return end(cli::kExitOk);
}

}  // namespace

void AddDemoCommand(Commands& commands) {
  const auto options = std::make_shared<DemoOptions>();
  cli::Command& command = commands.Add("demo", "berth at work on an embedded cluster",
                                       {[options](config::KnownPlugins known) { return RunDemo(*options, known); }});
  cli::Flag& serve = command.Switch("serve", options->serve,
                                    "leave the cluster running for kubectl; pods of default-scheduler are placed, too");
  command.Option("listen", options->listen, "where, with --serve").Check(CheckAddress).ShowDefault();
  cli::Flag& nodes =
      command.Option("nodes", options->nodes, "simulated nodes").Range(1, kubelet::kNodesMax).ShowDefault();
  cli::Flag& replicas =
      command.Option("replicas", options->replicas, "pods of the nginx Deployment").Range(1, 10'000).ShowDefault();
  cli::Flag& nodes_file = AddNodesFile(command, options->nodes_file).Excludes(nodes);
  AddWriteKubeconfig(command, options->write_kubeconfig).Needs(serve);
  command.Option("seed", options->seed, "seed of all chance").Check(CheckSeed).ShowDefault();
  cli::Flag& config =
      command
          .Option("config", options->config, "KubeSchedulerConfiguration file whose first profile schedules the pods")
          .Type(cli::kFileHint);
  AddOwnClusterRelease(command, options->release);
  AddPluginDirectory(command, commands.plugin_directory());
  cli::Flag& scenario = command.Option("scenario", options->scenario, "show something else that berth does, likewise")
                            .OneOf(demo::ScenarioNames());
  cli::Flag& policy =
      command.Option("policy", options->policy, "show a policy on a cluster where its effect is plain to see")
          .Type("{" + demo::PolicyDemoNames() + ", " + RebalanceScenarioNames() + "}")
          .Check(CheckPolicy);
  for (cli::Flag* other : {&nodes, &replicas, &nodes_file, &config}) scenario.Excludes(*other);
  for (cli::Flag* other : {&nodes, &replicas, &nodes_file, &config, &scenario}) policy.Excludes(*other);
}

}  // namespace berth::app
