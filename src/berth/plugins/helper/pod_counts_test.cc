// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/pod_counts.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::PodClass;
using testing::MakeNode;
using testing::MakePod;

std::int32_t CountWeb(const PodClass& pod_class, bool is_terminating) {
  const std::string* app = pod_class.labels.Find("app");
  return !is_terminating && app != nullptr && *app == "web" ? 1 : 0;
}

std::map<NodeIndex, std::pair<int, int>> AsMap(std::span<const PodCounts::Change> changes) {
  std::map<NodeIndex, std::pair<int, int>> map;
  for (const PodCounts::Change& change : changes) map[change.row] = {change.before, change.after};
  EXPECT_EQ(map.size(), changes.size()) << "a row is listed once";
  return map;
}

TEST(PodCounts, ReportsWhatChangedSinceTheLastUpdate) {
  cache::ColumnNodeTable table;
  const NodeIndex a = table.SetNode(MakeNode("a").Build());
  const NodeIndex b = table.SetNode(MakeNode("b").Build());
  table.AddPod(MakePod("w1").Label("app", "web").Node("a").Info());
  PodCounts counts(CountWeb);
  EXPECT_FALSE(counts.Update(table)) << "at first all rows are new";
  EXPECT_EQ(counts.by_row()[a], 1);
  EXPECT_EQ(counts.by_row()[b], 0);

  auto changes = counts.Update(table);
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->empty());

  table.AddPod(MakePod("db").Label("app", "db").Node("a").Info());
  const auto w2 = MakePod("w2").Label("app", "web").Node("b").Info();
  table.AddPod(w2);
  table.AddPod(MakePod("w3").Label("app", "web").Node("b").Info());
  changes = counts.Update(table);
  ASSERT_TRUE(changes);
  EXPECT_EQ(AsMap(*changes), (std::map<NodeIndex, std::pair<int, int>>{{b, {0, 2}}}));
  EXPECT_EQ(counts.total(), 3);

  auto ending = std::make_shared<framework::PodInfo>(*w2);
  ending->deletion_time = Time{};
  table.UpdatePod(b, ending);
  const NodeIndex c = table.SetNode(MakeNode("c").Build());
  table.AddPod(MakePod("w4").Label("app", "web").Node("c").Info());
  table.RemoveNode("a");
  changes = counts.Update(table);
  ASSERT_TRUE(changes);
  EXPECT_EQ(AsMap(*changes), (std::map<NodeIndex, std::pair<int, int>>{{a, {1, 0}}, {b, {2, 1}}, {c, {0, 1}}}));
}

TEST(PodCounts, StartsOverForAnotherTableAndWhenForgotten) {
  cache::ColumnNodeTable one;
  cache::ColumnNodeTable other;
  for (auto* table : {&one, &other}) table->SetNode(MakeNode("a").Build());
  one.AddPod(MakePod("w1").Label("app", "web").Node("a").Info());
  int asked = 0;
  PodCounts counts([&](const PodClass& pod_class, bool is_terminating) {
    ++asked;
    return CountWeb(pod_class, is_terminating);
  });
  EXPECT_FALSE(counts.Update(one));
  EXPECT_EQ(counts.total(), 1);
  EXPECT_FALSE(counts.Update(other));
  EXPECT_EQ(counts.total(), 0);
  EXPECT_FALSE(counts.Update(one));
  EXPECT_EQ(counts.total(), 1);
  EXPECT_EQ(asked, 1) << "a class is asked about once";
  counts.Forget();
  EXPECT_FALSE(counts.Update(one));
  EXPECT_EQ(asked, 2);
}

class PodCountsProperty : public ::testing::TestWithParam<std::uint64_t> {};

// Weights, as terms of a pod affinity have them, on a table that lives.
TEST_P(PodCountsProperty, EqualACountFromScratch) {
  Random random(GetParam());
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random.Below(n)); };
  const auto weigh = [](const PodClass& pod_class, bool is_terminating) -> std::int32_t {
    return static_cast<std::int32_t>(pod_class.spec.priority.value_or(0)) * (is_terminating ? 100 : 1);
  };
  cache::ColumnNodeTable table;
  PodCounts counts(weigh);
  std::map<std::string, std::pair<NodeIndex, framework::PodInfoPtr>> running;
  std::vector<std::int32_t> seen;  // kept by the changes alone
  for (int step = 0; step < 600; ++step) {
    const std::string node = "n" + std::to_string(below(8));
    const int what = below(10);
    if (what < 2) {
      table.SetNode(MakeNode(node).Label("v", std::to_string(step)).Build());
    } else if (what == 2) {
      table.RemoveNode(node);
    } else if (what < 7 || running.empty()) {
      const auto pod = MakePod("p" + std::to_string(step)).Priority(below(9) - 4).Node(node).Info();
      running[pod->uid] = {table.AddPod(pod), pod};
    } else {
      const auto it = std::next(running.begin(), below(running.size()));
      auto& [row, pod] = it->second;
      if (what < 9) {
        table.RemovePod(row, pod->uid);
        running.erase(it);
      } else {
        auto changed = std::make_shared<framework::PodInfo>(*pod);
        changed->deletion_time = Time{};
        pod = changed;
        table.UpdatePod(row, pod);
      }
    }
    // Now and then, so that several changes come together; once after more changes than the table remembers.
    if (below(3) != 0 && step != 450) continue;
    for (int i = 0; step == 450 && i < 3000; ++i) {
      table.SetNode(MakeNode("n0").Label("v", std::to_string(-i)).Build());
    }
    const auto changes = counts.Update(table);
    ASSERT_TRUE(step != 450 || !changes);
    if (changes) {
      seen.resize(table.row_count());
      for (const PodCounts::Change& change : *changes) {
        ASSERT_EQ(seen[change.row], change.before);
        seen[change.row] = change.after;
      }
    } else {
      seen.assign(counts.by_row().begin(), counts.by_row().end());
    }
    std::vector<std::int32_t> want(table.row_count());
    std::int64_t total = 0;
    for (const NodeIndex row : table.rows()) {
      for (const auto& pod : table.Info(row).pods())
        want[row] += weigh(*pod->pod_class, pod->deletion_time.has_value());
      total += want[row];
    }
    ASSERT_EQ(std::vector<std::int32_t>(counts.by_row().begin(), counts.by_row().end()), want)
        << "seed " << GetParam() << " step " << step;
    ASSERT_EQ(seen, want);
    ASSERT_EQ(counts.total(), total);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PodCountsProperty, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace berth::plugins
