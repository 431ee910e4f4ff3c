// SPDX-License-Identifier: Apache-2.0
// Counts: what the core has done since it started. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::scheduler {

struct Counts {
  std::uint64_t cycles = 0;
  std::uint64_t scheduled = 0;             // bindings that have taken effect
  std::uint64_t unschedulable = 0;         // attempts that ended with a refusal
  std::uint64_t errors = 0;                // attempts that ended with an error
  std::uint64_t bindings_unknown = 0;      // bindings whose outcome had to be read from the API server
  std::uint64_t throttled = 0;             // attempts put off because too many bindings of the namespace were in doubt
  std::uint64_t rescued_by_flush = 0;      // pods bound after the flush of unschedulable pods woke them
  std::uint64_t sweeps_of_large_pods = 0;  // how often data kept for large pods was dropped
  std::size_t in_doubt = 0;                // bindings that are in doubt now (binding_table.h)
};

}  // namespace berth::scheduler
