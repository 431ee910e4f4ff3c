// SPDX-License-Identifier: Apache-2.0
// Asks one filter or score plugin about many rows, in the form that the evaluator was made for; what a plugin throws
// becomes its own error. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// For each of `rows` where verdicts[row] is kVerdictOk: puts there what the filter says, an entry of the
// class's status table. `filter` is its position in the profile.
void FilterRows(EvaluationCycle& cycle, std::size_t filter, std::span<const framework::NodeIndex> rows,
                std::span<framework::VerdictId> verdicts);

// Puts the raw scores of `rows`, which ascend, into scores[row].
framework::Status ScoreRows(EvaluationCycle& cycle, std::size_t score, std::span<const framework::NodeIndex> rows,
                            std::span<std::int64_t> scores);

}  // namespace berth::runtime
