// SPDX-License-Identifier: Apache-2.0
// CustomMetric: pods, or pods of nodes, of which a query to Prometheus says that a line is crossed; and pods that stand
// in for each other and are together. See strategy_run.h and violations.h.
#pragma once

#include <memory>

#include "berth/base/expected.h"
#include "berth/rebalance/measurements.h"
#include "berth/rebalance/strategy_run.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {

void Run(const CustomMetricArgs& args, const StrategyRun& run);
// Pods that are where the line is crossed, and pairs that are together.
std::unique_ptr<Violation> MakeViolation(const CustomMetricArgs& args, const ClusterView& view,
                                         const Measurements* measurements);
// Why the answer to the rule's query is of no use: no series has the labels by which the rule finds pods or nodes.
Expected<void> CheckSamples(const CustomMetricArgs& args, const Measurements* measurements);

}  // namespace berth::rebalance
