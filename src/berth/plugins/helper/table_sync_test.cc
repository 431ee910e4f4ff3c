// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/table_sync.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/column_node_table.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using cache::ColumnNodeTable;
using framework::NodeIndex;
using framework::PodInfoPtr;
using testing::MakeNode;
using testing::MakePod;

std::vector<NodeIndex> Looked(TableSync& sync, const ColumnNodeTable& table) {
  std::vector<NodeIndex> rows;
  sync.ForChanged(table, [&](NodeIndex row, std::size_t) { rows.push_back(row); });
  EXPECT_TRUE(sync.IsUpToDate(table));
  EXPECT_EQ(sync.table(), &table);
  return rows;
}

TEST(TableSync, LooksAtAllRowsAndThenAtThoseThatChanged) {
  ColumnNodeTable table;
  const NodeIndex a = table.SetNode(MakeNode("a").Build());
  const NodeIndex b = table.SetNode(MakeNode("b").Build());
  TableSync sync;
  EXPECT_FALSE(sync.IsSame(table));
  EXPECT_EQ(sync.table(), nullptr);
  EXPECT_EQ(Looked(sync, table), (std::vector<NodeIndex>{a, b}));
  EXPECT_TRUE(Looked(sync, table).empty());

  table.AddPod(MakePod("p").Node("b").Info());
  EXPECT_TRUE(sync.IsSame(table));
  EXPECT_FALSE(sync.IsUpToDate(table));
  EXPECT_EQ(Looked(sync, table), (std::vector<NodeIndex>{b}));

  const NodeIndex c = table.SetNode(MakeNode("c").Build());
  EXPECT_EQ(Looked(sync, table), (std::vector<NodeIndex>{c}));
  sync.Forget();
  EXPECT_EQ(Looked(sync, table), (std::vector<NodeIndex>{a, b, c}));
}

TEST(TableSync, ReportsHowManyPodsOfARowDidNotChange) {
  ColumnNodeTable table;
  table.SetNode(MakeNode("a").Build());
  TableSync sync;
  std::vector<std::size_t> kept;
  const auto note = [&](NodeIndex, std::size_t pods_kept) { kept.push_back(pods_kept); };
  table.AddPod(MakePod("p").Node("a").Info());
  sync.ForChanged(table, note);
  EXPECT_EQ(kept, (std::vector<std::size_t>{0})) << "all rows are looked at";
  table.AddPod(MakePod("q").Node("a").Info());
  sync.ForChanged(table, note);
  EXPECT_EQ(kept, (std::vector<std::size_t>{0, 1}));
}

TEST(TableSync, DistinguishesAnotherTableFromThatOfLastTime) {
  std::optional<ColumnNodeTable> table(std::in_place);
  table->SetNode(MakeNode("a").Build());
  table->SetNode(MakeNode("b").Build());
  TableSync sync;
  sync.Take(*table);

  ColumnNodeTable other;
  other.SetNode(MakeNode("a").Build());
  EXPECT_FALSE(sync.IsSame(other));

  // At the same place, but with fewer changes; and with as many, but fewer rows.
  table.emplace();
  table->SetNode(MakeNode("c").Build());
  EXPECT_FALSE(sync.IsSame(*table));
  for (int i = 0; i < 10; ++i) table->AddPod(MakePod("p" + std::to_string(i)).Node("c").Info());
  ASSERT_EQ(table->row_count(), 1u);
  EXPECT_FALSE(sync.IsSame(*table));
  EXPECT_EQ(Looked(sync, *table), (std::vector<NodeIndex>{0}));
}

// What SyncPods counts, one after the other, as "+name" and "-name".
class SyncPodsTest : public ::testing::Test {
 protected:
  std::string Sync(bool keeps_equal_names = false, std::size_t pods_kept = 0) {
    std::string text;
    SyncPods(
        table_.Info(row_), pods_kept, kept_,
        [&](const PodInfoPtr& kept, const PodInfoPtr& pod) {
          ++looked_at_;
          return kept == pod || (keeps_equal_names && kept->name == pod->name);
        },
        [](const PodInfoPtr& pod) { return pod; },
        [&](const PodInfoPtr& pod, std::int32_t pods) { text += (pods > 0 ? "+" : "-") + pod->name; });
    return text;
  }

  PodInfoPtr Add(const std::string& name) {
    PodInfoPtr pod = MakePod(name).Node("a").Info();
    table_.AddPod(pod);
    return pod;
  }

  ColumnNodeTable table_;
  NodeIndex row_ = table_.SetNode(MakeNode("a").Build());
  std::vector<PodInfoPtr> kept_;
  int looked_at_ = 0;
};

TEST_F(SyncPodsTest, CountsWhatComesAndGoes) {
  EXPECT_EQ(Sync(), "");
  const PodInfoPtr p = Add("p");
  Add("q");
  Add("r");
  EXPECT_EQ(Sync(), "+p+q+r");
  EXPECT_EQ(Sync(), "");
  // The last one takes its place.
  table_.RemovePod(row_, p);
  EXPECT_EQ(Sync(), "-p+r-r");
  EXPECT_EQ(kept_.size(), 2u);
}

TEST_F(SyncPodsTest, KeepsWhatHolds) {
  const PodInfoPtr p = Add("p");
  EXPECT_EQ(Sync(), "+p");
  table_.UpdatePod(row_, std::make_shared<framework::PodInfo>(*p));
  EXPECT_EQ(Sync(true), "");
  EXPECT_EQ(kept_[0], p);
  EXPECT_EQ(Sync(), "-p+p");
  EXPECT_NE(kept_[0], p);
}

TEST_F(SyncPodsTest, DoesNotLookAtPodsThatDidNotChange) {
  for (const char* name : {"p", "q", "r"}) Add(name);
  EXPECT_EQ(Sync(), "+p+q+r");
  Add("s");
  EXPECT_EQ(Sync(false, 3), "+s");
  EXPECT_EQ(looked_at_, 0);
  table_.RemovePod(row_, "uid-default-q");
  EXPECT_EQ(Sync(false, 1), "-q+s-s");
  EXPECT_EQ(looked_at_, 2);
  // More than there are any more: the last have gone.
  table_.RemovePod(row_, "uid-default-r");
  EXPECT_EQ(Sync(false, 7), "-r");
  EXPECT_EQ(looked_at_, 2);
}

TEST_F(SyncPodsTest, ARowWithoutANodeHasNoPods) {
  Add("p");
  Add("q");
  EXPECT_EQ(Sync(), "+p+q");
  table_.RemoveNode("a");
  EXPECT_EQ(Sync(), "-p-q");
  table_.SetNode(MakeNode("a").Build());
  EXPECT_EQ(Sync(), "+p+q");
}

}  // namespace
}  // namespace berth::plugins
