// SPDX-License-Identifier: Apache-2.0
// An explanation from the running core: what it keeps of the pod, and beside it what would be decided now. Between two
// turns, which wait meanwhile.
#pragma once

#include <string>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/whatif/explanation.h"

namespace berth::scheduler {
class Scheduler;
}

namespace berth::whatif {

struct LiveQuestion {
  std::string namespace_name;
  std::string name;
  Time now{};
  Duration wall_ahead{0};  // how far the time of day is ahead of `now`
};

// Explains any pod that the core has, placed, pending or on its way; kNotFound names the nearest. Changes nothing, not
// even which node a later pod gets. Pods of other schedulers are known only once they have a node.
Expected<Explanation> ExplainLive(scheduler::Scheduler& core, const LiveQuestion& question,
                                  const ExplainLimits& limits);

}  // namespace berth::whatif
