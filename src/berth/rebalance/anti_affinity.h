// SPDX-License-Identifier: Apache-2.0
// RemovePodsViolatingInterPodAntiAffinity: pods that a required anti-affinity of another pod excludes. As the
// descheduler has it. Pure.
#pragma once

#include "berth/rebalance/policy.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

void Run(const InterPodAntiAffinityArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
