// SPDX-License-Identifier: Apache-2.0
#include "berth/demo/policy_demo.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/base/edit_distance.h"
#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/demo/demo_pods.h"
#include "berth/demo/nagios_stand_in.h"
#include "berth/demo/policy_configurations.h"
#include "berth/demo/policy_scenarios.h"
#include "berth/demo/served_cluster.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/devcluster/embedded_cluster/kubeconfig_file.h"
#include "berth/framework/release.h"
#include "berth/shell/cli/ansi_screen.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::demo {
namespace {

constexpr auto kTimeLimit = std::chrono::seconds(60);
constexpr std::size_t kNameWidthMax = 40;
constexpr auto kFrame = std::chrono::milliseconds(50);

std::string NodeName(std::size_t index) { return "node-" + std::to_string(index + 1); }

// What the loop's and the core's thread tell, for the table.
class Tally {
 public:
  void SetPod(const ShownPod& pod) {
    const std::lock_guard lock(mutex_);
    pods_[pod.name] = pod;
  }
  void RemovePod(const std::string& name) {
    const std::lock_guard lock(mutex_);
    pods_.erase(name);
  }
  void SetRefusals(std::vector<std::string> lines) {
    const std::lock_guard lock(mutex_);
    refusals_ = std::move(lines);
  }

  int pod_count() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(pods_.size());
  }
  int running() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(
        std::count_if(pods_.begin(), pods_.end(), [](const auto& entry) { return entry.second.phase == "Running"; }));
  }
  // Pods on a node, by workload.
  std::map<std::string, int> OnNode(const std::string& node) const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, int> counts;
    for (const auto& [name, pod] : pods_) {
      if (pod.node == node) ++counts[pod.app];
    }
    return counts;
  }
  std::vector<std::string> refusals() const {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ShownPod> pods_;
  std::vector<std::string> refusals_;  // of the newest decision that found a node
};

std::vector<std::string> RefusalsOf(const scheduler::Decision& decision) {
  std::vector<std::string> lines;
  for (const auto& [status, count] : decision.refusals) {
    lines.push_back("  " + std::to_string(count) + (count == 1 ? " node" : " nodes") + " refused by " +
                    std::string(status.plugin()) + ": " + status.Message());
  }
  return lines;
}

class PolicyDemo {
 public:
  PolicyDemo(const PolicyScenario& scenario, const PolicyDemoOptions& options)
      : scenario_(scenario), options_(options), terminal_(STDOUT_FILENO) {
    for (const DemoWorkload& workload : scenario.workloads) pods_expected_ += workload.replicas;
  }
  ~PolicyDemo() { End(cli::kExitOk); }

  int Run() {
    if (const auto prepared = Prepare(); !prepared.ok())
      return is_interrupted_ ? cli::kExitOk : cli::FailWith(prepared.error());
    Write(Introduction());
    shell_->Start();
    if (!WaitUntil([this] { return IsOver(); }, true)) {
      if (is_interrupted_) return cli::kExitOk;
      return cli::FailWith({ErrorCode::kTimeout, "demo: " + std::to_string(tally_.running()) + " of " +
                                                     std::to_string(pods_expected_) + " pods were running after " +
                                                     std::to_string(kTimeLimit.count()) + " s"});
    }
    Write(Conclusion());
    if (options_.serve) Serve();
    return End(cli::kExitOk);
  }

 private:
  // Everything up to the moment before the scheduler starts: nodes, what distinguishes them, pods that wait.
  Expected<void> Prepare() {
    BERTH_ASSIGN_OR_RETURN(auto configuration, Configuration());
    embedded_cluster::EmbeddedClusterOptions cluster{.listen = options_.serve ? options_.listen : "",
                                                     .nodes = NodeCount(),
                                                     .seed = options_.seed,
                                                     .hostname = options_.hostname,
                                                     .shapes = Shapes(),
                                                     .kubeconfig = options_.kubeconfig};
    options_.follow_gates(cluster);
    BERTH_ASSIGN_OR_RETURN(cluster_, embedded_cluster::EmbeddedCluster::Start(cluster, clock_));
    if (options_.serve) TakeDefaultSchedulerToo(configuration);
    runner::ShellOptions shell;
    shell.seed = options_.seed;
    shell.hostname = options_.hostname;
    shell.waits_for_outside_data = true;
    shell.make_client = [&io = cluster_->io()](net::HttpClientOptions to) {
      return net::MakeHttpClient(io, std::move(to));
    };
    shell.on_decision = [this](const scheduler::Decision& decision) {
      if (!decision.node_name.empty()) tally_.SetRefusals(RefusalsOf(decision));
    };
    BERTH_ASSIGN_OR_RETURN(shell_, runner::SchedulerShell::Make(configuration, cluster_->rest(), cluster_->events(),
                                                                clock_, std::move(shell)));
    informer_ = WatchPods(
        cluster_->rest(), [this](const ShownPod& pod) { tally_.SetPod(pod); },
        [this](const std::string& name) { tally_.RemovePod(name); });
    informer_->Start();
    if (!WaitUntil([this] { return cluster_->ReadyNodes() == NodeCount(); }))
      return Error{ErrorCode::kTimeout, "demo: the simulated nodes did not get ready"};
    for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) BERTH_RETURN_IF_ERROR(Mark(i));
    for (const DemoWorkload& workload : scenario_.workloads)
      BERTH_RETURN_IF_ERROR(CreateWorkload(cluster_->rest(), workload, scenario_.policy));
    if (!WaitUntil([this] { return tally_.pod_count() == pods_expected_; }))
      return Error{ErrorCode::kTimeout, "demo: the Deployments' pods did not appear"};
    return {};
  }

  // The configuration of deploy/config; a source outside is replaced by a stand-in.
  Expected<config::KubeSchedulerConfiguration> Configuration() {
    const std::string_view text =
        scenario_.configuration.empty() ? PolicyConfiguration(scenario_.policy) : scenario_.configuration;
    BERTH_ASSIGN_OR_RETURN(auto configuration, config::LoadConfiguration(text, options_.gates));
    BERTH_RETURN_IF_ERROR(config::ValidateConfiguration(configuration));
    if (scenario_.nodes.front().nagios_output.empty()) return configuration;
    BERTH_ASSIGN_OR_RETURN(nagios_, NagiosStandIn::Start(scenario_.nodes, clock_));
    return AskStandIn(std::move(configuration), nagios_->url());
  }

  // The resources of nodes that have more than the usual ones; empty: no node has.
  std::vector<kubelet::NodeShape> Shapes() const {
    std::vector<kubelet::NodeShape> shapes;
    if (std::ranges::all_of(scenario_.nodes, [](const DemoNode& node) { return node.resources.empty(); }))
      return shapes;
    for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) {
      kubelet::NodeShape& shape = shapes.emplace_back();
      shape.name = NodeName(i);
      for (const auto& [name, amount] : scenario_.nodes[i].resources) shape.resources[name] = amount;
    }
    return shapes;
  }

  // Gives a node its labels and annotations.
  Expected<void> Mark(std::size_t index) {
    using codec::json::object;
    const DemoNode& node = scenario_.nodes[index];
    object labels;
    object annotations;
    for (const auto& [key, value] : node.labels) labels[key] = value ? codec::json::value(*value) : nullptr;
    for (const auto& [key, value] : node.annotations) annotations[key] = value;
    net::Request patch;
    patch.method = "PATCH";
    patch.target = client::ObjectPath("/api/v1", {}, "nodes", NodeName(index));
    patch.headers = {{"Content-Type", "application/merge-patch+json"}};
    patch.body = codec::WriteJson(
        object{{"metadata", object{{"labels", std::move(labels)}, {"annotations", std::move(annotations)}}}});
    if (const auto patched = cluster_->rest().DoSync(std::move(patch)); !patched.ok()) return patched.error();
    return {};
  }

  // Whether all pods that fit are running and the scheduler has refused the others.
  bool IsOver() {
    if (tally_.running() == pods_expected_) return true;
    if (!shell_->IsIdle()) return false;
    const std::size_t unbound = shell_->Unbound().size();
    return unbound > 0 && tally_.running() + static_cast<int>(unbound) == pods_expected_;
  }

  std::vector<std::string> Introduction() const {
    std::vector<std::string> lines{scenario_.title, "", "Before:"};
    for (std::string& line : Table()) lines.push_back(std::move(line));
    lines.emplace_back();
    for (const DemoWorkload& workload : scenario_.workloads) {
      std::string line = "Deployment " + workload.name + ": " + std::to_string(workload.replicas) +
                         (workload.replicas == 1 ? " pod, " : " pods, each ") + workload.cpu + " CPU";
      for (const auto& [name, amount] : workload.resources) line.append(", ").append(amount).append(" ").append(name);
      line += ", schedulerName: " + scenario_.policy;
      if (workload.gang > 0) line += ", a gang of " + std::to_string(workload.gang);
      for (const auto& [key, value] : workload.annotations) line.append(", ").append(key).append(": ").append(value);
      lines.push_back(std::move(line));
    }
    lines.emplace_back();
    lines.emplace_back("After:");
    return lines;
  }

  std::vector<std::string> Conclusion() {
    std::vector<std::string> lines;
    // A terminal has shown the table all along.
    if (!terminal_.IsTty()) lines = Table();
    if (scenario_.shows_refusals && !tally_.refusals().empty()) {
      lines.insert(lines.end(), {"", "In the last decision:"});
      for (std::string& line : tally_.refusals()) lines.push_back(std::move(line));
    }
    std::vector<std::string> unbound = Unbound();
    if (!unbound.empty()) lines.insert(lines.end(), {"", "Not placed:"});
    lines.insert(lines.end(), unbound.begin(), unbound.end());
    lines.emplace_back();
    lines.insert(lines.end(), scenario_.to_see.begin(), scenario_.to_see.end());
    return lines;
  }

  // How many pods of a workload wait for which reason.
  std::vector<std::string> Unbound() {
    std::map<std::string, int> counts;
    for (const scheduler::UnboundPod& pod : shell_->Unbound()) {
      std::string of = pod.key;
      for (const DemoWorkload& workload : scenario_.workloads) {
        if (pod.key.starts_with("default/" + workload.name + "-")) of = workload.name;
      }
      ++counts[of + ": " + pod.why];
    }
    std::vector<std::string> lines;
    for (const auto& [what, count] : counts)
      lines.push_back("  " + std::to_string(count) + (count == 1 ? " pod of " : " pods of ") + what);
    return lines;
  }

  std::vector<std::string> Table() const {
    std::vector<cli::Column> columns{{"NODE"}};
    if (!scenario_.column.empty()) columns.push_back({scenario_.column});
    const bool has_one = scenario_.workloads.size() == 1;
    for (const DemoWorkload& workload : scenario_.workloads) {
      std::string title = has_one ? "PODS" : "PODS OF " + workload.name;
      std::transform(title.begin(), title.end(), title.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
      columns.push_back({std::move(title), true});
    }
    cli::Table table(std::move(columns));
    for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) {
      std::vector<cli::Cell> cells{NodeName(i)};
      if (!scenario_.column.empty()) cells.emplace_back(scenario_.nodes[i].shown);
      std::map<std::string, int> counts = tally_.OnNode(NodeName(i));
      for (const DemoWorkload& workload : scenario_.workloads) {
        const int count = counts[workload.name];
        cells.emplace_back(std::to_string(count), count == 0 ? cli::Color::kDim : cli::Color::kGreen);
      }
      table.AddRow(std::move(cells));
    }
    return table.Lines(StyleOf(terminal_));
  }

  // False when the time limit or a signal came first. Shows the table meanwhile, where somebody looks at it.
  bool WaitUntil(const std::function<bool()>& is_done, bool shows_table = false) {
    std::optional<cli::AnsiScreen> screen;
    if (shows_table && terminal_.IsTty()) screen.emplace(terminal_);
    const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
    for (;;) {
      const bool done = is_done();
      if (screen) screen->Show(Table(), clock_.Now());
      if (done) return true;
      is_interrupted_ = cli::HasSignal();
      if (is_interrupted_ || std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(kFrame);
      if (screen) screen->Refresh(clock_.Now());
    }
  }

  void Write(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) terminal_.Write(line + "\n");
  }

  void Serve() {
    Write(ServedLines(embedded_cluster::ReachedAt(cluster_->address()), scenario_.workloads.back().name, 20,
                      options_.kubeconfig));
    (void)cli::WaitForSignal();
  }

  // Idempotent. Returns `status`.
  int End(int status) {
    if (cluster_ == nullptr) return status;
    if (shell_) shell_->Stop(Duration(std::chrono::seconds(1)));
    cluster_->Stop();
    informer_.reset();
    shell_.reset();
    cluster_.reset();
    return status;
  }

  int NodeCount() const { return static_cast<int>(scenario_.nodes.size()); }

  const PolicyScenario& scenario_;
  const PolicyDemoOptions& options_;
  const SystemClock clock_;
  cli::FileTerminal terminal_;
  Tally tally_;
  int pods_expected_ = 0;
  bool is_interrupted_ = false;
  std::unique_ptr<NagiosStandIn> nagios_;
  std::unique_ptr<embedded_cluster::EmbeddedCluster> cluster_;
  std::unique_ptr<runner::SchedulerShell> shell_;
  std::unique_ptr<client::Informer<ShownPod>> informer_;
};

}  // namespace

std::string PolicyDemoNames() {
  std::string names;
  for (const PolicyScenario& scenario : PolicyScenarios()) names += (names.empty() ? "" : ", ") + scenario.policy;
  return names;
}

std::string CheckPolicyDemo(const std::string& name, const std::vector<std::string>& more) {
  const auto is_named = [&](const PolicyScenario& scenario) { return scenario.policy == name; };
  if (std::ranges::any_of(PolicyScenarios(), is_named) || std::ranges::find(more, name) != more.end()) return "";
  const std::string shown = cli::CutToWidth(cli::Printable(name), kNameWidthMax);
  std::vector<std::string_view> names;
  for (const PolicyScenario& scenario : PolicyScenarios()) names.push_back(scenario.policy);
  names.insert(names.end(), more.begin(), more.end());
  std::string all = PolicyDemoNames();
  for (const std::string& each : more) all += ", " + each;
  return "there is no policy \"" + shown + "\"; the nearest is " + std::string(NearestName(shown, names)) + ", of " +
         all;
}

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const PolicyScenario& scenario : OtherScenarios()) names.push_back(scenario.policy);
  return names;
}

int ScenarioRelease(const std::string& name) {
  const PolicyScenario* const scenario = FindScenario(name);
  return scenario == nullptr ? framework::kDefaultRelease : scenario->release_minor;
}

int RunPolicyDemo(const PolicyDemoOptions& options) {
  log::SetLevel(log::Level::kError);  // The screen is the demo's.
  return PolicyDemo(*FindScenario(options.name), options).Run();
}

}  // namespace berth::demo
