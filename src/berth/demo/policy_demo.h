// SPDX-License-Identifier: Apache-2.0
// berth demo --policy NAME: a policy on a small embedded cluster, with a table of its nodes before and after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::demo {

// "random, round-robin, ...".
std::string PolicyDemoNames();

// Empty when there is a policy of that name, here or among `more`; else what is wrong, in one line with the nearest
// name.
std::string CheckPolicyDemo(const std::string& name, const std::vector<std::string>& more = {});

struct PolicyDemoOptions {
  std::string policy;  // its name
  bool serve = false;  // until a signal comes
  std::string listen;  // where it serves
  std::uint64_t seed = 1;
  std::string hostname;    // that events name
  std::string kubeconfig;  // a file to write, with `serve`; empty: none
};

// Returns the process's exit status.
int RunPolicyDemo(const PolicyDemoOptions& options);

}  // namespace berth::demo
