// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/rebalance_demo.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/app/cluster/rebalance_scenarios.h"
#include "berth/app/rebalance/rebalance_cluster.h"
#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/core/config/default.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/demo/demo_pods.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/plugins/registry.h"
#include "berth/rebalance/policy_reader.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {
namespace {

using codec::json::object;

constexpr auto kTimeLimit = std::chrono::seconds(60);
constexpr auto kFrame = std::chrono::milliseconds(50);
constexpr char kPrometheusInExample[] = "http://prometheus.monitoring:9090";
// Rounds in a row that move nothing: then it is over.
constexpr int kQuietRounds = 3;

std::string NodeName(std::size_t index) { return "node-" + std::to_string(index + 1); }

// The pods, as the informer tells of them on the loop's thread.
class Pods {
 public:
  void Set(const demo::ShownPod& pod) {
    const std::lock_guard lock(mutex_);
    pods_[pod.name] = pod;
  }
  void Remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    pods_.erase(name);
  }
  std::vector<demo::ShownPod> All() const {
    const std::lock_guard lock(mutex_);
    std::vector<demo::ShownPod> all;
    for (const auto& each : pods_) all.push_back(each.second);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, demo::ShownPod> pods_;
};

// Answers any query as Prometheus would: the share of packets that each pod loses.
class PrometheusStandIn {
 public:
  static Expected<std::unique_ptr<PrometheusStandIn>> Start(const RebalanceScenario& scenario, const Pods& pods,
                                                            const Clock& clock) {
    std::unique_ptr<PrometheusStandIn> server(new PrometheusStandIn());
    BERTH_ASSIGN_OR_RETURN(
        server->server_,
        net::StartHttpServer(server->io_, {}, [&scenario, &pods, &clock](const net::Request&, const auto& to) {
          to->Send({200, {{"Content-Type", "application/json"}}, Answer(scenario, pods.All(), clock.WallNow())});
        }));
    return server;
  }
  std::string url() const { return "http://" + server_->address(); }

 private:
  PrometheusStandIn() = default;

  static std::string Answer(const RebalanceScenario& scenario, const std::vector<demo::ShownPod>& pods, Time now) {
    codec::json::array series;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    for (const demo::ShownPod& pod : pods) {
      bool loses = false;
      for (std::size_t i = 0; i < scenario.nodes.size(); ++i)
        loses |= scenario.nodes[i].loses_packets && pod.node == NodeName(i);
      series.push_back(object{{"metric", object{{"namespace", "default"}, {"pod", pod.name}}},
                              {"value", codec::json::array{seconds, loses ? "0.07" : "0.001"}}});
    }
    return codec::WriteJson(
        object{{"status", "success"}, {"data", object{{"resultType", "vector"}, {"result", std::move(series)}}}});
  }

  net::IoContext io_;
  std::unique_ptr<net::HttpServer> server_;
};

class RebalanceDemo {
 public:
  RebalanceDemo(const RebalanceScenario& scenario, const RebalanceDemoOptions& options)
      : scenario_(scenario), options_(options), terminal_(STDOUT_FILENO) {
    for (const demo::DemoWorkload& workload : scenario.workloads) pods_expected_ += workload.replicas;
  }
  ~RebalanceDemo() { End(); }

  int Run() {
    if (const auto done = Go(); !done.ok()) return is_interrupted_ ? cli::kExitOk : cli::FailWith(done.error());
    return cli::kExitOk;
  }

 private:
  Expected<void> Go() {
    BERTH_RETURN_IF_ERROR(Prepare());
    Write({scenario_.title, "", "Before:"});
    Write(Table());
    Write({"", scenario_.change, ""});
    BERTH_RETURN_IF_ERROR(Change());
    BERTH_RETURN_IF_ERROR(Rebalance());
    Write({"Moved, each to a place that was proved and kept: " + Moved() + ".", "", "After:"});
    Write(Table());
    Write({""});
    Write(scenario_.to_see);
    return {};
  }

  Expected<void> Prepare() {
    const int nodes = static_cast<int>(scenario_.nodes.size());
    BERTH_ASSIGN_OR_RETURN(cluster_,
                           embedded_cluster::EmbeddedCluster::Start(
                               {.nodes = nodes, .seed = options_.seed, .hostname = options_.hostname}, clock_));
    runner::ShellOptions shell;
    shell.seed = options_.seed;
    shell.hostname = options_.hostname;
    shell.make_client = [&io = cluster_->io()](net::HttpClientOptions to) {
      return net::MakeHttpClient(io, std::move(to));
    };
    BERTH_ASSIGN_OR_RETURN(shell_, runner::SchedulerShell::Make(config::DefaultConfiguration(), cluster_->rest(),
                                                                cluster_->events(), clock_, std::move(shell)));
    informer_ = demo::WatchPods(
        cluster_->rest(), [this](const demo::ShownPod& pod) { pods_.Set(pod); },
        [this](const std::string& name) { pods_.Remove(name); });
    informer_->Start();
    BERTH_RETURN_IF_ERROR(WaitUntil("the simulated nodes are ready", [&] { return cluster_->ReadyNodes() == nodes; }));
    for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) BERTH_RETURN_IF_ERROR(Mark(i, scenario_.nodes[i].is_away));
    for (const demo::DemoWorkload& workload : scenario_.workloads)
      BERTH_RETURN_IF_ERROR(demo::CreateWorkload(cluster_->rest(), workload, "default-scheduler"));
    shell_->Start();
    return WaitUntil("all pods are running", [this] { return AreAllRunning(); });
  }

  Expected<void> Mark(std::size_t index, bool is_cordoned) {
    object labels;
    for (const auto& [key, value] : scenario_.nodes[index].labels) labels[key] = value;
    net::Request patch;
    patch.method = "PATCH";
    patch.target = client::ObjectPath("/api/v1", {}, "nodes", NodeName(index));
    patch.headers = {{"Content-Type", "application/merge-patch+json"}};
    patch.body = codec::WriteJson(
        object{{"metadata", object{{"labels", std::move(labels)}}}, {"spec", object{{"unschedulable", is_cordoned}}}});
    if (const auto patched = cluster_->rest().DoSync(std::move(patch)); !patched.ok()) return patched.error();
    return {};
  }

  Expected<void> Change() {
    for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) {
      if (scenario_.nodes[i].is_away) BERTH_RETURN_IF_ERROR(Mark(i, false));
    }
    return {};
  }

  // The example's policy, with its Prometheus led to the stand-in.
  Expected<rebalance::Policy> Policy() {
    BERTH_ASSIGN_OR_RETURN(rebalance::Policy policy, rebalance::ReadPolicy(RebalanceExample(scenario_.name)));
    if (!policy.prometheus) return policy;
    BERTH_CHECK(policy.prometheus->url == kPrometheusInExample, policy.prometheus->url);
    BERTH_ASSIGN_OR_RETURN(prometheus_, PrometheusStandIn::Start(scenario_, pods_, clock_));
    policy.prometheus->url = prometheus_->url();
    return policy;
  }

  // Rounds as `berth run --rebalance --rebalance-execute` makes them, without the pauses between them.
  Expected<void> Rebalance() {
    RebalanceClusterOptions cluster;
    BERTH_ASSIGN_OR_RETURN(cluster.policy, Policy());
    cluster.core.configuration = config::DefaultConfiguration();
    cluster.core.plugins = plugins::InTreePlugins();
    cluster.core.seed = options_.seed;
    cluster.namespace_name = "kube-system";
    cluster.name = "berth-rebalancer";
    cluster.hostname = options_.hostname;
    cluster.is_ending = [] { return cli::HasSignal(); };
    cluster.writes_events = true;
    rebalance::ControllerOptions how;
    how.executes = true;
    how.limits.per_workload.count = 50;
    how.limits.cool_down = Duration{0};
    cluster.reserve = [this, time = how.placement_max](const rebalance::PlannedMove& move) {
      return shell_->reservations().Reserve(*move.pod, move.to, time);
    };
    cluster.cancel = [this](const std::string& uid) { shell_->reservations().Cancel(uid); };
    metrics::PrometheusMetrics metrics;
    RebalanceCluster outside({cluster_->rest(), cluster_->events(), cluster_->io(), cluster_->address()}, clock_,
                             metrics, std::move(cluster));
    rebalance::Controller controller(outside, how);
    int quiet = 0;
    std::string waits_for;
    const auto is_over = [&] {
      // So that the outcome does not depend on who is quicker.
      if (!AreAllRunning()) return false;
      const rebalance::RoundReport report = controller.RunRound(clock_.WallNow());
      for (const rebalance::PlannedMove& move : report.moves) {
        const std::string* const app = move.pod->metadata.labels.Find("app");
        if (app != nullptr) ++moved_[*app];
      }
      waits_for = report.wait.why;
      const bool is_quiet = report.result == rebalance::RoundReport::Result::kQuiet &&
                            std::ranges::all_of(report.staying, [](const auto& pod) { return pod.hold.empty(); });
      quiet = is_quiet ? quiet + 1 : 0;
      return quiet == kQuietRounds;
    };
    const auto done = WaitUntil("nothing is left to move", is_over);
    outside.Flush(std::chrono::seconds(1));
    if (!done.ok() && !waits_for.empty()) return done.error().Wrap(waits_for);
    return done;
  }

  // "4 pods of api, 2 pods of web".
  std::string Moved() const {
    std::string text;
    for (const auto& [app, count] : moved_) {
      text += (text.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? " pod of " : " pods of ") + app;
    }
    return text;
  }

  bool AreAllRunning() const {
    const auto all = pods_.All();
    return static_cast<int>(all.size()) == pods_expected_ &&
           std::ranges::all_of(all, [](const demo::ShownPod& pod) { return pod.phase == "Running"; });
  }

  std::vector<std::string> Table() const {
    std::vector<cli::Column> columns{{"NODE"}};
    if (!scenario_.column.empty()) columns.push_back({scenario_.column});
    for (const demo::DemoWorkload& workload : scenario_.workloads) {
      std::string title = "PODS OF " + workload.name;
      std::ranges::transform(title, title.begin(),
                             [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
      columns.push_back({std::move(title), true});
    }
    cli::Table table(std::move(columns));
    const auto all = pods_.All();
    for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) {
      std::vector<cli::Cell> cells{NodeName(i)};
      if (!scenario_.column.empty()) cells.emplace_back(scenario_.nodes[i].shown);
      for (const demo::DemoWorkload& workload : scenario_.workloads) {
        const auto count = std::ranges::count_if(
            all, [&](const demo::ShownPod& pod) { return pod.app == workload.name && pod.node == NodeName(i); });
        cells.emplace_back(std::to_string(count), count == 0 ? cli::Color::kDim : cli::Color::kGreen);
      }
      table.AddRow(std::move(cells));
    }
    return table.Lines(demo::StyleOf(terminal_));
  }

  Expected<void> WaitUntil(const std::string& what, const std::function<bool()>& is_done) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
    while (!is_done()) {
      is_interrupted_ = cli::HasSignal();
      if (is_interrupted_) return Error{ErrorCode::kCancelled, "interrupted"};
      if (std::chrono::steady_clock::now() > deadline) {
        return Error{ErrorCode::kTimeout,
                     "demo: not until " + what + " within " + std::to_string(kTimeLimit.count()) + " s"};
      }
      std::this_thread::sleep_for(kFrame);
    }
    return {};
  }

  void Write(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) terminal_.Write(line + "\n");
  }

  void End() {
    if (cluster_ == nullptr) return;
    if (shell_) shell_->Stop(Duration(std::chrono::seconds(1)));
    cluster_->Stop();
    informer_.reset();
    shell_.reset();
    cluster_.reset();
  }

  const RebalanceScenario& scenario_;
  const RebalanceDemoOptions& options_;
  const SystemClock clock_;
  cli::FileTerminal terminal_;
  Pods pods_;
  int pods_expected_ = 0;
  bool is_interrupted_ = false;
  std::map<std::string, int> moved_;  // by workload
  std::unique_ptr<PrometheusStandIn> prometheus_;
  std::unique_ptr<embedded_cluster::EmbeddedCluster> cluster_;
  std::unique_ptr<runner::SchedulerShell> shell_;
  std::unique_ptr<client::Informer<demo::ShownPod>> informer_;
};

}  // namespace

int RunRebalanceDemo(const RebalanceDemoOptions& options) {
  log::SetLevel(log::Level::kError);  // The screen is the demo's.
  return RebalanceDemo(*FindRebalanceScenario(options.policy), options).Run();
}

}  // namespace berth::app
