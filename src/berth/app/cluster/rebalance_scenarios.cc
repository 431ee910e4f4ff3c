// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/rebalance_scenarios.h"

#include <algorithm>

namespace berth::app {
namespace {

constexpr char kCapacity[] = "karpenter.sh/capacity-type";

RebalanceScenario SpotReturn() {
  const RebalanceDemoNode on_demand{.shown = "on-demand", .labels = {{kCapacity, "on-demand"}}};
  const RebalanceDemoNode spot{.shown = "spot", .labels = {{kCapacity, "spot"}}, .is_away = true};
  return {.name = "spot-return",
          .title = "BackToSpot: pods go back to spot nodes when there is room again.",
          .column = "CAPACITY",
          .nodes = {on_demand, on_demand, spot, spot},
          .workloads = {{"critical", 1, "500m", {{"berth.dev/spot", "never"}}}, {"web", 5, "1"}},
          .change = "The two spot nodes come back.",
          .to_see = {
              "All pods of web are on spot nodes again, which the scheduler alone would never have done. Each was",
              "evicted when its place had been proved and kept. The pod of critical wants no spot node, and stays."}};
}

RebalanceScenario Consolidate() {
  const RebalanceDemoNode node{.shown = "in use"};
  return {.name = "consolidate",
          .title = "Consolidate: nodes are emptied, so that an autoscaler can take them away.",
          .column = "",
          .nodes = {node, node, node, node, node, node},
          .workloads = {{"web", 6, "500m"}, {"api", 6, "500m"}},
          .change = "Night falls: the load has gone, and pods that ask for 6 CPUs are spread over 24.",
          .to_see = {"Two nodes have all pods, and the other four are empty and cordoned. No pod was evicted without a",
                     "place, and never more than half of a Deployment's pods at once."}};
}

RebalanceScenario CustomMetric() {
  const RebalanceDemoNode good{.shown = "0.1 %"};
  return {
      .name = "custom-metric",
      .title = "CustomMetric: pods leave where an application's own metric crosses a line.",
      .column = "PACKETS LOST",
      .nodes = {good, {.shown = "7 %", .loses_packets = true}, good, good},
      .workloads = {{"gateway-active", 1, "1", {}, {{"ha-group", "gateway"}, {"role", "active"}}},
                    {"gateway-standby", 1, "1", {}, {{"ha-group", "gateway"}, {"role", "standby"}}},
                    {"web", 6, "500m"}},
      .change = "The network card of node-2 begins to lose packets, as pods there tell Prometheus.",
      .to_see = {"Nothing is left on node-2. The two pods of the gateway stand in for each other: the active one moved",
                 "while the standby one was ready, and to another node than that."}};
}

}  // namespace

const std::vector<RebalanceScenario>& RebalanceScenarios() {
  static const std::vector<RebalanceScenario> kScenarios = {SpotReturn(), Consolidate(), CustomMetric()};
  return kScenarios;
}

const RebalanceScenario* FindRebalanceScenario(std::string_view name) {
  const auto& all = RebalanceScenarios();
  const auto found = std::ranges::find(all, name, &RebalanceScenario::name);
  return found == all.end() ? nullptr : &*found;
}

std::string RebalanceScenarioNames() {
  std::string names;
  for (const RebalanceScenario& scenario : RebalanceScenarios()) names += (names.empty() ? "" : ", ") + scenario.name;
  return names;
}

}  // namespace berth::app
