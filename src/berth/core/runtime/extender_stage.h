// SPDX-License-Identifier: Apache-2.0
// What extenders change in a scan: the nodes that are left, and their totals. The cycle must have extenders. Within
// turns only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// While the extenders have yet to be asked (filters_only), both change nothing.

// Takes out of `feasible` what extenders refused, and puts their verdicts into `verdicts`, by row. A node that an
// extender left out without a reason is, as upstream has it, a node without a verdict.
void ApplyExtenderFilters(EvaluationCycle& cycle, std::vector<framework::NodeIndex>& feasible,
                          std::span<framework::VerdictId> verdicts);

// Adds the extenders' scores to the totals of the feasible rows. Sums wrap, as Go's do.
void AddExtenderScores(const EvaluationCycle& cycle, std::span<const framework::NodeIndex> feasible,
                       std::span<std::int64_t> totals);

}  // namespace berth::runtime
