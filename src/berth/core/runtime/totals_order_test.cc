// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/totals_order.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"

namespace berth::runtime {
namespace {

using framework::NodeIndex;

using Marks = std::array<std::uint32_t, 2>;
struct Put {
  std::int64_t total = 0;
  Marks marks{};
};

void ExpectEqual(const TotalsOrder& order, const std::map<NodeIndex, Put>& rows) {
  std::map<Marks, std::vector<NodeIndex>> groups;
  for (const auto& [row, put] : rows) groups[put.marks].push_back(row);
  ASSERT_EQ(order.row_count(), rows.size());
  ASSERT_EQ(order.groups().size(), groups.size());
  std::set<TotalsOrder::GroupId> seen;
  for (const auto& [marks, members] : groups) {
    const TotalsOrder::GroupId group = order.GroupOf(members.front());
    ASSERT_TRUE(seen.insert(group).second);
    ASSERT_EQ(order.SizeOf(group), members.size());
    std::int64_t best = INT64_MIN;
    std::set<NodeIndex> best_rows;
    for (const NodeIndex row : members) {
      ASSERT_EQ(order.GroupOf(row), group);
      const std::int64_t total = rows.at(row).total;
      if (total > best) best_rows.clear();
      best = std::max(best, total);
      if (total == best) best_rows.insert(row);
    }
    std::vector<std::uint32_t> left_out(order.level_count());
    const TotalsOrder::LevelId level = order.BestLevel(group, left_out);
    ASSERT_EQ(order.TotalOf(level), best);
    const auto got = order.RowsOf(level);
    ASSERT_EQ(std::set<NodeIndex>(got.begin(), got.end()), best_rows);
    ASSERT_EQ(got.size(), best_rows.size());
    ASSERT_EQ(order.LevelOf(got.front()), level);
    // The next best level, after all rows of the best one are left out.
    left_out[level] = static_cast<std::uint32_t>(got.size());
    const TotalsOrder::LevelId next = order.BestLevel(group, left_out);
    ASSERT_EQ(next == TotalsOrder::kNoLevel, best_rows.size() == members.size());
    if (next != TotalsOrder::kNoLevel) {
      ASSERT_LT(order.TotalOf(next), best);
    }
  }
}

class TotalsOrderTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(TotalsOrderTest, EqualsALookAtEveryRow) {
  Random random(GetParam());
  TotalsOrder order;
  order.Reset(2);
  std::map<NodeIndex, Put> rows;
  for (int step = 0; step < 600; ++step) {
    const auto row = static_cast<NodeIndex>(random.Below(40));
    if (random.Below(4) == 0) {
      order.Remove(row);
      rows.erase(row);
    } else {
      const Put put{static_cast<std::int64_t>(random.Below(6)) - 3,
                    {static_cast<std::uint32_t>(random.Below(3)), static_cast<std::uint32_t>(random.Below(2))}};
      order.Put(row, put.total, put.marks);
      rows[row] = put;
    }
    if (random.Below(200) == 0) {
      order.Reset(2);
      rows.clear();
    }
    ASSERT_NO_FATAL_FAILURE(ExpectEqual(order, rows)) << "step " << step;
  }
  EXPECT_EQ(order.GroupOf(1000), TotalsOrder::kNoGroup);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TotalsOrderTest, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace berth::runtime
