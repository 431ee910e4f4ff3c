// SPDX-License-Identifier: Apache-2.0
// Strategies that look at a pod alone: its age, its failure, its restarts. As the descheduler has
// it. Pure.
#pragma once

#include "berth/rebalance/policy.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

void Run(const PodLifeTimeArgs& args, const StrategyRun& run);
void Run(const FailedPodsArgs& args, const StrategyRun& run);
void Run(const TooManyRestartsArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
