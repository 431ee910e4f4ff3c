// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/run_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "berth/api/meta.h"
#include "berth/app/connection.h"
#include "berth/app/leader_election.h"
#include "berth/app/metrics_server.h"
#include "berth/app/page/own_page.h"
#include "berth/app/process.h"
#include "berth/app/process_tracing.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/app/rebalance/rebalance_cluster.h"
#include "berth/app/rebalance/rebalance_command.h"
#include "berth/app/rebalance/rebalance_loop.h"
#include "berth/app/run/configuration_file.h"
#include "berth/app/run/end_guard.h"
#include "berth/app/run/explain_endpoint.h"
#include "berth/app/run/re_exec.h"
#include "berth/app/run/release_watch.h"
#include "berth/app/run/run_flags.h"
#include "berth/app/run/secure_port.h"
#include "berth/app/run/work_report.h"
#include "berth/base/go_text.h"
#include "berth/base/log.h"
#include "berth/base/log_settings.h"
#include "berth/base/log_writer.h"
#include "berth/base/tick_clock.h"
#include "berth/codec/json.h"
#include "berth/codec/yaml.h"
#include "berth/core/config/default.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/config/write.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/scheduler/attempt_log.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/demo/policy_configurations.h"
#include "berth/framework/release.h"
#include "berth/page/decision_feed.h"
#include "berth/page/page_on_demand.h"
#include "berth/provisioning/provisioning_feed.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/metrics/process_metrics.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/net/free_memory.h"
#include "berth/shell/runner/leader_election.h"
#include "berth/shell/runner/orderly_end.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {
namespace {

Expected<config::KubeSchedulerConfiguration> Configuration(const RunOptions& options,
                                                           const config::FeatureGates& gates) {
  const std::string& path = options.flags.config;
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration(gates);
  if (!path.empty()) {
    BERTH_ASSIGN_OR_RETURN(configuration, ReadConfigurationFile(path, gates));
  } else if (!options.policy.empty()) {
    BERTH_ASSIGN_OR_RETURN(configuration, config::LoadConfiguration(demo::PolicyConfiguration(options.policy), gates));
  }
  if (!options.scheduler_name.empty()) {
    configuration.profiles.front().scheduler_name = options.scheduler_name;
    // Beside the cluster's own scheduler, whose lease it has no part in.
    if (options.scheduler_name != "default-scheduler")
      configuration.leader_election.resource_name = options.scheduler_name;
  }
  ApplyOptions(options.flags, !path.empty(), configuration);
  const config::LeaderElection& election = configuration.leader_election;
  if (!options.scheduler_name.empty() && election.leader_elect && election.resource_name == options.scheduler_name &&
      !api::IsDnsSubdomain(options.scheduler_name))
    return InvalidError("--scheduler-name: \"" + options.scheduler_name +
                        "\" is the lease's name too, which should have lower-case letters, digits, '-' and '.' alone; "
                        "--leader-elect-resource-name gives it another one");
  if (const auto valid = config::ValidateConfiguration(configuration); !valid.ok())
    return path.empty() ? valid.error() : InConfigurationFile(path, valid.error());
  return configuration;
}

// As upstream a file's own connection counts, and the flags without a file; `berth run` fills in what a file leaves
// out.
ConnectionOptions ConnectionOf(const RunOptions& options, const config::ClientConnection& configured) {
  ConnectionOptions to = options.connection;
  to.kubeconfig = configured.kubeconfig;
  if (to.kubeconfig.empty() && !options.is_kube_scheduler) {
    const char* const variable = std::getenv("KUBECONFIG");
    to.kubeconfig =
        options.flags.IsGiven("kubeconfig") || variable == nullptr ? options.flags.deprecated.kubeconfig : variable;
  }
  to.master = options.flags.master;
  to.qps = configured.qps;
  to.burst = configured.burst;
  to.content_type = configured.content_type;
  to.accept_content_types = configured.accept_content_types;
  return to;
}

// Upstream's --write-config-to.
int WriteConfigurationFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return cli::FailWith(InvalidError("--write-config-to " + path + ": cannot be written"), cli::kExitUsage);
  log::Info("app", "Wrote configuration", {{"file", path}});
  return cli::kExitOk;
}

constexpr auto kLook = std::chrono::milliseconds(20);
// Whether the page is in use is looked at so often.
constexpr auto kPageLookPeriod = std::chrono::seconds(30);

bool IsNamespace(const std::string& name) {
  return api::IsDnsSubdomain(name) && name.size() <= 63 && name.find('.') == std::string::npos;
}

Expected<std::set<std::string, std::less<>>> ParseNamespaces(const std::optional<std::string>& list) {
  std::set<std::string, std::less<>> names;
  for (std::size_t begin = 0; list && begin <= list->size();) {
    const std::size_t end = std::min(list->find(',', begin), list->size());
    std::string name = list->substr(begin, end - begin);
    if (!IsNamespace(name)) return InvalidError("--namespaces: \"" + name + "\" is no name of a namespace");
    names.insert(std::move(name));
    begin = end + 1;
  }
  return names;
}

// Until nothing is left to do, for so long no pod was placed or the cluster's objects have not been listed, or a signal
// comes.
void WaitUntilPlaced(const runner::SchedulerShell& shell, std::chrono::seconds patience) {
  std::uint64_t placed = 0;
  bool has_synced = false;
  auto latest = std::chrono::steady_clock::now();
  while (!shell.IsIdle() && !cli::HasSignal()) {
    const std::uint64_t count = shell.counts().scheduled;
    const auto now = std::chrono::steady_clock::now();
    if (count != placed || shell.HasSynced() != has_synced) latest = now;
    if (now - latest > patience) return;
    placed = count;
    has_synced = shell.HasSynced();
    std::this_thread::sleep_for(kLook);
  }
}

// The exit status; a line for each pod without a node.
int ReportUnbound(runner::SchedulerShell& shell) {
  if (!shell.HasSynced()) {
    std::fprintf(stderr, "berth: ended before the cluster's objects had been listed\n");
    return cli::kExitFailed;
  }
  const std::vector<scheduler::UnboundPod> unbound = shell.Unbound();
  for (const scheduler::UnboundPod& pod : unbound)
    std::printf("%s: %s\n", pod.key.c_str(), cli::Printable(pod.why).c_str());
  std::fflush(stdout);
  return unbound.empty() ? cli::kExitOk : cli::kExitFailed;
}

// As /configz shows it.
std::string ConfigurationJson(const config::KubeSchedulerConfiguration& configuration,
                              const config::FeatureGates& gates) {
  const auto value = codec::ParseYaml(config::ShowConfiguration(configuration, gates));
  return value.ok() ? codec::WriteJson(*value) : "null";
}

// Every gate that the emulated version knows, as kubernetes_feature_enabled names its stage.
std::vector<metrics::Feature> Features(const config::FeatureGates& gates) {
  std::vector<metrics::Feature> features;
  for (const config::GateRow& row : config::FeatureGates::Table()) {
    const auto spec = config::FeatureGates::SpecAt(row.name, gates.emulated_minor());
    if (!row.IsIn(gates.release_minor()) || spec->stage == config::GateStage::kPreAlpha) continue;
    const std::string stage(spec->stage == config::GateStage::kGa ? std::string_view() : ToString(spec->stage));
    features.push_back({std::string(row.name), stage, gates.Enabled(row.name)});
  }
  return features;
}

// --disabled-metrics and --allow-metric-labels.
metrics::ViewOptions ViewOf(const MetricsOptions& options) {
  metrics::ViewOptions view;
  view.disabled.insert(options.disabled_metrics.begin(), options.disabled_metrics.end());
  for (const auto& [label, values] : options.allow_metric_labels) {
    const std::vector<std::string> allowed = GoSplit(values, ",");
    view.label_values[label].insert(allowed.begin(), allowed.end());
  }
  return view;
}

// What has a say in decisions, and none in an explanation.
std::vector<std::string> NotAsked(const config::KubeSchedulerConfiguration& configuration) {
  std::vector<std::string> lines;
  for (const config::Extender& extender : configuration.extenders) lines.push_back(ExtenderNotAsked(extender));
  return lines;
}

// Upstream's, with its name and tolerance.
serving::HealthCheck LeaderElectionCheck(const client::LeaderElector& elector) {
  return {"leaderElection", [&elector]() -> std::optional<std::string> {
            if (elector.IsHealthy(std::chrono::seconds(20))) return std::nullopt;
            return "failed election to renew leadership on lease";
          }};
}

// One `berth run`. Its members are in the order in which they come up; what comes later uses what is there.
class ClusterRun {
 public:
  ClusterRun(const RunOptions& options, config::KnownPlugins plugins)
      : options_(options),
        plugins_(plugins),
        gates_(options.gates),
        stopwatch_(clock_),
        seed_(options.seed.value_or(RandomSeed())) {}

  // Reads configuration and kubeconfig and makes what they ask for; nothing is sent yet. An error is a wrong use.
  Expected<void> Prepare(std::set<std::string, std::less<>> set_aside);
  // The exit status when only the configuration was to be written.
  std::optional<int> WriteConfiguration() const;
  Expected<void> ServeMetrics();
  Expected<void> ServeSecurely();
  // Until the release to follow is known: an API server that did not answer is asked again. If it is not the release
  // for which all is prepared, the program re-executes itself. False: the end came first.
  bool AwaitRelease();
  void Start();
  // The exit status.
  int WaitForTheEnd();
  // After the end: the API servers have come to another release, which only a start can follow.
  bool begins_again() const { return watchers_.release && watchers_.release->has_ended(); }

 private:
  Expected<void> ReadConfiguration();
  Expected<void> FollowRelease(int minor);
  Expected<void> Connect();
  Expected<void> FollowServer();
  Expected<void> MakeTracing();
  Expected<void> MakeShell(runner::ShellOptions shell_options);
  recording::RecordingHeader Header(const scheduler::PodChoice& pods) const;
  void PrepareToLead();
  Expected<void> PrepareRebalancing();
  Expected<page::PageOnDemand::Opened> OpenPage();
  void CloseUnusedPage();
  SecurePortSources Sources();
  std::optional<std::string> WhyNothingIsDecided(const std::function<bool()>& is_leader) const;
  int PlaceOnce();
  WorkReport::Sources ReportSources();
  void AskVersion(std::function<void(std::string body)> done);
  void WatchRelease();

  const RunOptions& options_;
  const config::KnownPlugins plugins_;
  config::FeatureGates gates_;
  config::KubeSchedulerConfiguration configuration_;
  const SystemClock clock_;
  const TickClock stopwatch_;
  const std::uint64_t seed_;
  ConnectionOptions connection_options_;
  bool is_release_known_ = true;
  const net::BootClock boot_clock_;
  std::optional<runner::LeaderElection> election_;
  metrics::PrometheusMetrics metrics_;
  std::unique_ptr<ProcessTracing> tracing_;                         // null: no pod is traced
  std::optional<instruments::SchedulerMetrics> scheduler_metrics_;  // once the release is known
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<runner::SchedulerShell> shell_;
  // What is looked at every now and then, and logged.
  struct Watchers {
    std::shared_ptr<WorkReport> report;
    std::shared_ptr<ReleaseWatch> release;
  };
  Watchers watchers_;
  page::DecisionFeed page_feed_{false};     // keeps nothing unless the page is open
  std::optional<page::PageOnDemand> page_;  // of the secure port; metrics_io_ looks after it
  net::IoContext metrics_io_;
  std::unique_ptr<net::HttpServer> metrics_server_;
  std::atomic<bool> is_ending_{false};
  std::unique_ptr<serving::SecureServer> secure_port_;
  std::unique_ptr<RebalanceCluster> rebalance_cluster_;  // null: no pods are moved
  RebalanceLoop rebalance_loop_{clock_};
};

Expected<void> ClusterRun::Prepare(std::set<std::string, std::less<>> set_aside) {
  BERTH_RETURN_IF_ERROR(ReadConfiguration());
  runner::ShellOptions shell_options;
  shell_options.pods = {options_.pods_by_annotation, {}, std::move(set_aside)};
  BERTH_ASSIGN_OR_RETURN(shell_options.pods.namespaces, ParseNamespaces(options_.namespaces));
  BERTH_RETURN_IF_ERROR(Connect());
  if (options_.release.IsAuto() && options_.flags.write_config_to.empty()) BERTH_RETURN_IF_ERROR(FollowServer());
  scheduler_metrics_.emplace(metrics_.registry(), gates_.FollowedRelease());
  metrics::AddProcessMetrics(metrics_.registry());
  metrics::AddLogMetrics(metrics_.registry());
  // Alerts compare the beginning of the version among a cluster's parts.
  const int minor = gates_.release_minor();
  metrics::AddBuildMetrics(metrics_.registry(),
                           {"1", std::to_string(minor), std::string(KubernetesVersion(minor)) + "+berth",
                            gates_.FollowedRelease().is_build_info_beta});
  metrics::AddFeatureMetrics(metrics_.registry(), Features(gates_));
  metrics_.registry()
      .AddCounter({"disabled_metrics_total", "", {}})
      .With({})
      .Store(static_cast<double>(options_.flags.metrics.disabled_metrics.size()));
  metrics_.SetView(ViewOf(options_.flags.metrics));
  BERTH_RETURN_IF_ERROR(MakeTracing());
  BERTH_RETURN_IF_ERROR(MakeShell(std::move(shell_options)));
  BERTH_RETURN_IF_ERROR(PrepareRebalancing());
  if (election_) PrepareToLead();
  return {};
}

Expected<void> ClusterRun::Connect() {
  connection_options_ = ConnectionOf(options_, configuration_.client_connection);
  connection_options_.metrics = &metrics_.registry();
  if (configuration_.leader_election.leader_elect && !options_.once) {
    BERTH_RETURN_IF_ERROR(runner::LeaderElection::Check(configuration_.leader_election));
    connection_options_.fence = election_.emplace(boot_clock_).fence();
  }
  BERTH_ASSIGN_OR_RETURN(connection_, Connection::Make(connection_options_, clock_, seed_));
  return {};
}

// With an automatic release, the file may be right for some releases alone, of which the server's will show to be one.
Expected<void> ClusterRun::ReadConfiguration() {
  auto configuration = Configuration(options_, gates_);
  if (!configuration.ok()) {
    if (!options_.release.IsAuto()) return configuration.error();
    for (int minor = framework::kNewestRelease; minor >= framework::kOldestRelease; --minor) {
      if (FollowRelease(minor).ok()) return {};
    }
    return configuration.error();
  }
  configuration_ = std::move(*configuration);
  return {};
}

Expected<void> ClusterRun::FollowRelease(int minor) {
  config::FeatureGateSettings settings = options_.flags.feature_gates;
  settings.release_minor = minor;
  BERTH_ASSIGN_OR_RETURN(config::FeatureGates gates, config::FeatureGates::Parse(settings));
  BERTH_ASSIGN_OR_RETURN(configuration_, Configuration(options_, gates));
  gates_ = std::move(gates);
  return {};
}

// Flags and file have to be right for the server's release, too.
Expected<void> ClusterRun::FollowServer() {
  const auto version = AskServerVersion(connection_->rest());
  is_release_known_ = version.ok() || !IsForLater(version.error());
  if (!is_release_known_) return {};
  const auto minor = version.ok() ? ReleaseFor(*version) : Expected<int>(version.error());
  if (!minor.ok()) {
    log::Warning("app", DescribeReleaseWithoutVersion(minor.error(), gates_.release_minor()));
    return {};
  }
  log::Info("app", DescribeRelease(*version, *minor), {{"server", *version}});
  if (*minor == gates_.release_minor()) return {};
  return FollowRelease(*minor);
}

bool ClusterRun::AwaitRelease() {
  if (is_release_known_) return true;
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(options_.once_patience_s);
  const auto version = AwaitServerVersion(connection_->rest(), [&] {
    return cli::HasSignal() || (options_.once && std::chrono::steady_clock::now() > latest);
  });
  is_release_known_ = version.ok() || version.error().code != ErrorCode::kCancelled;
  if (!is_release_known_) return false;
  const auto minor = version.ok() ? ReleaseFor(*version) : Expected<int>(version.error());
  if (!minor.ok()) {
    log::Warning("app", DescribeReleaseWithoutVersion(minor.error(), gates_.release_minor()));
    return true;
  }
  if (*minor == gates_.release_minor()) {
    log::Info("app", DescribeRelease(*version, *minor), {{"server", *version}});
    return true;
  }
  log::Info("app", "Beginning again, as the API server's version needs it", {{"server", *version}});
  log::ErrorLine("app", "Cannot begin again", {{"err", ReExec().message}});
  return false;
}

Expected<void> ClusterRun::MakeTracing() {
  if (options_.tracing_config_file.empty()) return {};
  const std::string service = options_.is_kube_scheduler ? "kube-scheduler" : "berth";
  BERTH_ASSIGN_OR_RETURN(tracing_, ProcessTracing::Make(options_.tracing_config_file, service, clock_, metrics_));
  if (tracing_ != nullptr) scheduler_metrics_->traces = &tracing_->tracer().pods();
  return {};
}

Expected<void> ClusterRun::MakeShell(runner::ShellOptions shell_options) {
  shell_options.metrics = &metrics_;
  shell_options.scheduler_metrics = &*scheduler_metrics_;
  shell_options.stopwatch = &stopwatch_;
  if (tracing_ != nullptr) shell_options.tracer = &tracing_->tracer();
  shell_options.make_client = [this](net::HttpClientOptions to) {
    auto client = MakeOutsideClient(connection_->io(), std::move(to));
    if (client.ok() && election_) client = election_->Fenced(std::move(*client));
    return client;
  };
  if (election_) {
    shell_options.is_leading = [fence = election_->fence()] { return fence->IsOpen(); };
    shell_options.lists_when_leading = configuration_.delay_cache_until_active;
  }
  shell_options.seed = seed_;
  shell_options.hostname = HostName();
  if (!options_.provisioning_requests.empty()) {
    shell_options.make_booking_feed = provisioning::FeedMaker(
        {.controller = {options_.provisioning_requests, shell_options.pods.namespaces, &metrics_},
         .seed = seed_,
         .scheduler_name = configuration_.profiles.front().scheduler_name,
         .hostname = shell_options.hostname});
  }
  shell_options.read_file = plugin_files::PluginFiles(options_.flags.config);
  shell_options.plugins = plugins_;
  shell_options.waits_for_outside_data = options_.once;
  shell_options.unschedulable_max = options_.flags.deprecated.pod_max_in_unschedulable_pods_duration;
  if (!options_.record.directory.empty()) {
    AddRecording(options_.record, Header(shell_options.pods), shell_options);
  }
  shell_options.on_decision = [feed = FeedPage(page_feed_, clock_)](const scheduler::Decision& decision) {
    scheduler::LogDecision(decision);
    feed(decision);
  };
  auto shell = runner::SchedulerShell::Make(configuration_, connection_->rest(), connection_->events(), clock_,
                                            std::move(shell_options));
  const std::string& path = options_.flags.config;
  if (!shell.ok()) return path.empty() ? shell.error() : shell.error().Wrap("--config " + path);
  shell_ = *std::move(shell);
  return {};
}

recording::RecordingHeader ClusterRun::Header(const scheduler::PodChoice& pods) const {
  recording::RecordingHeader header = recording::MakeHeader(configuration_, options_.flags.feature_gates, gates_);
  const std::string agent = client::DefaultUserAgent();  // "berth/0.1.0"
  header.version = agent.substr(agent.find('/') + 1);
  header.started_at = clock_.WallNow();
  header.origin = clock_.Now();
  header.seed = seed_;
  header.pods = pods;
  header.unschedulable_max = options_.flags.deprecated.pod_max_in_unschedulable_pods_duration;
  header.plugin_directory = options_.plugin_directory;
  return header;
}

void ClusterRun::PrepareToLead() {
  const std::string& lease = configuration_.leader_election.resource_name;
  metrics::SetLeader(metrics_.registry(), lease, false);
  PrepareElection(*election_, configuration_.leader_election, configuration_.profiles.front().scheduler_name, seed_,
                  connection_->election(), [this, &lease] {
                    metrics::SetLeader(metrics_.registry(), lease, true);
                    shell_->Lead();
                    rebalance_loop_.Begin();
                  });
  metrics::AddSlowRenewals(metrics_.registry(), lease,
                           [&elector = election_->elector()] { return elector.slow_path_count(); });
}

// The rounds of `berth rebalance run`, with the plugins that schedule, and with places that are kept.
Expected<void> ClusterRun::PrepareRebalancing() {
  if (options_.rebalance.empty()) return {};
  RebalanceClusterOptions cluster;
  auto policy = LoadPolicy("--rebalance", options_.rebalance);
  if (!policy.ok()) return policy.error();
  cluster.policy = std::move(*policy);
  cluster.core.configuration = configuration_;
  cluster.core.plugins = plugins_;
  cluster.core.read_file = plugin_files::PluginFiles(options_.flags.config);
  cluster.core.seed = seed_;
  cluster.namespace_name = configuration_.leader_election.resource_namespace;
  cluster.name = configuration_.leader_election.resource_name + "-rebalancer";
  cluster.hostname = HostName();
  cluster.is_ending = [this] { return rebalance_loop_.IsEnding(); };
  cluster.writes_events = options_.rebalancer.executes;
  cluster.reserve = [this](const rebalance::PlannedMove& move) {
    return shell_->reservations().Reserve(*move.pod, move.to, options_.rebalancer.placement_max);
  };
  cluster.cancel = [this](const std::string& uid) { shell_->reservations().Cancel(uid); };
  rebalance_cluster_ = std::make_unique<RebalanceCluster>(
      RebalanceCluster::Server{connection_->rest(), connection_->events(), connection_->io(), connection_->server()},
      clock_, metrics_, std::move(cluster));
  return {};
}

std::optional<int> ClusterRun::WriteConfiguration() const {
  const std::string& path = options_.flags.write_config_to;
  constexpr log::Detail kDetail{2, "configfile"};
  log::Info(kDetail, "app", "Using component config", {{"config", config::ShowConfiguration(configuration_, gates_)}});
  if (path.empty()) return std::nullopt;
  return WriteConfigurationFile(path, config::WriteConfiguration(configuration_, gates_));
}

Expected<void> ClusterRun::ServeMetrics() {
  BERTH_ASSIGN_OR_RETURN(metrics_server_, app::ServeMetrics(metrics_io_, options_.metrics_bind_address, metrics_));
  return {};
}

Expected<void> ClusterRun::ServeSecurely() {
  // `berth run` serves when --secure-port is given, kube-scheduler in any case: two schedulers of one machine must not
  // meet at the port.
  if (!options_.is_kube_scheduler && !options_.flags.IsGiven("secure-port")) return {};
  page_.emplace([this] { return OpenPage(); }, clock_);
  CloseUnusedPage();
  BERTH_ASSIGN_OR_RETURN(secure_port_, ServeSecurePort(options_.flags, Sources(), *shell_, *connection_,
                                                       connection_options_, clock_, seed_));
  return {};
}

// The page lists, and reads for questions, over a connection and a loop of its own: it must not hold up those that
// decisions wait for.
Expected<page::PageOnDemand::Opened> ClusterRun::OpenPage() {
  ConnectionOptions connection = connection_options_;
  connection.fence = nullptr;  // it writes nothing
  connection.metrics = nullptr;
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Connection> made, Connection::Make(connection, clock_, seed_));
  OwnPageOptions options;
  options.configuration = configuration_;
  options.configuration_file = options_.flags.config;
  options.plugins = plugins_;
  options.source = connection_->server();
  options.kubernetes = std::string(KubernetesVersion(gates_.release_minor()));
  options.seed = seed_;
  const client::LeaderElector* const elector = election_ ? &election_->elector() : nullptr;
  options.why_not = [this, elector] {
    return WhyNothingIsDecided([elector] { return elector == nullptr || elector->IsLeader(); });
  };
  options.not_asked = NotAsked(configuration_);
  options.metrics = &metrics_.registry();
  page::PageOnDemand::Opened opened;
  opened.service = MakeOwnPage(std::move(options), made->rest(), *shell_, page_feed_, clock_);
  opened.connection = std::move(made);
  return opened;
}

// On the loop of metrics, which may wait for the threads of a page to end.
void ClusterRun::CloseUnusedPage() {
  metrics_io_.PostAfter(kPageLookPeriod, [this] {
    (void)page_->CloseIfUnused();
    CloseUnusedPage();
  });
}

SecurePortSources ClusterRun::Sources() {
  SecurePortSources sources;
  if (election_) {
    const client::LeaderElector& elector = election_->elector();
    sources.is_leader = [&elector] { return elector.IsLeader(); };
    sources.leader_election = LeaderElectionCheck(elector);
  }
  sources.is_ending = [this] { return is_ending_.load(); };
  const auto explain = std::make_shared<ExplainEndpoint>(
      ExplainEndpoint::Sources{[this](const auto& question) { shell_->Ask(question); },
                               [this, is_leader = sources.is_leader] { return WhyNothingIsDecided(is_leader); },
                               NotAsked(configuration_)},
      clock_);
  sources.explain = [explain](const net::Request& request, const net::Target& target, const std::string& path,
                              ExplainEndpoint::Done done) { explain->Answer(request, target, path, std::move(done)); };
  sources.page = [this](net::Request request, const net::Target& target, const std::string& path,
                        const std::shared_ptr<net::ResponseWriter>& writer) {
    page_->Handle(std::move(request), target, path, writer);
  };
  sources.metrics_text = [this] { return metrics_.Text(); };
  sources.reset_metrics = [this] { metrics_.Reset(); };
  sources.config_json = [this] { return ConfigurationJson(configuration_, gates_); };
  if (gates_.Enabled("ComponentFlagz")) sources.flags = [this] { return options_.flags.shown; };
  sources.has_status_page = gates_.Enabled("ComponentStatusz");
  sources.ends_anonymous_http2 = gates_.Enabled("UnauthenticatedHTTP2DOSMitigation");
  sources.is_profiling_enabled = configuration_.enable_profiling;
  return sources;
}

std::optional<std::string> ClusterRun::WhyNothingIsDecided(const std::function<bool()>& is_leader) const {
  if (is_leader && !is_leader()) return "this process stands by: ask the one that leads, it decides";
  if (!shell_->HasSynced()) return "the cluster's objects have not all been listed yet";
  return std::nullopt;
}

void ClusterRun::Start() {
  const bool is_from_file = !options_.flags.config.empty();
  for (const std::string& line : FieldsWithoutEffect(configuration_, is_from_file)) log::Info("app", line);
  std::string names;
  for (const config::Profile& profile : configuration_.profiles)
    names += (names.empty() ? "" : " ") + profile.scheduler_name;
  log::Info("app", "Starting Kubernetes Scheduler",
            {{"version", ReportedVersion(options_, gates_.release_minor())},
             {"schedulers", names},
             {"server", connection_->server()},
             {"seed", seed_}});
  for (const std::string& line : UnnoticedNames(configuration_, plugins_)) log::Warning("app", line);
  shell_->Start();
  if (rebalance_cluster_) rebalance_loop_.Start(*rebalance_cluster_, options_.rebalancer);
  if (election_) {
    election_->Start();
  } else {
    rebalance_loop_.Begin();
  }
  watchers_.report = std::make_shared<WorkReport>(connection_->rest().loop(), ReportSources(), LogReports(names));
  watchers_.report->Start();
  net::ReturnFreeMemory(connection_->io());
  if (options_.release.IsAuto() && !options_.once) WatchRelease();
}

void ClusterRun::AskVersion(std::function<void(std::string body)> done) {
  net::Request request;
  request.target = "/version";
  connection_->rest().Do(std::move(request), {.tries = 1},
                         [done = std::move(done)](const Expected<net::Response>& response) {
                           done(response.ok() ? response->body : std::string());
                         });
}

void ClusterRun::WatchRelease() {
  const int followed = gates_.release_minor();
  metrics::SetReleases(metrics_.registry(), followed, followed);
  if (options_.follows_upgrades_after == Duration::zero()) return;
  ReleaseWatch::Ports ports;
  ports.ask_version = [this](auto done) { AskVersion(std::move(done)); };
  ports.is_leading = [elector = election_ ? &election_->elector() : nullptr] {
    return elector != nullptr && elector->IsLeader();
  };
  ports.check = [this](int release) -> Expected<void> {
    config::FeatureGateSettings settings = options_.flags.feature_gates;
    settings.release_minor = release;
    BERTH_ASSIGN_OR_RETURN(const config::FeatureGates gates, config::FeatureGates::Parse(settings));
    BERTH_RETURN_IF_ERROR(Configuration(options_, gates));
    return {};
  };
  ports.on_server = [this, followed](int release) { metrics::SetReleases(metrics_.registry(), followed, release); };
  ports.begin_again = [](int, const std::string&) { cli::EndWait(); };
  watchers_.release = std::make_shared<ReleaseWatch>(
      connection_->rest().loop(), ReleaseWatch::Options{followed, options_.follows_upgrades_after}, std::move(ports));
  watchers_.release->Start();
}

WorkReport::Sources ClusterRun::ReportSources() {
  return {[this] { return shell_->HasSynced(); }, [this] { return shell_->counts(); },
          [&sizes = scheduler_metrics_->sizes] {
            const auto count = [](const GaugeCell& cell) { return static_cast<std::uint64_t>(cell.value()); };
            return WorkReport::Sizes{
                count(sizes.nodes), count(sizes.pods),
                count(sizes.active) + count(sizes.backoff) + count(sizes.unschedulable) + count(sizes.gated)};
          },
          [this](std::function<void(std::string body)> done) { AskVersion(std::move(done)); }};
}

int ClusterRun::PlaceOnce() {
  if (is_release_known_) WaitUntilPlaced(*shell_, std::chrono::seconds(options_.once_patience_s));
  const int status = ReportUnbound(*shell_);
  shell_->FlushStatuses(std::chrono::seconds(runner::kShutdownGraceSeconds));
  return status;
}

int ClusterRun::WaitForTheEnd() {
  int status = cli::kExitOk;
  if (options_.once) {
    status = PlaceOnce();
  } else {
    const char* signal = cli::WaitForSignal([this] {
      shell_->LogDebugDump();
      if (rebalance_cluster_) rebalance_loop_.LogStaying();
    });
    if (election_ && election_->HasLost()) EndWithLostLease();
    is_ending_ = true;
    log::Info("app", "Ending",
              {{"signal", begins_again() ? "" : signal}, {"graceSeconds", runner::kShutdownGraceSeconds}});
  }
  const EndGuard guard(EndGuard::kPatience, [] {
    log::ErrorLine("app", "The process ends although a turn of the core has not: a plugin keeps it",
                   {{"seconds", std::chrono::duration_cast<std::chrono::seconds>(EndGuard::kPatience).count()}});
    log::Flush(log::AsyncWriter::kEndMax);
    ::_exit(cli::kExitFailed);
  });
  runner::EndInOrder({*shell_, election_ ? &*election_ : nullptr,
                      [this] {
                        rebalance_loop_.End();
                        if (rebalance_cluster_)
                          rebalance_cluster_->Flush(std::chrono::seconds(runner::kShutdownGraceSeconds));
                      },
                      [this] { return !rebalance_cluster_ || !rebalance_cluster_->HasOpenEviction(); }});
  if (tracing_) tracing_->End();
  if (page_) page_->Stop();
  connection_->Stop();
  const scheduler::Counts counts = shell_->counts();
  log::Info("app", "Ended",
            {{"scheduled", counts.scheduled}, {"unschedulable", counts.unschedulable}, {"errors", counts.errors}});
  return status;
}

}  // namespace

int RunOnCluster(const RunOptions& options, config::KnownPlugins plugins) {
  ShareMemory();
  RaiseFileLimit();
  auto set_aside = ReExecOnFailure();
  ClusterRun run(options, plugins);
  if (const auto prepared = run.Prepare(std::move(set_aside)); !prepared.ok())
    return FailRun(options, prepared.error(), cli::kExitUsage);
  if (const std::optional<int> status = run.WriteConfiguration()) return *status;
  if (const auto served = run.ServeMetrics(); !served.ok()) return FailRun(options, served.error(), cli::kExitFailed);
  if (const auto served = run.ServeSecurely(); !served.ok()) {
    const ErrorCode code = served.error().code;
    const bool is_usage = code == ErrorCode::kInvalid || code == ErrorCode::kNotFound;
    return FailRun(options, served.error(), is_usage ? cli::kExitUsage : cli::kExitFailed);
  }
  // From here on there are turns, which must not wait for whoever reads the log.
  const log::AsyncWriter writer;
  if (run.AwaitRelease()) {
    run.Start();
  } else {
    cli::EndWait();
  }
  const int status = run.WaitForTheEnd();
  if (!run.begins_again()) return status;
  log::ErrorLine("app", "Cannot begin again", {{"err", ReExec().message}});
  return cli::kExitFailed;
}

}  // namespace berth::app
