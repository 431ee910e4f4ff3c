// SPDX-License-Identifier: Apache-2.0
// berth demo --policy NAME, or --scenario NAME: a policy, or something else that berth does, on a small embedded
// cluster, with a table of its nodes before and after.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "berth/core/config/feature_gates.h"

namespace berth::embedded_cluster {
struct EmbeddedClusterOptions;
}

namespace berth::demo {

// "random, round-robin, ...".
std::string PolicyDemoNames();

// Empty when there is a policy of that name, here or among `more`; else what is wrong, in one line with the nearest
// name.
std::string CheckPolicyDemo(const std::string& name, const std::vector<std::string>& more = {});

// What else can be shown.
std::vector<std::string> ScenarioNames();
// The release of Kubernetes that it needs at least; the oldest one for a name that is none.
int ScenarioRelease(const std::string& name);

struct PolicyDemoOptions {
  std::string name;    // of the policy or scenario
  bool serve = false;  // until a signal comes
  std::string listen;  // where it serves
  std::uint64_t seed = 1;
  std::string hostname;    // that events name
  std::string kubeconfig;  // a file to write, with `serve`; empty: none
  config::FeatureGates gates;
  // Makes the cluster of their release.
  std::function<void(embedded_cluster::EmbeddedClusterOptions&)> follow_gates;
};

// Returns the process's exit status.
int RunPolicyDemo(const PolicyDemoOptions& options);

}  // namespace berth::demo
