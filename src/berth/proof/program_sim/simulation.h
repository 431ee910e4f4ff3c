// SPDX-License-Identifier: Apache-2.0
// Simulation: a whole cluster in one thread, from a plan: schedulers as they are, a network that fails, an API server,
// outsiders, and what must hold. README.md shows the parts.
#pragma once

#include <cstdint>
#include <string>

#include "berth/base/time.h"
#include "berth/proof/program_sim/plan.h"

namespace berth::program_sim {

struct Report {
  std::string check;       // what did not hold first; empty: all did
  std::string violation;   // what went wrong, with its simulated time
  std::uint64_t hash = 0;  // of all that happened: equal for equal runs
  Duration settled{0};     // how long after the end of all faults everything was done
  // What there was of it: runs in which nothing happens prove nothing.
  std::int64_t bound = 0;
  std::int64_t evicted = 0;
  std::int64_t requests = 0;
  std::int64_t faults = 0;
  std::int64_t lives = 0;
  std::int64_t leaders = 0;   // how often a process began to lead
  std::int64_t promises = 0;  // pods that came for promised room
  std::int64_t waiting = 0;   // pods with a condition that says why, at the end
};

// The same plan gives the same run. Thread-safe. With `prints_trace` all that happens goes to standard output. With
// `recordings` each life of a scheduler is recorded into that directory.
Report Simulate(const Plan& plan, bool prints_trace = false, const std::string& recordings = {});

}  // namespace berth::program_sim
