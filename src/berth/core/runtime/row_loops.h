// SPDX-License-Identifier: Apache-2.0
// Passes over a class's kept scores, row by row, in loops that compilers make vector code of. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/framework/fast_path.h"

namespace berth::runtime {

struct MinMax {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
// Of at least one value.
MinMax MinMaxOf(std::span<const std::int64_t> values);

// sums[i] += weight * values[i]; equally long, and too small to overflow.
void AddWeighted(std::span<std::int64_t> sums, std::span<const std::int64_t> values, std::int64_t weight);

struct BestRows {
  std::int64_t total = INT64_MIN;
  std::size_t count = 0;
};
// Among the rows whose verdict is kVerdictOk: the largest total, above INT64_MIN, and how many have it.
BestRows BestOf(std::span<const framework::VerdictId> verdicts, std::span<const std::int64_t> totals);

// How many verdicts are that one.
std::size_t CountOf(std::span<const framework::VerdictId> verdicts, framework::VerdictId verdict);

}  // namespace berth::runtime
