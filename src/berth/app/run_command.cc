// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "berth/api/meta.h"
#include "berth/app/begin_anew.h"
#include "berth/app/configuration_file.h"
#include "berth/app/connection.h"
#include "berth/app/leader_election.h"
#include "berth/app/process.h"
#include "berth/app/secure_port.h"
#include "berth/base/log.h"
#include "berth/base/log_settings.h"
#include "berth/base/tick_clock.h"
#include "berth/codec/json.h"
#include "berth/codec/yaml.h"
#include "berth/core/config/default.h"
#include "berth/core/config/validate.h"
#include "berth/core/config/write.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/metrics/process_metrics.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/metrics/text_format.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {
namespace {

Expected<config::KubeSchedulerConfiguration> Configuration(const RunOptions& options) {
  const std::string& path = options.flags.config;
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration(options.gates);
  if (!path.empty()) {
    BERTH_ASSIGN_OR_RETURN(configuration, ReadConfigurationFile(path, options.gates));
  }
  if (!options.scheduler_name.empty()) {
    configuration.profiles.front().scheduler_name = options.scheduler_name;
    // Beside the cluster's own scheduler, whose lease it has no part in.
    if (options.scheduler_name != "default-scheduler")
      configuration.leader_election.resource_name = options.scheduler_name;
  }
  ApplyOptions(options.flags, !path.empty(), configuration);
  if (const auto valid = config::ValidateConfiguration(configuration); !valid.ok())
    return path.empty() ? valid.error() : valid.error().Wrap("--config " + path);
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
  if (configured.qps) to.qps = std::max(0.0, *configured.qps);  // less than 0: no limit
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

Expected<std::unique_ptr<net::HttpServer>> ServeMetrics(net::IoContext& io, const std::string& listen,
                                                        const metrics::PrometheusMetrics& metrics) {
  net::HttpServerOptions options;
  options.listen = listen;
  options.connections_max = 64;
  return net::StartHttpServer(
      io, std::move(options), [&metrics](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& to) {
        const bool is_known = request.target == "/metrics" || request.target.starts_with("/metrics?");
        if (request.method != "GET" || !is_known) {
          to->Send({is_known ? 405 : 404, {{"Content-Type", "text/plain"}}, "GET /metrics is all there is\n"});
          return;
        }
        to->Send({200, {{"Content-Type", metrics::kTextContentType}}, metrics.Text()});
      });
}

constexpr auto kLook = std::chrono::milliseconds(20);

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

// Only with --v 4 and above: a line costs more than the decision.
void LogDecision(const scheduler::Decision& decision) {
  log::Debug("scheduler", decision.node_name.empty() ? "Not placed" : "Placed",
             {{"pod", decision.PodKey()},
              {"node", decision.node_name},
              {"why", decision.Why()},
              {"attempt", decision.attempt},
              {"cycle", decision.cycle},
              {"seed", decision.seed}});
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
std::string ConfigurationJson(const RunOptions& options, const config::KubeSchedulerConfiguration& configuration) {
  const auto value = codec::ParseYaml(config::WriteConfiguration(configuration, options.gates));
  return value.ok() ? codec::WriteJson(*value) : "null";
}

// Every gate that the emulated version knows, as kubernetes_feature_enabled names its stage.
std::vector<metrics::Feature> Features(const config::FeatureGates& gates) {
  std::vector<metrics::Feature> features;
  for (const config::GateRow& row : config::FeatureGates::Table()) {
    const auto spec = config::FeatureGates::SpecAt(row.name, gates.emulated_minor());
    if (!spec || spec->stage == config::GateStage::kPreAlpha) continue;
    const std::string stage(spec->stage == config::GateStage::kGa ? std::string_view() : ToString(spec->stage));
    features.push_back({std::string(row.name), stage, gates.Enabled(row.name)});
  }
  return features;
}

// Upstream's, with its name and tolerance.
serving::HealthCheck LeaderElectionCheck(const client::LeaderElector& elector) {
  return {"leaderElection", [&elector]() -> std::optional<std::string> {
            if (elector.IsHealthy(std::chrono::seconds(20))) return std::nullopt;
            return "failed election to renew leadership on lease";
          }};
}

}  // namespace

int RunOnCluster(const RunOptions& options, plugins::KnownPlugins plugins) {
  ShareMemory();
  RaiseFileLimit();
  auto set_aside = BeginAnewOnFailure();
  const auto configuration = Configuration(options);
  if (!configuration.ok()) return cli::FailWith(configuration.error(), cli::kExitUsage);
  const SystemClock clock;
  const TickClock stopwatch(clock);
  const std::uint64_t seed = options.seed.value_or(RandomSeed());
  auto namespaces = ParseNamespaces(options.namespaces);
  if (!namespaces.ok()) return cli::FailWith(namespaces.error(), cli::kExitUsage);

  ConnectionOptions connection_options = ConnectionOf(options, configuration->client_connection);
  std::optional<LeaderElection> election;
  if (configuration->leader_election.leader_elect && !options.once) {
    const auto checked = LeaderElection::Check(configuration->leader_election);
    if (!checked.ok()) return cli::FailWith(checked.error(), cli::kExitUsage);
    connection_options.fence = election.emplace().fence();
  }
  metrics::PrometheusMetrics metrics;
  connection_options.metrics = &metrics.registry();
  auto connection = Connection::Make(connection_options, clock, seed);
  if (!connection.ok()) return cli::FailWith(connection.error(), cli::kExitUsage);

  instruments::SchedulerMetrics scheduler_metrics(metrics.registry());
  metrics::AddProcessMetrics(metrics.registry());
  // Alerts compare the beginning of the version among a cluster's parts.
  metrics::AddBuildMetrics(metrics.registry(), {"1", "36", "v1.36.3+berth"});
  metrics::AddFeatureMetrics(metrics.registry(), Features(options.gates));
  runner::ShellOptions shell_options;
  shell_options.metrics = &metrics;
  shell_options.scheduler_metrics = &scheduler_metrics;
  shell_options.stopwatch = &stopwatch;
  shell_options.make_client = [&io = (*connection)->io(), &election](net::HttpClientOptions to) {
    auto client = MakeOutsideClient(io, std::move(to));
    if (client.ok() && election) client = election->Fenced(std::move(*client));
    return client;
  };
  if (election) {
    shell_options.is_leading = [fence = election->fence()] { return fence->IsOpen(); };
    shell_options.lists_when_leading = configuration->delay_cache_until_active;
  }
  shell_options.seed = seed;
  shell_options.hostname = HostName();
  shell_options.read_file = plugin_files::PluginFiles(options.flags.config);
  shell_options.plugins = plugins;
  shell_options.pods = {options.pods_by_annotation, std::move(*namespaces), std::move(set_aside)};
  shell_options.waits_for_outside_data = options.once;
  shell_options.unschedulable_max = options.flags.deprecated.pod_max_in_unschedulable_pods_duration;
  if (log::Enabled(log::Level::kDebug)) shell_options.on_decision = LogDecision;
  auto shell = runner::SchedulerShell::Make(*configuration, (*connection)->rest(), (*connection)->events(), clock,
                                            std::move(shell_options));
  if (!shell.ok()) {
    return cli::FailWith(
        options.flags.config.empty() ? shell.error() : shell.error().Wrap("--config " + options.flags.config),
        cli::kExitUsage);
  }

  const std::string& write_to = options.flags.write_config_to;
  if (!write_to.empty() || log::IsVerbose(2)) {
    const std::string text = config::WriteConfiguration(*configuration, options.gates);
    if (log::IsVerbose(2)) log::Info("app", "Using component config", {{"config", text}});
    if (!write_to.empty()) return WriteConfigurationFile(write_to, text);
  }
  const bool is_from_file = !options.flags.config.empty();
  for (const std::string& line : FieldsWithoutEffect(*configuration, is_from_file)) log::Info("app", line);

  net::IoContext metrics_io;
  std::unique_ptr<net::HttpServer> metrics_server;
  if (!options.metrics_bind_address.empty()) {
    auto served = ServeMetrics(metrics_io, options.metrics_bind_address, metrics);
    if (!served.ok()) return cli::FailWith(served.error().Wrap("--metrics-bind-address"));
    metrics_server = std::move(*served);
    log::Info("app", "Serving metrics", {{"url", "http://" + metrics_server->address() + "/metrics"}});
  }

  SecurePortSources sources;
  if (election) {
    const std::string& lease = configuration->leader_election.resource_name;
    metrics::SetLeader(metrics.registry(), lease, false);
    election->Prepare(configuration->leader_election, configuration->profiles.front().scheduler_name, seed,
                      (*connection)->election(), **shell,
                      [&metrics, &lease] { metrics::SetLeader(metrics.registry(), lease, true); });
    metrics::AddSlowRenewals(metrics.registry(), lease, [&election] { return election->elector().slow_path_count(); });
    sources.is_leader = [&election] { return election->elector().IsLeader(); };
    sources.leader_election = LeaderElectionCheck(election->elector());
  }
  std::atomic<bool> is_ending{false};
  sources.is_ending = [&is_ending] { return is_ending.load(); };
  sources.metrics_text = [&metrics] { return metrics.Text(); };
  sources.config_json = [&options, &configuration] { return ConfigurationJson(options, *configuration); };
  if (options.gates.Enabled("ComponentFlagz")) sources.flags = [&options] { return options.flags.shown; };
  sources.has_status_page = options.gates.Enabled("ComponentStatusz");
  sources.is_profiling_enabled = configuration->enable_profiling;
  // `berth run` serves when --secure-port is given, kube-scheduler in any case: two schedulers of one machine must not
  // meet at the port.
  Expected<std::unique_ptr<serving::SecureServer>> secure_port = std::unique_ptr<serving::SecureServer>();
  if (options.is_kube_scheduler || options.flags.IsGiven("secure-port")) {
    secure_port =
        ServeSecurePort(options.flags, std::move(sources), **shell, **connection, connection_options, clock, seed);
  }
  if (!secure_port.ok()) {
    const ErrorCode code = secure_port.error().code;
    const bool is_usage = code == ErrorCode::kInvalid || code == ErrorCode::kNotFound;
    return cli::FailWith(secure_port.error(), is_usage ? cli::kExitUsage : cli::kExitFailed);
  }

  std::string names;
  for (const config::Profile& profile : configuration->profiles)
    names += (names.empty() ? "" : " ") + profile.scheduler_name;
  log::Info("app", "Starting", {{"schedulers", names}, {"server", (*connection)->server()}, {"seed", seed}});
  for (const std::string& line : UnnoticedNames(*configuration, plugins)) log::Warning("app", line);
  (*shell)->Start();
  if (election) election->Start();
  int status = cli::kExitOk;
  if (options.once) {
    WaitUntilPlaced(**shell, std::chrono::seconds(options.once_patience_s));
    status = ReportUnbound(**shell);
    (*shell)->FlushStatuses(std::chrono::seconds(kShutdownGraceSeconds));
  } else {
    const char* signal = cli::WaitForSignal([&shell] { (*shell)->LogDebugDump(); });
    if (election && election->HasLost()) EndWithLostLease();
    is_ending = true;
    log::Info("app", "Ending", {{"signal", signal}, {"graceSeconds", kShutdownGraceSeconds}});
  }
  if (election) election->Withdraw();
  (*shell)->Stop(std::chrono::seconds(kShutdownGraceSeconds));
  if (election) election->Release();
  (*connection)->Stop();
  const scheduler::Counts counts = (*shell)->counts();
  log::Info("app", "Ended",
            {{"scheduled", counts.scheduled}, {"unschedulable", counts.unschedulable}, {"errors", counts.errors}});
  return status;
}

}  // namespace berth::app
