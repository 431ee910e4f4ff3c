// SPDX-License-Identifier: Apache-2.0
// ZoneRepair: pods of an owner of which too many are in one zone. See strategy_run.h and violations.h.
#pragma once

#include <memory>

#include "berth/rebalance/strategy_run.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {

void Run(const ZoneRepairArgs& args, const StrategyRun& run);
// The squares of how many pods of an owner are in each zone.
std::unique_ptr<Violation> MakeViolation(const ZoneRepairArgs& args, const ClusterView& view);

}  // namespace berth::rebalance
