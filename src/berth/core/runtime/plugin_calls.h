// SPDX-License-Identifier: Apache-2.0
// Calls one filter or score plugin for many rows, in the evaluator's form. An exception becomes the plugin's error.
// Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// For each of `rows` where verdicts[row] is kVerdictOk: replaces it by the filter's verdict, an index into the class's
// status table. `filter` is an index in the profile.
void FilterRows(EvaluationCycle& cycle, std::size_t filter, std::span<const framework::NodeIndex> rows,
                std::span<framework::VerdictId> verdicts);

// Writes the raw scores of `rows`, which must be ascending, to scores[row].
framework::Status ScoreRows(EvaluationCycle& cycle, std::size_t score, std::span<const framework::NodeIndex> rows,
                            std::span<std::int64_t> scores);

}  // namespace berth::runtime
