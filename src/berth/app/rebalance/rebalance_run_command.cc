// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance/rebalance_run_command.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/connection.h"
#include "berth/app/leader_election.h"
#include "berth/app/metrics_server.h"
#include "berth/app/process.h"
#include "berth/app/questions/question_cluster.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/rebalance/rebalance_cluster.h"
#include "berth/app/rebalance/rebalance_command.h"
#include "berth/app/rebalance/rebalance_loop.h"
#include "berth/base/log.h"
#include "berth/base/text.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/rebalance/controller.h"
#include "berth/rebalance/move_allowance.h"
#include "berth/rebalance/move_ledger.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/metrics/process_metrics.h"
#include "berth/shell/metrics/prometheus_metrics.h"

namespace berth::app {
namespace {

struct RebalanceRunOptions {
  ConnectionOptions connection;
  std::string policy;  // the DeschedulerPolicy's file
  std::string config;  // KubeSchedulerConfiguration's file; empty: the defaults
  rebalance::ControllerOptions controller;
  config::LeaderElection election;   // its namespace and name are those of the ledger, too
  std::string metrics_bind_address;  // empty: none are served
};

constexpr Duration kFlushMax = std::chrono::seconds(5);
constexpr Duration kHealthTolerance = std::chrono::seconds(20);

// One `berth rebalance run`. Its members are in the order in which they come up.
class RebalanceRun {
 public:
  RebalanceRun(const RebalanceRunOptions& options, config::KnownPlugins plugins)
      : options_(options), plugins_(plugins), seed_(RandomSeed()) {}

  int Go() {
    if (const auto prepared = Prepare(); !prepared.ok()) return cli::FailWith(prepared.error(), cli::kExitUsage);
    auto served = ServeMetrics(metrics_io_, options_.metrics_bind_address, metrics_, [this] { return WhyUnhealthy(); });
    if (!served.ok()) return cli::FailWith(served.error());
    metrics_server_ = *std::move(served);
    log::Info("app", "Starting",
              {{"server", connection_->server()},
               {"policy", options_.policy},
               {"interval", FormatGoDuration(options_.controller.interval)},
               {"execute", options_.controller.executes}});
    rounds_.Start(*cluster_, options_.controller);
    if (election_) {
      election_->Start();
    } else {
      rounds_.Begin();
    }
    const char* const signal = cli::WaitForSignal([this] { rounds_.LogStaying(); });
    if (election_ && election_->HasLost()) EndWithLostLease();
    log::Info("app", "Ending", {{"signal", signal}});
    if (election_) election_->Withdraw();
    rounds_.End();
    cluster_->Flush(kFlushMax);
    if (election_) election_->End(!cluster_->HasOpenEviction());
    connection_->Stop();
    return cli::kExitOk;
  }

 private:
  Expected<void> Prepare();

  std::optional<std::string> WhyUnhealthy() const {
    if (!election_ || election_->elector().IsHealthy(kHealthTolerance)) return std::nullopt;
    return "failed election to renew leadership on lease";
  }

  const RebalanceRunOptions& options_;
  const config::KnownPlugins plugins_;
  const SystemClock clock_;
  const std::uint64_t seed_;
  const net::BootClock boot_clock_;
  std::optional<runner::LeaderElection> election_;
  metrics::PrometheusMetrics metrics_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<RebalanceCluster> cluster_;
  net::IoContext metrics_io_;
  std::unique_ptr<net::HttpServer> metrics_server_;
  RebalanceLoop rounds_{clock_};
};

Expected<void> RebalanceRun::Prepare() {
  RebalanceClusterOptions cluster;
  BERTH_ASSIGN_OR_RETURN(cluster.policy, LoadPolicy("--policy", options_.policy));
  const auto core_for = [this](std::string_view server_version) -> Expected<whatif::OfflineOptions> {
    BERTH_ASSIGN_OR_RETURN(auto core, OfflineOptionsFor(options_.config, plugins_, server_version));
    core.seed = seed_;
    return core;
  };
  // It may start before the API server: what is wrong with the file is reported before.
  BERTH_ASSIGN_OR_RETURN(cluster.core, core_for({}));
  cluster.core_for = core_for;
  cluster.namespace_name = options_.election.resource_namespace;
  cluster.name = options_.election.resource_name;
  cluster.hostname = HostName();
  cluster.is_ending = [this] { return rounds_.IsEnding(); };
  cluster.writes_events = options_.controller.executes;

  ConnectionOptions connection = WithHomeKubeconfig(options_.connection);
  connection.metrics = &metrics_.registry();
  // Without --execute nothing is written, and so not even the lease.
  if (options_.election.leader_elect && options_.controller.executes) {
    BERTH_RETURN_IF_ERROR(runner::LeaderElection::Check(options_.election));
    connection.fence = election_.emplace(boot_clock_).fence();
  }
  BERTH_ASSIGN_OR_RETURN(connection_, Connection::Make(connection, clock_, seed_));
  metrics::AddProcessMetrics(metrics_.registry());
  cluster_ = std::make_unique<RebalanceCluster>(
      RebalanceCluster::Server{connection_->rest(), connection_->events(), connection_->io(), connection_->server()},
      clock_, metrics_, std::move(cluster));
  if (election_) {
    const std::string& lease = options_.election.resource_name;
    metrics::SetLeader(metrics_.registry(), lease, false);
    PrepareElection(*election_, options_.election, RebalanceCluster::kComponent, seed_, connection_->election(),
                    [this, &lease] {
                      metrics::SetLeader(metrics_.registry(), lease, true);
                      rounds_.Begin();
                    });
  }
  return {};
}

int RunRebalance(const RebalanceRunOptions& options, config::KnownPlugins plugins) {
  ShareMemory();
  RaiseFileLimit();
  return RebalanceRun(options, plugins).Go();
}

void AddLimits(cli::Command& run, rebalance::ControllerOptions& options) {
  using rebalance::WorkloadShare;
  constexpr std::uint64_t kCountMax = 1'000'000;
  run.Option("moves-per-owner",
             "pods of one owner that move at once, as a number or a share of its pods; default: 25%, at least one",
             [&options](std::string_view text) {
               options.limits.per_workload = *WorkloadShare::Parse(text);
               return std::string();
             })
      .Check([](const std::string& text) {
        return WorkloadShare::Parse(text) ? "" : Quoted(text) + " " + std::string(WorkloadShare::kExpected);
      });
  run.Option("moves-per-hour", options.limits.per_hour, "pods that move within an hour")
      .Range(1, rebalance::AllowanceLimits::kPerHourMax)
      .ShowDefault();
  AddDuration(run, "cool-down", options.limits.cool_down, "between two moves of pods of one owner",
              {Duration::zero(), rebalance::MoveLedger::kMemory});
  AddDuration(run, "placement-timeout", options.placement_max,
              "for a replacement to be ready; if it is not, no other pod of its owner moves",
              {std::chrono::seconds(1), rebalance::MoveLedger::kMemory});
  run.Option("pending-max", options.health.pending_max,
             "nothing moves while more pods are pending; default: one in a hundred, at least 10")
      .Range(0, kCountMax);
  run.Option("not-ready-max", options.health.not_ready_max,
             "nothing moves while more nodes are not ready; default: one in a hundred, at least 1")
      .Range(0, kCountMax);
}

void AddElection(cli::Command& run, config::LeaderElection& options) {
  options.resource_name = "berth-rebalancer";
  run.Switch("leader-elect", options.leader_elect,
             "act only while holding the lease, so that several may run; with --execute")
      .Default("true");
  const DurationRange range{std::chrono::microseconds(1), std::chrono::hours(24)};
  AddDuration(run, "leader-elect-lease-duration", options.lease_duration, "before others may take the lease", range);
  AddDuration(run, "leader-elect-renew-deadline", options.renew_deadline, "to renew it, or end", range);
  AddDuration(run, "leader-elect-retry-period", options.retry_period, "between two tries", range);
  run.Option("leader-elect-resource-name", options.resource_name,
             "name of the lease, and of the ConfigMap in which the moves of the last hour are kept")
      .ShowDefault();
  run.Option("leader-elect-resource-namespace", options.resource_namespace, "namespace of both").ShowDefault();
}

}  // namespace

void AddRebalanceRunCommand(Commands& commands, cli::Command& rebalance) {
  const auto options = std::make_shared<RebalanceRunOptions>();
  cli::Command& run = rebalance.AddSubcommand(
      "run", "moves pods again and again as a DeschedulerPolicy says, each to a place that is proved first");
  commands.Set(run, {[options](config::KnownPlugins known) { return RunRebalance(*options, known); }});
  AddQuestionConnection(run, options->connection);
  AddPolicyFlag(run, options->policy);
  run.Option("config", options->config,
             "file with the KubeSchedulerConfiguration of the cluster's scheduler; default: kube-scheduler's "
             "defaults")
      .Type(cli::kFileHint);
  AddDuration(run, "interval", options->controller.interval, "between two rounds",
              {std::chrono::seconds(1), std::chrono::hours(24)});
  run.Switch("execute", options->controller.executes, "evict; without it, the log says what would be evicted");
  AddLimits(run, options->controller);
  AddElection(run, options->election);
  AddMetricsAddress(run, options->metrics_bind_address, "/metrics and /healthz");
  AddPluginDirectory(run, commands.plugin_directory());
  AddVerbosity(run, commands.verbosity());
  run.SetFooter(
      "Runs beside any scheduler until SIGINT or SIGTERM; SIGUSR2 writes into the log why pods stay where they are.\n"
      "Evicts through the Eviction API alone, so that PodDisruptionBudgets hold. Ends with 1 when the lease is lost,\n"
      "with 2 when the flags or the policy are wrong.");
}

}  // namespace berth::app
