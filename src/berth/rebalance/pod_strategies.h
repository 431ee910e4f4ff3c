// SPDX-License-Identifier: Apache-2.0
// The descheduler's strategies that look at pods one by one: at age, failure and restarts, and at node affinity and
// taints of the pod's node. Pure.
#pragma once

#include "berth/rebalance/policy.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

void Run(const PodLifeTimeArgs& args, const StrategyRun& run);
void Run(const FailedPodsArgs& args, const StrategyRun& run);
void Run(const TooManyRestartsArgs& args, const StrategyRun& run);
void Run(const NodeAffinityArgs& args, const StrategyRun& run);
void Run(const NodeTaintsArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
