// SPDX-License-Identifier: Apache-2.0
// Strategies that look at a pod and its node: node affinity and taints. As the descheduler has
// it. Pure.
#pragma once

#include "berth/rebalance/policy.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

void Run(const NodeAffinityArgs& args, const StrategyRun& run);
void Run(const NodeTaintsArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
