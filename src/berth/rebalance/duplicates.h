// SPDX-License-Identifier: Apache-2.0
// RemoveDuplicates: pods of one owner that are together on a node. As the descheduler has
// it. Pure.
#pragma once

#include "berth/rebalance/policy.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

void Run(const RemoveDuplicatesArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
