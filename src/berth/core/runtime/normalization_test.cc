// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/normalization.h"

#include <vector>

#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

using framework::Normalization;

TEST(Normalized, AsUpstream) {
  EXPECT_EQ(Normalized(Normalization::kNone, 42, {0, 7}), 42);
  EXPECT_EQ(Normalized(Normalization::kMax, 1, {0, 3}), 33);
  EXPECT_EQ(Normalized(Normalization::kMax, 0, {}), 0);
  EXPECT_EQ(Normalized(Normalization::kMaxReverse, 1, {0, 3}), 67);
  EXPECT_EQ(Normalized(Normalization::kMaxReverse, 0, {}), 100);
  EXPECT_EQ(Normalized(Normalization::kMax, framework::kRawScoreMax, {0, framework::kRawScoreMax}), 100);
  // Scores that are too large wrap around instead of being undefined behaviour.
  EXPECT_LT(Normalized(Normalization::kMax, INT64_MAX, {0, INT64_MAX}), 100);
  EXPECT_EQ(Normalized(Normalization::kMaxReverse, INT64_MIN + 1, {0, 1}), 0);
}

TEST(Normalized, LowestFirstGivesTheBestAlone100) {
  const std::vector<std::int64_t> raw{50'000, 100'000, 50'001, 1'600'000, framework::kNoRawScore, 50'000};
  const RawRange range = RawRangeOf(Normalization::kLowestFirst, raw);
  EXPECT_EQ(range.min, 50'000);
  EXPECT_EQ(range.max, 1'600'000);
  std::vector<std::int64_t> scores;
  for (const std::int64_t value : raw) scores.push_back(Normalized(Normalization::kLowestFirst, value, range));
  EXPECT_EQ(scores, (std::vector<std::int64_t>{100, 95, 98, 1, 0, 100}));
}

TEST(Normalized, LowestFirstAtTheEnds) {
  constexpr auto kLowestFirst = Normalization::kLowestFirst;
  EXPECT_EQ(Normalized(kLowestFirst, 7, RawRangeOf(kLowestFirst, std::vector<std::int64_t>{7, 7})), 100);
  // No node has a score: all are the best.
  const std::vector<std::int64_t> none{framework::kNoRawScore, framework::kNoRawScore};
  EXPECT_EQ(Normalized(kLowestFirst, framework::kNoRawScore, RawRangeOf(kLowestFirst, none)), 100);
  // The widest range does not overflow.
  const std::vector<std::int64_t> wide{0, 1, framework::kRawScoreMax - 1};
  EXPECT_EQ(Normalized(kLowestFirst, 0, RawRangeOf(kLowestFirst, wide)), 100);
  EXPECT_EQ(Normalized(kLowestFirst, 1, RawRangeOf(kLowestFirst, wide)), 98);
  EXPECT_EQ(Normalized(kLowestFirst, framework::kRawScoreMax - 1, RawRangeOf(kLowestFirst, wide)), 1);
}

}  // namespace
}  // namespace berth::runtime
