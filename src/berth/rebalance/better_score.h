// SPDX-License-Identifier: Apache-2.0
// BetterScore: pods that the scheduler would place elsewhere now, by so many points of its profile's score. Which they
// are, only the core can say: the strategy objects to all that may be moved, some of them each round, and the plan asks
// the core (plan.h). See strategy_run.h.
#pragma once

#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

void Run(const BetterScoreArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
