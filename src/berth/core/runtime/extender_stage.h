// SPDX-License-Identifier: Apache-2.0
// Applies the verdicts and scores of extenders in a scan. The cycle must have extenders. Within turns only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// As long as the extenders have not been asked (filters_only), both functions change nothing.

// Removes the nodes that extenders refused from `feasible`, and sets their verdicts by row. As in upstream, a node that
// an extender left out without a reason has no verdict.
void ApplyExtenderFilters(EvaluationCycle& cycle, std::vector<framework::NodeIndex>& feasible,
                          std::span<framework::VerdictId> verdicts);

// Adds the extenders' scores to the totals of the feasible rows. Sums wrap, as in Go.
void AddExtenderScores(const EvaluationCycle& cycle, std::span<const framework::NodeIndex> feasible,
                       std::span<std::int64_t> totals);

}  // namespace berth::runtime
