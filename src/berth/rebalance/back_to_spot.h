// SPDX-License-Identifier: Apache-2.0
// BackToSpot: pods that want spot nodes and are not on one, once there are some, and pods on nodes that are about to be
// taken back. See strategy_run.h and violations.h.
#pragma once

#include <memory>
#include <string_view>

#include "berth/rebalance/strategy_run.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {

// On a node: the time (RFC 3339) at which it will be taken back.
inline constexpr std::string_view kReclaimAtAnnotation = "berth.dev/reclaim-at";

void Run(const BackToSpotArgs& args, const StrategyRun& run);
// Pods on nodes that are about to be taken back, and then pods that want spot nodes and are not on one.
std::unique_ptr<Violation> MakeViolation(const BackToSpotArgs& args, const ClusterView& view, Time now);

}  // namespace berth::rebalance
