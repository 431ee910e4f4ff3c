// SPDX-License-Identifier: Apache-2.0
// The clusters of `berth demo --policy`: one for each policy, made so that its effect is plain to see. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/demo/demo_pods.h"
#include "berth/framework/release.h"

namespace berth::demo {

struct DemoNode {
  std::string shown;  // in the scenario's column
  // Put on the simulated node, which has the label topology.kubernetes.io/zone already; without a value: taken away.
  std::vector<std::pair<std::string, std::optional<std::string>>> labels{};
  std::vector<std::pair<std::string, std::string>> annotations{};
  std::vector<std::pair<std::string, std::string>> resources{};  // beside CPU, memory and pods
  std::string nagios_output{};  // what Nagios says of it; empty: it knows nothing of the node
  bool is_down = false;         // as Nagios sees it
};

struct PolicyScenario {
  std::string policy;           // of the profile in deploy/config, and its schedulerName
  std::string title;            // what the policy is for, in one line
  std::string column;           // what it looks at; empty: nothing that a table could show
  std::vector<DemoNode> nodes;  // node-1, node-2, ... of 4 CPUs each
  std::vector<DemoWorkload> workloads;
  std::vector<std::string> to_see;                 // lines
  bool shows_refusals = false;                     // those of the newest decision are part of what there is to see
  std::string configuration{};                     // a KubeSchedulerConfiguration; empty: that of deploy/config
  int release_minor = framework::kDefaultRelease;  // of Kubernetes, that it needs at least
};

// In the order in which they are listed for people.
const std::vector<PolicyScenario>& PolicyScenarios();
// Scenarios that show no policy of deploy/config; `policy` is then a name of their own.
const std::vector<PolicyScenario>& OtherScenarios();
// The scenario of that name, from either list; null: there is none.
const PolicyScenario* FindScenario(std::string_view name);

}  // namespace berth::demo
