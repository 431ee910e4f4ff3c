// SPDX-License-Identifier: Apache-2.0
// The answer of `berth rebalance plan` as lines for people and as JSON for programs. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/rebalance/plan.h"
#include "berth/shell/cli/table.h"

namespace berth::answers {

// What gets better: "node-1 3 to 2, node-2 0 to 1", "1 violation fewer".
std::string GainText(const rebalance::PlannedMove& move);

// How many pods that stay are listed in an answer that is not wide.
inline constexpr std::size_t kStayingShownMax = 20;

// `is_wide` adds owners, reasons and what gets worse, and lists all pods that stay.
std::vector<std::string> PlanLines(const rebalance::RebalancePlan& plan, bool is_wide, const cli::Table::Style& style);

// docs/rebalance.md describes the fields.
codec::json::object PlanJson(const rebalance::RebalancePlan& plan);

}  // namespace berth::answers
