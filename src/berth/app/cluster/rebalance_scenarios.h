// SPDX-License-Identifier: Apache-2.0
// The clusters of `berth demo --policy` whose pods are moved: how they are before, and what happens then. Values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/demo/demo_pods.h"

namespace berth::app {

struct RebalanceDemoNode {
  std::string shown;  // in the scenario's column
  std::vector<std::pair<std::string, std::string>> labels{};
  bool is_away = false;        // cordoned until the change: as if it were not there
  bool loses_packets = false;  // what the stand-in for Prometheus says of pods there
};

struct RebalanceScenario {
  std::string name;  // of the policy, and of the file in examples/rebalance
  std::string title;
  std::string column;
  std::vector<RebalanceDemoNode> nodes;  // node-1, node-2, ... of 4 CPUs each
  std::vector<demo::DemoWorkload> workloads;
  std::string change;               // what happens between the two tables
  std::vector<std::string> to_see;  // lines
};

const std::vector<RebalanceScenario>& RebalanceScenarios();
const RebalanceScenario* FindRebalanceScenario(std::string_view name);
// "spot-return, consolidate, ...".
std::string RebalanceScenarioNames();

// examples/rebalance/NAME.yaml, in the program. Made by CMake.
std::string_view RebalanceExample(std::string_view name);

}  // namespace berth::app
