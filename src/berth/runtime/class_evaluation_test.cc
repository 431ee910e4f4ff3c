#include "berth/runtime/class_evaluation.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"

namespace berth::runtime {
namespace {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Normalization;

TEST(Normalized, AsUpstream) {
  EXPECT_EQ(Normalized(Normalization::kNone, 42, 7), 42);
  EXPECT_EQ(Normalized(Normalization::kMax, 1, 3), 33);
  EXPECT_EQ(Normalized(Normalization::kMax, 0, 0), 0);
  EXPECT_EQ(Normalized(Normalization::kMaxReverse, 1, 3), 67);
  EXPECT_EQ(Normalized(Normalization::kMaxReverse, 0, 0), 100);
  EXPECT_EQ(Normalized(Normalization::kMax, kRawScoreMax, kRawScoreMax), 100);
  // Too large: wraps around instead of being undefined.
  EXPECT_LT(Normalized(Normalization::kMax, INT64_MAX, INT64_MAX), 100);
  EXPECT_EQ(Normalized(Normalization::kMaxReverse, INT64_MIN + 1, 1), 0);
}

// The same by looking at every row.
struct Naive {
  std::int64_t best = kNoTotal;
  std::vector<NodeIndex> rows;

  explicit Naive(const ClassEvaluation& e) {
    std::vector<std::int64_t> max(e.columns.size(), 0);
    for (std::size_t c = 0; c < e.columns.size(); ++c) {
      for (NodeIndex row = 0; row < e.verdicts.size(); ++row) {
        if (e.verdicts[row] == kVerdictOk) max[c] = std::max(max[c], e.columns[c].raw[row]);
      }
    }
    for (NodeIndex row = 0; row < e.verdicts.size(); ++row) {
      if (e.verdicts[row] != kVerdictOk) continue;
      std::int64_t total = e.fixed[row];
      for (std::size_t c = 0; c < e.columns.size(); ++c) {
        total += e.columns[c].weight * Normalized(e.columns[c].normalization, e.columns[c].raw[row], max[c]);
      }
      if (total > best) {
        best = total;
        rows.clear();
      }
      if (total == best) rows.push_back(row);
    }
  }
};

void ExpectBest(const ClassEvaluation& e) {
  const Naive naive(e);
  const ClassEvaluation::Best best = e.FindBest();
  ASSERT_EQ(best.count, naive.rows.size());
  if (naive.rows.empty()) return;
  ASSERT_EQ(best.total, naive.best);
  std::vector<NodeIndex> rows;
  for (std::size_t n = 0; n < best.count; ++n) rows.push_back(e.NthBest(best, n));
  ASSERT_EQ(rows, naive.rows);
  ASSERT_EQ(e.feasible_count, static_cast<std::size_t>(std::count(e.verdicts.begin(), e.verdicts.end(), kVerdictOk)));
  for (framework::VerdictId id = 0; id < e.verdict_counts.size(); ++id) {
    ASSERT_EQ(e.verdict_counts[id], std::count(e.verdicts.begin(), e.verdicts.end(), id));
  }
}

TEST(ClassEvaluation, Empty) {
  ClassEvaluation e;
  EXPECT_EQ(e.FindBest().count, 0u);
  e.Resize(70);
  e.Rebuild();
  EXPECT_EQ(e.FindBest().count, 0u);
}

class BestRows : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(BestRows, AsALookAtEveryRow) {
  Random random(GetParam());
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random.Below(n)); };
  ClassEvaluation e;
  e.columns.resize(2);
  e.columns[0].normalization = Normalization::kMax;
  e.columns[1].normalization = below(2) == 0 ? Normalization::kMaxReverse : Normalization::kNone;
  e.columns[1].weight = 3;
  std::size_t rows = static_cast<std::size_t>(1 + below(200));
  e.Resize(rows);
  // Few distinct values, so that there are ties and the maximum is often lost.
  const auto set = [&](NodeIndex row) {
    e.verdicts[row] = below(3) == 0 ? static_cast<framework::VerdictId>(1 + below(2)) : kVerdictOk;
    if (below(6) == 0) e.verdicts[row] = kVerdictNoNode;
    e.fixed[row] = below(3);
    e.columns[0].raw[row] = below(10) == 0 ? below(50) : below(3);
    e.columns[1].raw[row] = below(3);
  };
  for (NodeIndex row = 0; row < rows; ++row) set(row);
  e.Rebuild();
  ExpectBest(e);
  for (int step = 0; step < 100 && !HasFatalFailure(); ++step) {
    if (below(10) == 0) e.Resize(rows += static_cast<std::size_t>(below(70)));
    std::vector<NodeIndex> changed;
    const std::uint64_t one_in = below(4) == 0 ? 2 : rows / 2 + 1;
    for (NodeIndex row = 0; row < rows; ++row) {
      if (below(one_in) == 0) changed.push_back(row);
    }
    e.RemoveFromMaxima(changed);
    for (const NodeIndex row : changed) {
      set(row);
      if (step % 20 == 0) e.verdicts[row] = 1;  // also all at once
    }
    e.AddToMaxima(changed);
    ExpectBest(e);
  }
  if (HasFailure()) FAIL() << "replay with seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, BestRows, ::testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace berth::runtime
