// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance_flags.h"

#include <chrono>
#include <cstddef>
#include <string>

#include <CLI/CLI.hpp>

#include "berth/app/command_line.h"
#include "berth/app/common_flags.h"
#include "berth/base/text.h"
#include "berth/rebalance/move_allowance.h"
#include "berth/rebalance/move_ledger.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {
namespace {

using namespace std::chrono_literals;
using rebalance::WorkloadShare;

constexpr std::size_t kCountMax = 1'000'000;

void AddPolicy(CLI::App& command, std::string& policy) {
  command.add_option("--policy", policy, "file with the DeschedulerPolicy (descheduler/v1alpha2)")
      ->required()
      ->type_name(cli::kFileHint);
}

void AddPlan(CLI::App& rebalance, RebalancePlanOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* plan = rebalance.add_subcommand(
      "plan", "which pods a DeschedulerPolicy would have moved, where each would go, and why the others stay");
  AddQuestionFlags(*plan, options.question,
                   {QuestionOutput::kTable, QuestionOutput::kWide, QuestionOutput::kJson, QuestionOutput::kYaml});
  AddPolicy(*plan, options.policy);
  plan->add_flag("--within-scheduler", options.within_scheduler,
                 "plan as berth run --rebalance does, which chooses each target and keeps the place");
  AddPluginDirectory(*plan, plugin_directory);
  plan->footer(
      "Nothing is done to the cluster. Ends with 0 when there is a plan, even an empty one, 1 when the cluster could\n"
      "not be read, 2 when the flags or the policy are wrong.");
}

void AddLimits(CLI::App& run, rebalance::ControllerOptions& options) {
  run.add_option_function<std::string>(
         "--moves-per-owner",
         [&options](const std::string& text) { options.limits.per_workload = *WorkloadShare::Parse(text); },
         "pods of one owner that move at once, as a number or a share of its pods; default: 25%, at least one")
      ->check(
          [](const std::string& text) {
            return WorkloadShare::Parse(text) ? "" : Quoted(text) + " " + std::string(WorkloadShare::kExpected);
          },
          "");
  run.add_option("--moves-per-hour", options.limits.per_hour, "pods that move within an hour")
      ->check(CLI::Range(std::size_t{1}, rebalance::AllowanceLimits::kPerHourMax))
      ->capture_default_str();
  AddDuration(run, "--cool-down", options.limits.cool_down, "between two moves of pods of one owner",
              {0s, rebalance::MoveLedger::kMemory});
  AddDuration(run, "--placement-timeout", options.placement_max,
              "for a replacement to be ready; if it is not, no other pod of its owner moves",
              {1s, rebalance::MoveLedger::kMemory});
  run.add_option("--pending-max", options.health.pending_max,
                 "nothing moves while more pods are pending; default: one in a hundred, at least 10")
      ->check(CLI::Range(std::size_t{0}, kCountMax));
  run.add_option("--not-ready-max", options.health.not_ready_max,
                 "nothing moves while more nodes are not ready; default: one in a hundred, at least 1")
      ->check(CLI::Range(std::size_t{0}, kCountMax));
}

void AddElection(CLI::App& run, config::LeaderElection& options) {
  options.resource_name = "berth-rebalancer";
  run.add_flag("--leader-elect", options.leader_elect,
               "act only while holding the lease, so that several may run; with --execute")
      ->default_str("true");
  const DurationRange range{1us, 24h};
  AddDuration(run, "--leader-elect-lease-duration", options.lease_duration, "before others may take the lease", range);
  AddDuration(run, "--leader-elect-renew-deadline", options.renew_deadline, "to renew it, or end", range);
  AddDuration(run, "--leader-elect-retry-period", options.retry_period, "between two tries", range);
  run.add_option("--leader-elect-resource-name", options.resource_name,
                 "name of the lease, and of the ConfigMap in which the moves of the last hour are kept")
      ->capture_default_str();
  run.add_option("--leader-elect-resource-namespace", options.resource_namespace, "namespace of both")
      ->capture_default_str();
}

void AddRun(CLI::App& rebalance, RebalanceOptions& options, std::optional<std::string>& plugin_directory,
            int& verbosity) {
  RebalanceRunOptions& to = options.run;
  CLI::App* run = rebalance.add_subcommand(
      "run", "moves pods again and again as a DeschedulerPolicy says, each to a place that is proved first");
  run->callback([&options] { options.is_run = true; });
  AddQuestionConnection(*run, to.connection);
  AddPolicy(*run, to.policy);
  run->add_option("--config", to.config,
                  "file with the KubeSchedulerConfiguration of the cluster's scheduler; default: kube-scheduler's "
                  "defaults")
      ->type_name(cli::kFileHint);
  AddDuration(*run, "--interval", to.controller.interval, "between two rounds", {1s, 24h});
  run->add_flag("--execute", to.controller.executes, "evict; without it, the log says what would be evicted");
  AddLimits(*run, to.controller);
  AddElection(*run, to.election);
  AddMetricsAddress(*run, to.metrics_bind_address, "/metrics and /healthz");
  AddPluginDirectory(*run, plugin_directory);
  AddVerbosity(*run, verbosity);
  run->footer(
      "Runs beside any scheduler until SIGINT or SIGTERM; SIGUSR2 writes into the log why pods stay where they are.\n"
      "Evicts through the Eviction API alone, so that PodDisruptionBudgets hold. Ends with 1 when the lease is lost,\n"
      "with 2 when the flags or the policy are wrong.");
}

}  // namespace

CLI::App* AddRebalanceCommand(CLI::App& app, RebalanceOptions& options, std::optional<std::string>& plugin_directory,
                              int& verbosity) {
  CLI::App* rebalance =
      app.add_subcommand("rebalance", "move pods that break a rule, if a better place is proved first");
  rebalance->require_subcommand(1);
  AddPlan(*rebalance, options.plan, plugin_directory);
  AddRun(*rebalance, options, plugin_directory, verbosity);
  return rebalance;
}

}  // namespace berth::app
