// SPDX-License-Identifier: Apache-2.0
// Consolidate: pods of nodes that can be emptied, so that an autoscaler can take the nodes away; all of a node or none.
// Which nodes they are, and where the pods could go, is searched for all nodes together (packing.h). See
// strategy_run.h.
#pragma once

#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

void Run(const ConsolidateArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
