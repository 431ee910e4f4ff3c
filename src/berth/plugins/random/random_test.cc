#include "berth/plugins/random/random.h"

#include <map>

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

TEST(RandomScore, TheSameSeedGivesTheSameScores) {
  TestCluster cluster({MakeNode("a"), MakeNode("b")});
  const auto pod = MakePod("p").Info();
  framework::Status status;
  const auto score = [&](std::uint64_t seed) {
    return RandomScore().Score(cluster.cycle(seed), *pod, 1, cluster.table().Info(1), status);
  };
  EXPECT_EQ(score(7), score(7));
  std::map<std::int64_t, int> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) ++seen[score(seed)];
  EXPECT_GT(seen.size(), 20u);
  EXPECT_EQ(RandomScore().ScoreDependsOn(), framework::Dependency::kCycle);
}

TEST(RandomScore, EveryNodeHasTheSameChance) {
  constexpr int kNodes = 5;
  constexpr int kCycles = 10'000;
  TestCluster cluster;
  for (int i = 0; i < kNodes; ++i) cluster.Add(MakeNode("n" + std::to_string(i)));
  const auto pod = MakePod("p").Info();
  std::vector<double> wins(kNodes);
  std::vector<std::int64_t> scores(kNodes);
  framework::Status status;
  for (std::uint64_t seed = 0; seed < kCycles; ++seed) {
    RandomScore().ScoreRows(cluster.cycle(seed), *pod, cluster.table().rows(), scores, status);
    std::int64_t best = -1;
    std::vector<int> winners;
    for (int i = 0; i < kNodes; ++i) {
      const std::int64_t score = scores[static_cast<std::size_t>(i)];
      ASSERT_GE(score, 0);
      ASSERT_LE(score, framework::kNodeScoreMax);
      if (score > best) winners.clear();
      if (score >= best) winners.push_back(i);
      best = std::max(best, score);
    }
    for (const int winner : winners)
      wins[static_cast<std::size_t>(winner)] += 1.0 / static_cast<double>(winners.size());
  }
  // Fair would be 2000 each, with a standard deviation of 40.
  for (const double won : wins) EXPECT_NEAR(won, kCycles / kNodes, 200);
}

}  // namespace
}  // namespace berth::plugins
