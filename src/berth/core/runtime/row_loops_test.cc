// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/row_loops.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"

namespace berth::runtime {
namespace {

using framework::VerdictId;

TEST(RowLoops, EqualALookAtEachValue) {
  Random random(1);
  for (std::size_t size = 1; size < 70; ++size) {
    std::vector<std::int64_t> values, sums(size, 5);
    std::vector<VerdictId> verdicts;
    for (std::size_t i = 0; i < size; ++i) {
      values.push_back(static_cast<std::int64_t>(random.Below(9)) - 4);
      verdicts.push_back(static_cast<VerdictId>(random.Below(3)));
    }
    const MinMax range = MinMaxOf(values);
    EXPECT_EQ(range.min, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(range.max, *std::max_element(values.begin(), values.end()));
    AddWeighted(sums, values, -3);
    BestRows want;
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(sums[i], 5 - 3 * values[i]);
      if (verdicts[i] != framework::kVerdictOk) continue;
      if (values[i] > want.total) want = {values[i], 0};
      if (values[i] == want.total) ++want.count;
    }
    const BestRows best = BestOf(verdicts, values);
    EXPECT_EQ(best.total, want.total);
    EXPECT_EQ(best.count, want.count);
    EXPECT_EQ(CountOf(verdicts, 2), static_cast<std::size_t>(std::count(verdicts.begin(), verdicts.end(), 2U)));
  }
}

TEST(RowLoops, NoRowIsFeasible) {
  const std::vector<std::int64_t> totals{1, 2};
  EXPECT_EQ(BestOf(std::vector<VerdictId>{1, 2}, totals).count, 0u);
}

}  // namespace
}  // namespace berth::runtime
