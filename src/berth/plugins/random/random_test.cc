// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/random/random.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;

// The row that alone has the raw score 0.
NodeIndex Picked(const TestedPlugin& plugin, TestCluster& cluster, const framework::PodInfo& pod, std::uint64_t seed,
                 std::span<const NodeIndex> feasible) {
  cluster.Forget();
  const framework::Cycle cycle = cluster.cycle(seed);
  EXPECT_TRUE(plugin.PreScore(cycle, pod, feasible).IsSuccess());
  std::vector<std::int64_t> scores(cluster.table().row_count(), 7);
  framework::Status status;
  plugin.ScoreRows(cycle, pod, feasible, scores, status);
  EXPECT_TRUE(status.IsSuccess());
  EXPECT_EQ(std::count(scores.begin(), scores.end(), 0), 1);
  EXPECT_EQ(std::count(scores.begin(), scores.end(), 1), static_cast<std::ptrdiff_t>(feasible.size()) - 1);
  return static_cast<NodeIndex>(std::find(scores.begin(), scores.end(), 0) - scores.begin());
}

std::vector<testing::NodeBuilder> Nodes(int count) {
  std::vector<testing::NodeBuilder> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(MakeNode("n" + std::to_string(i)));
  return nodes;
}

TEST(RandomScore, TheSameSeedGivesTheSameNode) {
  TestCluster cluster(Nodes(50));
  const auto pod = MakePod("p").Info();
  const TestedPlugin plugin = CreateRandom();
  const auto rows = cluster.table().rows();
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(Picked(plugin, cluster, *pod, seed, rows), Picked(plugin, cluster, *pod, seed, rows));
}

// Pearson's statistic over `cycles` picks among rows that should be equally likely.
double ChiSquare(TestCluster& cluster, std::span<const NodeIndex> feasible, int cycles) {
  const auto pod = MakePod("p").Info();
  const TestedPlugin plugin = CreateRandom();
  std::vector<int> picks(cluster.table().row_count());
  for (int seed = 0; seed < cycles; ++seed)
    ++picks[Picked(plugin, cluster, *pod, static_cast<std::uint64_t>(seed), feasible)];
  const double expected = static_cast<double>(cycles) / static_cast<double>(feasible.size());
  double sum = 0;
  for (const NodeIndex row : feasible) sum += (picks[row] - expected) * (picks[row] - expected) / expected;
  return sum;
}

TEST(RandomScore, EveryFeasibleNodeHasTheSameChance) {
  struct Case {
    const char* name;
    int nodes;
    NodeIndex one_of;  // each so many-th node is feasible
    double max;        // exceeded by one in a thousand seeds, were the nodes equally likely
  };
  // With one node of 300 feasible among draws of 32, most cycles fall back on drawing from the feasible ones.
  for (const Case& test : {Case{"all of five", 5, 1, 18.47}, Case{"all of forty", 40, 1, 72.06},
                           Case{"a third", 60, 3, 43.82}, Case{"few", 1500, 300, 18.47}}) {
    SCOPED_TRACE(test.name);
    TestCluster cluster(Nodes(test.nodes));
    std::vector<NodeIndex> feasible;
    for (const NodeIndex row : cluster.table().rows()) {
      if (row % test.one_of == 0) feasible.push_back(row);
    }
    EXPECT_LT(ChiSquare(cluster, feasible, 10'000), test.max);
  }
}

TEST(RandomScore, WithGroupsItPicksTheSame) {
  TestCluster cluster(Nodes(30));
  const auto pod = MakePod("p").Info();
  const TestedPlugin plugin = CreateRandom();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<NodeIndex> feasible;
    for (const NodeIndex row : cluster.table().rows()) {
      if ((row + seed) % 3 != 0) feasible.push_back(row);
    }
    const NodeIndex picked = Picked(plugin, cluster, *pod, seed, feasible);
    cluster.Forget();
    const framework::Cycle cycle = cluster.cycle(seed);
    std::vector<NodeIndex> groups;
    plugin.SingleOut(cycle, *pod, groups);
    std::erase_if(groups,
                  [&](NodeIndex row) { return std::find(feasible.begin(), feasible.end(), row) == feasible.end(); });
    ASSERT_TRUE(plugin.PreScoreGroups(cycle, *pod, groups, {}).IsSuccess());
    framework::Status status;
    EXPECT_EQ(plugin.Score(cycle, *pod, picked, cluster.table().Info(picked), status), 0);
  }
}

TEST(RandomScore, WithNoneOfThoseSingledOutFeasibleAllRowsAreAskedAbout) {
  TestCluster cluster(Nodes(3));
  const auto pod = MakePod("p").Info();
  EXPECT_FALSE(
      TestedPlugin(CreateRandom()).PreScoreGroups(cluster.cycle(), *pod, std::vector<NodeIndex>{7}, {}).IsSuccess());
}

TEST(RandomScore, WithoutPreScoreItSaysWhatIsMissing) {
  TestCluster cluster(Nodes(1));
  framework::Status status;
  (void)TestedPlugin(CreateRandom()).Score(cluster.cycle(), *MakePod("p").Info(), 0, cluster.table().Info(0), status);
  EXPECT_EQ(status.Message(), "Random scores nothing where it is not enabled at preScore as well");
}

}  // namespace
}  // namespace berth::plugins
