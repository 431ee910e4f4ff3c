// SPDX-License-Identifier: Apache-2.0
#include "berth/app/demo_flags.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/app/nodes_file.h"
#include "berth/app/own_cluster_release.h"
#include "berth/app/rebalance_scenarios.h"
#include "berth/demo/policy_demo.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {
namespace {

std::string CheckPolicy(const std::string& name) {
  std::vector<std::string> more;
  for (const RebalanceScenario& scenario : RebalanceScenarios()) more.push_back(scenario.name);
  return demo::CheckPolicyDemo(name, more);
}

}  // namespace

CLI::App* AddDemoCommand(CLI::App& app, DemoOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* command = app.add_subcommand("demo", "berth at work on an embedded cluster");
  CLI::Option* const serve = command->add_flag(
      "--serve", options.serve, "leave the cluster running for kubectl; pods of default-scheduler are placed, too");
  command->add_option("--listen", options.listen, "where, with --serve")
      ->check(CheckAddress, "")
      ->capture_default_str();
  CLI::Option* const nodes = command->add_option("--nodes", options.nodes, "simulated nodes")
                                 ->check(CLI::Range(1, kubelet::kNodesMax))
                                 ->capture_default_str();
  CLI::Option* const replicas = command->add_option("--replicas", options.replicas, "pods of the nginx Deployment")
                                    ->check(CLI::Range(1, 10'000))
                                    ->capture_default_str();
  CLI::Option* const nodes_file = AddNodesFile(*command, options.nodes_file)->excludes(nodes);
  AddWriteKubeconfig(*command, options.write_kubeconfig)->needs(serve);
  command->add_option("--seed", options.seed, "seed of all chance")->check(CheckSeed, "")->capture_default_str();
  CLI::Option* const config = command->add_option(
      "--config", options.config, "KubeSchedulerConfiguration file whose first profile schedules the pods");
  config->type_name(cli::kFileHint);
  AddOwnClusterRelease(*command, options.release);
  AddPluginDirectory(*command, plugin_directory);
  CLI::Option* const scenario =
      command->add_option("--scenario", options.scenario, "show something else that berth does, likewise")
          ->check(CLI::IsMember(demo::ScenarioNames()))
          ->excludes(nodes)
          ->excludes(nodes_file)
          ->excludes(replicas)
          ->excludes(config);
  command->add_option("--policy", options.policy, "show a policy on a cluster where its effect is plain to see")
      ->type_name("{" + demo::PolicyDemoNames() + ", " + RebalanceScenarioNames() + "}")
      ->check(CheckPolicy, "")
      ->excludes(nodes)
      ->excludes(nodes_file)
      ->excludes(replicas)
      ->excludes(config)
      ->excludes(scenario);
  return command;
}

}  // namespace berth::app
