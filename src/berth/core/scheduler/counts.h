// SPDX-License-Identifier: Apache-2.0
// Counts: what the core has done since it began. A plain value.
#pragma once

#include <cstdint>

namespace berth::scheduler {

struct Counts {
  std::uint64_t cycles = 0;
  std::uint64_t scheduled = 0;         // bindings that took effect
  std::uint64_t unschedulable = 0;     // attempts that ended with a refusal
  std::uint64_t errors = 0;            // attempts that ended with an error
  std::uint64_t bindings_unknown = 0;  // bindings whose outcome had to be read
};

}  // namespace berth::scheduler
