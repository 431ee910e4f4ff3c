// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/round_robin/round_robin.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/plugins/round_robin/last_used.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;

class RoundRobinTest : public ::testing::Test {
 protected:
  void Add(std::initializer_list<const char*> names) {
    for (const char* name : names) cluster.Add(MakeNode(name));
  }
  std::vector<NodeIndex> Rows(const std::vector<std::string>& names) {
    std::vector<NodeIndex> rows;
    for (const std::string& name : names) rows.push_back(cluster.table().Find(name));
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  std::string Name(NodeIndex row) { return cluster.table().Info(row).name(); }

  // The node that the plugin wants; it is then used, unless `other` is.
  std::string Place(const std::vector<std::string>& feasible, std::string_view other = {}) {
    cluster.Forget();
    const framework::Cycle cycle = cluster.cycle();
    const std::vector<NodeIndex> rows = Rows(feasible);
    EXPECT_TRUE(plugin.PreScore(cycle, *pod, rows).IsSuccess());
    std::vector<std::int64_t> scores(cluster.table().row_count(), 7);
    framework::Status status;
    plugin.ScoreRows(cycle, *pod, rows, scores, status);
    EXPECT_EQ(std::count(scores.begin(), scores.end(), 0), 1);
    const std::string name = Name(static_cast<NodeIndex>(std::find(scores.begin(), scores.end(), 0) - scores.begin()));
    EXPECT_TRUE(plugin.Reserve(cycle, *pod, other.empty() ? std::string_view(name) : other).IsSuccess());
    return name;
  }
  std::string Turns(const std::vector<std::string>& feasible, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += Place(feasible) + " ";
    return text;
  }

  TestCluster cluster;
  const TestedPlugin plugin = CreateRoundRobin();
  framework::PodInfoPtr pod = MakePod("p").SchedulerName("round-robin").Info();
};

TEST_F(RoundRobinTest, NodesTakeTurnsInTheOrderOfTheirNames) {
  Add({"b", "d", "a", "c"});
  EXPECT_EQ(Turns({"a", "b", "c", "d"}, 9), "a b c d a b c d a ");
}

TEST_F(RoundRobinTest, NodesThatCannotTakeThePodAreLeftOut) {
  Add({"a", "b", "c", "d"});
  EXPECT_EQ(Turns({"b", "d"}, 3), "b d b ");
  EXPECT_EQ(Turns({"a", "b", "c", "d"}, 3), "c d a ");
}

TEST_F(RoundRobinTest, NodesThatComeAndGoUpsetNoTurn) {
  Add({"a", "b", "c", "d"});
  EXPECT_EQ(Turns({"a", "b", "c", "d"}, 2), "a b ");
  cluster.table().RemoveNode("b");  // the last one used
  Add({"bb"});
  EXPECT_EQ(Turns({"a", "bb", "c", "d"}, 6), "bb c d a bb c ");
  cluster.table().RemoveNode("d");  // the next one
  Add({"b"});
  EXPECT_EQ(Turns({"a", "b", "bb", "c"}, 5), "a b bb c a ");
}

TEST_F(RoundRobinTest, TheNodeThatWasUsedCountsNotTheOneThatWasWanted) {
  Add({"a", "b", "c", "d"});
  EXPECT_EQ(Place({"a", "b", "c", "d"}, "c"), "a");
  EXPECT_EQ(Place({"a", "b", "c", "d"}), "d");
}

TEST_F(RoundRobinTest, APodForOneNodeUpsetsNoTurn) {
  Add({"a", "b", "c"});
  EXPECT_EQ(Place({"a", "b", "c"}), "a");
  cluster.Forget();  // with one feasible node there is no PreScore
  EXPECT_TRUE(plugin.Reserve(cluster.cycle(), *pod, "c").IsSuccess());
  EXPECT_EQ(Place({"a", "b", "c"}), "b");
}

TEST_F(RoundRobinTest, AFailedBindingKeepsItsTurn) {
  Add({"a", "b", "c"});
  EXPECT_EQ(Place({"a", "b", "c"}), "a");
  plugin.Unreserve(*pod, "a");
  EXPECT_EQ(Place({"a", "b", "c"}), "b");
}

TEST_F(RoundRobinTest, AfterARestartItGoesOnAfterTheLastNodeUsed) {
  Add({"a", "b", "c", "d"});
  const Time now{std::chrono::seconds(1'000'000'000)};
  using std::chrono::seconds;
  cluster.Add(MakePod("1").SchedulerName("round-robin").Created(now).Node("a"));
  cluster.Add(MakePod("2").SchedulerName("round-robin").Created(now + seconds(1)).Node("b"));
  cluster.Add(MakePod("of another profile").Created(now + seconds(2)).Node("c"));
  cluster.Add(MakePod("of a DaemonSet")
                  .SchedulerName("round-robin")
                  .Controller("apps/v1", "DaemonSet", "d")
                  .Created(now + seconds(2))
                  .Node("d"));
  cluster.Add(MakePod("without a time").SchedulerName("round-robin").Node("d"));
  EXPECT_EQ(Turns({"a", "b", "c", "d"}, 3), "c d a ");
}

TEST_F(RoundRobinTest, TheDefaultProfileHasPodsThatNameNoScheduler) {
  Add({"a", "b", "c"});
  const Time now{std::chrono::seconds(1'000'000'000)};
  cluster.Add(MakePod("1").SchedulerName("").Created(now).Node("b"));
  pod = MakePod("p").Info();
  EXPECT_EQ(Place({"a", "b", "c"}), "c");
}

TEST(EndOfTurns, IsFoundFromCounts) {
  struct Case {
    const char* name;
    std::vector<std::uint32_t> counts;
    int want;  // -1: none
  };
  for (const Case& test : {
           Case{"no nodes", {}, -1},
           Case{"no pods", {0, 0, 0}, -1},
           Case{"one pod", {0, 1, 0}, 1},
           Case{"one node", {5}, 0},
           Case{"part of a round", {0, 1, 1, 0, 0}, 2},
           Case{"part of a round over the end", {1, 0, 0, 1, 1}, 0},
           Case{"part of a round, with a node that cannot be used", {0, 0, 0, 1, 0, 1, 1}, 6},
           Case{"whole rounds", {2, 2, 2}, 2},
           Case{"whole rounds and a part", {2, 2, 1, 1, 1}, 1},
           Case{"whole rounds and a part over the end", {2, 1, 1, 2, 2}, 0},
           Case{"whole rounds and a part, with nodes that cannot be used", {2, 0, 2, 1, 0, 1}, 2},
       }) {
    EXPECT_EQ(EndOfTurns(test.counts).value_or(999), static_cast<std::size_t>(test.want < 0 ? 999 : test.want))
        << test.name;
  }
}

// The plain twin: a sorted set of names and the last one used.
TEST(RoundRobinProperty, TurnsUnderChurn) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    TestCluster cluster;
    const TestedPlugin plugin = CreateRoundRobin();
    const auto pod = MakePod("p").Info();
    std::set<std::string> names;
    std::string last;
    const auto any_name = [&] { return "n" + std::to_string(random.Below(60)); };
    for (int step = 0; step < 300; ++step) {
      // Mostly a change or two, sometimes so many that the order is made anew.
      for (std::uint64_t changes = random.Below(10) == 0 ? 80 : random.Below(3); changes > 0; --changes) {
        const std::string name = any_name();
        if (random.Below(2) == 0) {
          names.insert(name);
          cluster.Add(MakeNode(name));
        } else if (names.erase(name) > 0) {
          cluster.table().RemoveNode(name);
        }
      }
      std::vector<NodeIndex> feasible;
      for (const NodeIndex row : cluster.table().rows()) {
        if (random.Below(3) > 0) feasible.push_back(row);
      }
      if (feasible.empty()) continue;
      const auto is_feasible = [&](const std::string& name) {
        return std::find(feasible.begin(), feasible.end(), cluster.table().Find(name)) != feasible.end();
      };
      auto want = std::find_if(names.upper_bound(last), names.end(), is_feasible);
      if (want == names.end()) want = std::find_if(names.begin(), names.end(), is_feasible);

      cluster.Forget();
      const framework::Cycle cycle = cluster.cycle();
      std::vector<NodeIndex> first;
      plugin.SingleOut(cycle, *pod, first);
      std::erase_if(first, [&](NodeIndex row) { return !std::count(feasible.begin(), feasible.end(), row); });
      const bool by_groups = random.Below(2) == 0 && !first.empty();
      const auto status =
          by_groups ? plugin.PreScoreGroups(cycle, *pod, first, {}) : plugin.PreScore(cycle, *pod, feasible);
      ASSERT_TRUE(status.IsSuccess());
      framework::Status said;
      const NodeIndex row = cluster.table().Find(*want);
      ASSERT_EQ(plugin.Score(cycle, *pod, row, cluster.table().Info(row), said), 0) << *want << " after " << last;
      last = *want;
      (void)plugin.Reserve(cycle, *pod, last);
    }
  }
}

}  // namespace
}  // namespace berth::plugins
