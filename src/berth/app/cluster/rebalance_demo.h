// SPDX-License-Identifier: Apache-2.0
// berth demo --policy NAME for policies that move pods: a small embedded cluster, with a table of its nodes before and
// after. Main thread, after cli::BlockSignals().
#pragma once

#include <cstdint>
#include <string>

namespace berth::app {

struct RebalanceDemoOptions {
  std::string policy;  // the name of a scenario
  std::uint64_t seed = 1;
  std::string hostname;  // that events name
};

// Returns the process's exit status.
int RunRebalanceDemo(const RebalanceDemoOptions& options);

}  // namespace berth::app
