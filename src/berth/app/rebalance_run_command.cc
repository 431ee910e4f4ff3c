// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance_run_command.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/app/leader_election.h"
#include "berth/app/metrics_server.h"
#include "berth/app/process.h"
#include "berth/app/question_cluster.h"
#include "berth/app/question_flags.h"
#include "berth/app/rebalance_cluster.h"
#include "berth/app/rebalance_command.h"
#include "berth/app/rebalance_loop.h"
#include "berth/base/log.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/metrics/process_metrics.h"
#include "berth/shell/metrics/prometheus_metrics.h"

namespace berth::app {
namespace {

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
    const char* const signal = cli::WaitForSignal([this] { rounds_.TellStaying(); });
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
  // It may start before the API server: what is wrong with the file is told before.
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

}  // namespace

int RunRebalance(const RebalanceRunOptions& options, config::KnownPlugins plugins) {
  ShareMemory();
  RaiseFileLimit();
  return RebalanceRun(options, plugins).Go();
}

}  // namespace berth::app
