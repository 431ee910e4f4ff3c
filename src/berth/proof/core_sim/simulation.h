// SPDX-License-Identifier: Apache-2.0
// Simulation: the core and a model API server in one thread, from one seed: answers are lost or late, watches lag,
// repeat and relist, bindings conflict, nodes and pods come and go, the scheduler crashes and starts anew. Checkers
// outside the code look at what happened. For tests only.
#pragma once

#include <cstdint>
#include <string>

namespace berth::core_sim {

struct Report {
  std::string violation;  // what went wrong first, with its simulated time; empty: nothing
  int bound = 0;          // bindings by the scheduler
  int unknown = 0;        // answers to bindings that were lost
  int restarts = 0;
  int relists = 0;
  int evicted = 0;  // victims of preemption
};

// The same seed gives the same run. Takes some milliseconds.
Report Simulate(std::uint64_t seed, bool prints_trace = false);

}  // namespace berth::core_sim
