// SPDX-License-Identifier: Apache-2.0
// berth-bench plugin: the overhead of an author's plugin in the plain form, beyond its own work. The same pods are
// scheduled without it and with it, in turn.
#pragma once

namespace berth::bench {

struct PluginCostOptions {
  int nodes = 5000;
  int pods = 2000;
  int rounds = 5;  // the median of each form counts
  bool json = false;
};

// Prints a table, or a line of JSON. The exit status is 1 when a run left a pod unbound.
int RunPluginCost(const PluginCostOptions& options);

}  // namespace berth::bench
