// SPDX-License-Identifier: Apache-2.0
// What the tests of questions share: a state of builders' objects, whose pods run if they have a node, a cluster
// with the default profile that has been loaded with it, and the profile of another release. Tests only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/workloads.h"
#include "berth/base/check.h"
#include "berth/core/config/default.h"
#include "berth/core/config/feature_gates.h"
#include "berth/plugins/registry.h"
#include "berth/testing/builders.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::whatif {

inline ClusterState StateOf(const std::vector<testing::NodeBuilder>& nodes,
                            const std::vector<testing::PodBuilder>& pods,
                            const std::vector<api::PodDisruptionBudget>& budgets = {}) {
  ClusterState state;
  for (const auto& node : nodes) state.nodes.push_back(node.Build());
  for (const auto& pod : pods) {
    api::Pod built = pod.Build();
    if (!built.spec.node_name.empty()) built.status.phase = api::PodPhase::kRunning;
    state.pods.push_back(std::make_shared<const api::Pod>(std::move(built)));
  }
  for (const auto& budget : budgets)
    state.objects.emplace_back(std::make_shared<const api::PodDisruptionBudget>(budget));
  return state;
}

// The time of day at the beginning of a test's cluster.
inline constexpr Time kNow = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

inline OfflineOptions OptionsOf(config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration()) {
  OfflineOptions options;
  options.configuration = std::move(configuration);
  options.plugins = plugins::InTreePlugins();
  options.now = kNow;
  return options;
}

inline std::unique_ptr<OfflineCluster> ClusterOf(const ClusterState& state) {
  auto cluster = OfflineCluster::Make(OptionsOf());
  BERTH_CHECK(cluster.ok(), cluster.error().message);
  (*cluster)->Load(state);
  return std::move(*cluster);
}

// The configuration of 1.`release` with these feature gates, and with these plugins beside its defaults.
inline config::KubeSchedulerConfiguration ConfigurationOf(int release, const std::vector<std::string>& gates,
                                                          const std::vector<config::PluginRef>& beside_defaults = {}) {
  const auto parsed = config::FeatureGates::Parse({.release_minor = release, .gates = gates});
  BERTH_CHECK(parsed.ok(), parsed.error().message);
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration(*parsed);
  config::Profile& profile = configuration.profiles.front();
  profile.plugins = {};
  profile.plugins.multi_point.enabled = beside_defaults;
  config::ApplyDefaults(profile, *parsed);
  return configuration;
}

inline api::PodDisruptionBudget Budget(const std::string& name, std::string_view app, std::int32_t allowed) {
  api::PodDisruptionBudget budget;
  budget.metadata.name = name;
  budget.metadata.namespace_name = "default";
  budget.selector = testing::Labels({{"app", std::string(app)}});
  budget.disruptions_allowed = allowed;
  return budget;
}

// A running pod of the Deployment `app`, by a ReplicaSet.
inline testing::PodBuilder RunningPod(const std::string& app, const std::string& name, const std::string& node) {
  return testing::MakePod(name)
      .Label("app", app)
      .Label("pod-template-hash", "5c7")
      .Controller("apps/v1", "ReplicaSet", app + "-5c7")
      .Node(node);
}

}  // namespace berth::whatif
