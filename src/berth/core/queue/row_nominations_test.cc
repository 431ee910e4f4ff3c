// SPDX-License-Identifier: Apache-2.0
// Nominations by row, updated incrementally, must equal a full scan of all nominations.
#include "berth/core/queue/row_nominations.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/core/queue/queue_testing.h"
#include "berth/testing/builders.h"

namespace berth::queue {
namespace {

using framework::kNoNode;
using framework::NodeIndex;
using framework::PodInfoPtr;
using Names = std::vector<std::string>;
using ByRow = std::map<NodeIndex, std::vector<PodInfoPtr>>;

class RowNominationsTest : public ::testing::Test {
 protected:
  NodeIndex SetNode(const std::string& name) { return table_.SetNode(testing::MakeNode(name).Build()); }
  void Update() { nominations_.Update(nominator_, table_); }
  Names On(NodeIndex row) {
    Names names;
    for (const PodInfoPtr& pod : nominations_.rows().PodsOn(row)) names.push_back(pod->name);
    return names;
  }
  ByRow Shown() const {
    ByRow shown;
    for (const auto& on_row : nominations_.rows().rows()) shown[on_row.row] = {on_row.pods.begin(), on_row.pods.end()};
    return shown;
  }
  ByRow Walked() const {
    ByRow walked;
    nominator_.ForEachNode([&](std::string_view name, std::span<const PodInfoPtr> pods) {
      if (table_.Find(name) != kNoNode) walked[table_.Find(name)] = {pods.begin(), pods.end()};
    });
    return walked;
  }

  cache::ColumnNodeTable table_;
  Nominator nominator_;
  RowNominations nominations_;
};

TEST_F(RowNominationsTest, FollowsNominationsAndNodes) {
  const NodeIndex a = SetNode("a");
  nominator_.AddNominatedPod(MakePodInfo({.name = "p"}), "a");
  nominator_.AddNominatedPod(MakePodInfo({.name = "q"}), "a");
  nominator_.AddNominatedPod(MakePodInfo({.name = "r"}), "b");
  Update();
  EXPECT_EQ(On(a), (Names{"p", "q"}));
  const NodeIndex b = SetNode("b");
  Update();
  EXPECT_EQ(On(b), Names{"r"}) << "its node was not known before";
  nominator_.AddNominatedPod(MakePodInfo({.name = "p"}), "b");
  Update();
  EXPECT_EQ(On(a), Names{"q"});
  EXPECT_EQ(On(b), (Names{"r", "p"}));
  table_.RemoveNode("a");
  const NodeIndex c = SetNode("c");
  ASSERT_EQ(c, a) << "the row is used again";
  Update();
  EXPECT_TRUE(On(c).empty());
  nominator_.DeleteNominated("uid-r");
  nominator_.DeleteNominated("uid-p");
  Update();
  EXPECT_TRUE(nominations_.rows().rows().empty());
}

TEST_F(RowNominationsTest, KnowsWhomNominationsMatterTo) {
  SetNode("a");
  SetNode("b");
  const auto low = MakePodInfo({.name = "low", .priority = 1});
  const auto high = MakePodInfo({.name = "high", .priority = 5});
  nominator_.AddNominatedPod(low, "a");
  Update();
  const framework::NominatedRows& rows = nominations_.rows();
  EXPECT_FALSE(rows.MatterTo(*low)) << "its own";
  EXPECT_FALSE(rows.MatterTo(*high)) << "a less important one";
  EXPECT_TRUE(rows.MatterTo(*MakePodInfo({.name = "other", .priority = 1})));
  nominator_.AddNominatedPod(high, "b");
  Update();
  EXPECT_TRUE(rows.MatterTo(*low));
  EXPECT_FALSE(rows.MatterTo(*low, table_.Find("a")));
  EXPECT_TRUE(rows.MatterTo(*low, table_.Find("b")));
  EXPECT_FALSE(rows.MatterTo(*high));
  EXPECT_FALSE(rows.MatterTo(*high, table_.Find("a")));
  EXPECT_TRUE(rows.MatterTo(*MakePodInfo({.name = "high", .priority = 1}))) << "it was nominated as another priority";
  EXPECT_EQ(rows.RowOf("uid-low"), table_.Find("a"));
  EXPECT_EQ(rows.RowOf("uid-other"), kNoNode);
}

TEST_F(RowNominationsTest, ForgetsOldChanges) {
  const NodeIndex a = SetNode("a");
  Update();
  const std::uint64_t before = nominations_.rows().version();
  for (int i = 0; i < 5000; ++i) {
    nominator_.AddNominatedPod(MakePodInfo({.name = i % 2 == 0 ? "p" : "q", .uid = "uid"}), "a");
    if (i % 3 != 0) Update();
  }
  EXPECT_FALSE(nominator_.ChangedSince(0).has_value());
  EXPECT_FALSE(nominations_.rows().ChangedSince(before).has_value());
  EXPECT_EQ(On(a), Names{"q"});
}

TEST_F(RowNominationsTest, FindsWhatAWalkFinds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto below = [&](std::uint64_t n) { return std::to_string(random.Below(n)); };
    cache::ColumnNodeTable table;
    Nominator nominator;
    RowNominations nominations;
    ByRow last;
    std::uint64_t version = 0;
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t many = random.Below(40) == 0 ? 3000 : 1 + random.Below(3);
      for (std::uint64_t i = 0; i < many; ++i) {
        switch (random.Below(6)) {
          case 0: table.SetNode(testing::MakeNode("n" + below(6)).Build()); break;
          case 1: table.RemoveNode("n" + below(6)); break;
          case 2: nominator.DeleteNominated("uid-p" + below(8)); break;
          default:
            nominator.AddNominatedPod(
                MakePodInfo({.name = "p" + below(8), .priority = static_cast<std::int32_t>(random.Below(3))}),
                "n" + below(7));
        }
      }
      nominations.Update(nominator, table);
      ByRow want, got;
      nominator.ForEachNode([&](std::string_view name, std::span<const PodInfoPtr> pods) {
        if (table.Find(name) != kNoNode) want[table.Find(name)] = {pods.begin(), pods.end()};
      });
      const framework::NominatedRows& rows = nominations.rows();
      for (const auto& on_row : rows.rows()) got[on_row.row] = {on_row.pods.begin(), on_row.pods.end()};
      ASSERT_EQ(got, want);
      for (NodeIndex row = 0; row < 8; ++row) {
        const auto pods = rows.PodsOn(row);
        ASSERT_EQ((std::vector<PodInfoPtr>{pods.begin(), pods.end()}), want[row]);
      }
      // The change log must contain every row that changed.
      if (const auto changed = rows.ChangedSince(version)) {
        const std::set<NodeIndex> logged(changed->begin(), changed->end());
        for (NodeIndex row = 0; row < 8; ++row) ASSERT_TRUE(last[row] == want[row] || logged.contains(row)) << row;
      }
      last = want;
      version = rows.version();
      for (std::int32_t priority = 0; priority < 3; ++priority) {
        const PodInfoPtr pod = MakePodInfo({.name = "p" + below(8), .priority = priority});
        bool matters = false;
        for (const auto& [row, pods] : want) {
          bool on_row = false;
          for (const PodInfoPtr& other : pods) on_row |= other->uid != pod->uid && other->priority() >= priority;
          ASSERT_EQ(rows.MatterTo(*pod, row), on_row);
          matters |= on_row;
        }
        ASSERT_EQ(rows.MatterTo(*pod), matters);
      }
    }
  }
}

}  // namespace
}  // namespace berth::queue
