// SPDX-License-Identifier: Apache-2.0
// Processes rows as runs of consecutive numbers. The rows that column forms get are mostly all rows, so that a range is
// faster than reading each entry of the list. Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "berth/base/check.h"
#include "berth/framework/node_table.h"

namespace berth::framework {

// The length of the first run in `rows`, which must be ascending and have a gap. Exponential, then binary search.
inline std::size_t FirstOfSeveralRuns(std::span<const NodeIndex> rows) {
  const NodeIndex* const row = rows.data();  // avoids the bounds checks of a hardened span
  const auto is_run = [row](std::size_t length) { return row[length - 1] - row[0] == length - 1; };
  std::size_t known = 1;  // the first `known` rows are a run
  std::size_t probe = 2;
  while (probe < rows.size() && is_run(probe)) {
    known = probe;
    probe *= 2;
  }
  std::size_t beyond = std::min(probe, rows.size());  // the first `beyond` rows are not a run
  while (beyond - known > 1) {
    const std::size_t middle = known + (beyond - known) / 2;
    (is_run(middle) ? known : beyond) = middle;
  }
  return known;
}

// The same for ascending rows that may have no gap. `rows` must not be empty.
inline std::size_t FirstRunLength(std::span<const NodeIndex> rows) {
  return rows.back() - rows.front() == rows.size() - 1 ? rows.size() : FirstOfSeveralRuns(rows);
}

// Calls visit(first row, count) for each run of consecutive rows in `rows`, which must be ascending. Runs are split
// into pieces of at most `count_max` (above 0).
template <typename Visit>
void ForEachRun(std::span<const NodeIndex> rows, std::size_t count_max, const Visit& visit) {
  BERTH_DCHECK(std::is_sorted(rows.begin(), rows.end()));
  while (!rows.empty()) {
    std::size_t left = FirstRunLength(rows);
    NodeIndex first = rows.front();
    rows = rows.subspan(left);
    while (left > 0) {
      const std::size_t count = std::min(left, count_max);
      visit(first, count);
      first += static_cast<NodeIndex>(count);
      left -= count;
    }
  }
}

// Sets values[row] to `value` for each of `rows`.
template <typename Value>
void FillRows(std::span<const NodeIndex> rows, std::span<Value> values, Value value) {
  ForEachRun(rows, rows.size(),
             [&](NodeIndex first, std::size_t count) { std::fill_n(values.begin() + first, count, value); });
}

}  // namespace berth::framework
