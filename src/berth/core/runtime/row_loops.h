// SPDX-License-Identifier: Apache-2.0
// Loops over a class's kept scores that compilers vectorise. Pure functions.
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
// `values` must not be empty.
MinMax MinMaxOf(std::span<const std::int64_t> values);

// sums[i] += weight * values[i]. The spans must have the same length; the results must not overflow.
void AddWeighted(std::span<std::int64_t> sums, std::span<const std::int64_t> values, std::int64_t weight);

struct BestRows {
  std::int64_t total = INT64_MIN;
  std::size_t count = 0;
};
// Over the rows whose verdict is kVerdictOk: the largest total, which must be above INT64_MIN, and the number of rows
// that have it.
BestRows BestOf(std::span<const framework::VerdictId> verdicts, std::span<const std::int64_t> totals);

// How often `verdict` occurs.
std::size_t CountOf(std::span<const framework::VerdictId> verdicts, framework::VerdictId verdict);

}  // namespace berth::runtime
