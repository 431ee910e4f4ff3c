// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: states with the details that an API server would give. Tests only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/rebalance/plan.h"
#include "berth/rebalance/policy_reader.h"
#include "berth/testing/builders.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::rebalance {

// Details as of a pod that runs, and whose only owner is its controller.
inline std::shared_ptr<const api::PodDetails> DetailsOf(const api::Pod& pod) {
  auto details = std::make_shared<api::PodDetails>();
  details->metadata.name = pod.metadata.name;
  if (pod.metadata.controller) details->metadata.owners.push_back(*pod.metadata.controller);
  details->status.phase = "Running";
  details->status.qos_class = "Burstable";
  return details;
}

inline whatif::ClusterState WithDetails(whatif::ClusterState state) {
  for (const auto& pod : state.pods) state.pod_details.push_back(DetailsOf(*pod));
  return state;
}

inline whatif::ClusterState StateOf(const std::vector<testing::NodeBuilder>& nodes,
                                    const std::vector<testing::PodBuilder>& pods,
                                    const std::vector<api::PodDisruptionBudget>& budgets = {}) {
  return WithDetails(whatif::StateOf(nodes, pods, budgets));
}

// A policy of one profile. `strategies`: a YAML list of pluginConfig, `point`: "balance: {enabled: [..]}".
inline Policy PolicyOf(const std::string& plugin_config, const std::string& plugins, const std::string& more = "") {
  auto policy =
      ReadPolicy("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n" + more +
                 "profiles:\n- name: test\n  pluginConfig: " + plugin_config + "\n  plugins: {" + plugins + "}\n");
  BERTH_CHECK(policy.ok(), policy.error().message);
  return std::move(*policy);
}

// The state after the plan's moves: new pods in the place of the old ones, under other names and uids.
inline whatif::ClusterState Applied(const whatif::ClusterState& state, const RebalancePlan& plan, Time now) {
  whatif::ClusterState after = state;
  for (const PlannedMove& move : plan.moves) {
    for (std::size_t i = 0; i < after.pods.size(); ++i) {
      if (after.pods[i]->metadata.uid != move.uid) continue;
      api::Pod pod = *after.pods[i];
      pod.metadata.uid += "-again";
      pod.metadata.name += "-again";
      pod.metadata.creation_time = now;
      pod.spec.node_name = move.to;
      pod.status.start_time = now;
      after.pod_details[i] = DetailsOf(pod);
      after.pods[i] = std::make_shared<const api::Pod>(std::move(pod));
      break;
    }
    for (std::size_t i = 0; i < after.finished_pods.size(); ++i) {
      if (after.finished_pods[i]->metadata.uid != move.uid) continue;
      after.finished_pods.erase(after.finished_pods.begin() + static_cast<std::ptrdiff_t>(i));
      after.finished_pod_details.erase(after.finished_pod_details.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  return after;
}

inline constexpr Time kTestNow = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

inline RebalancePlan PlanOf(const whatif::ClusterState& state, const Policy& policy) {
  const auto cluster = whatif::ClusterOf(state);
  PlanOptions options;
  options.now = kTestNow;
  auto plan = PlanRebalance(*cluster, state, policy, options);
  BERTH_CHECK(plan.ok(), plan.error().message);
  return std::move(*plan);
}

// Where we choose: what the policy wants is done, whatever the default profile likes.
inline RebalancePlan ChosenPlanOf(const whatif::ClusterState& state, const Policy& policy,
                                  const Measurements* measurements = nullptr,
                                  const MoveAllowance* allowance = nullptr) {
  PlanOptions options;
  options.now = kTestNow;
  options.chooses_target = true;
  options.measurements = measurements;
  options.allowance = allowance;
  auto plan = PlanRebalance(*whatif::ClusterOf(state), state, policy, options);
  BERTH_CHECK(plan.ok(), plan.error().message);
  return std::move(*plan);
}

}  // namespace berth::rebalance
