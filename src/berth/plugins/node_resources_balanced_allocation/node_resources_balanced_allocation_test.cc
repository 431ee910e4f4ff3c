// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_resources_balanced_allocation/node_resources_balanced_allocation.h"

#include <gtest/gtest.h>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

TEST(NodeResourcesBalancedAllocation, Score) {
  const std::vector<config::ResourceSpec> two{{"cpu", 1}, {"memory", 1}};
  const std::vector<config::ResourceSpec> three{{"cpu", 1}, {"memory", 1}, {"example.com/gpu", 1}};
  const struct {
    const char* name;
    std::vector<config::ResourceSpec> resources;
    testing::PodBuilder pod;
    testing::PodBuilder running;
    std::int64_t want;
  } cases[] = {
      {"as balanced as before", two, MakePod("p").Request("cpu", "1").Request("memory", "8Gi"), MakePod("q"), 75},
      {"worse: fractions 1/2 and 0", two, MakePod("p").Request("cpu", "2"), MakePod("q"), 50 + (50 + 75 - 100) / 2},
      {"better: from 1/2 and 0 to 1/2 and 1/2", two, MakePod("p").Request("memory", "16Gi"),
       MakePod("q").Request("cpu", "2"), 50 + (50 + 100 - 75) / 2},
      {"more than all is all", two, MakePod("p").Request("cpu", "9").Request("memory", "99Gi"), MakePod("q"), 75},
      {"three: 1, 0 and 1/2", three, MakePod("p").Request("cpu", "4").Request("example.com/gpu", "1"), MakePod("q"),
       50 + (50 + 59 - 100) / 2},
      {"a scalar that is not requested does not count", three, MakePod("p").Request("cpu", "2"), MakePod("q"), 62},
      {"one resource is always balanced", {{"cpu", 1}}, MakePod("p").Request("cpu", "2"), MakePod("q"), 75},
  };
  for (auto test : cases) {
    SCOPED_TRACE(test.name);
    testing::FakeHandle handle;
    TestCluster cluster({MakeNode("n").Allocatable("example.com/gpu", "2")});
    cluster.Add(test.running.Node("n"));
    const TestedPlugin plugin = CreateNodeResourcesBalancedAllocation({test.resources}, handle);
    const auto pod = test.pod.Info();
    EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *pod, {}).IsSuccess());
    EXPECT_EQ(cluster.Score(plugin, *pod, "n"), test.want);
  }
}

// Up to 1.35 the balance with the pod counts, and not what the pod changes in it.
TEST(NodeResourcesBalancedAllocation, OlderReleasesScoreTheOutcome) {
  const struct {
    const char* name;
    testing::PodBuilder pod;
    testing::PodBuilder running;
    std::int64_t want_in_135, want_in_136;
  } cases[] = {
      {"as balanced as before", MakePod("p").Request("cpu", "1").Request("memory", "8Gi"), MakePod("q"), 100, 75},
      {"fractions 1/2 and 0", MakePod("p").Request("cpu", "2"), MakePod("q"), 75, 62},
      {"from 1/2 and 0 to 1/2 and 1/2", MakePod("p").Request("memory", "16Gi"), MakePod("q").Request("cpu", "2"), 100,
       50 + (50 + 100 - 75) / 2},
  };
  for (auto test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({MakeNode("n")});
    cluster.Add(test.running.Node("n"));
    const auto pod = test.pod.Info();
    for (const auto& [minor, want] : {std::pair(35, test.want_in_135), std::pair(36, test.want_in_136)}) {
      testing::FakeHandle handle;
      handle.SetRelease(framework::ReleaseOf(minor));
      const TestedPlugin plugin = CreateNodeResourcesBalancedAllocation({}, handle);
      EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *pod, {}).IsSuccess());
      EXPECT_EQ(cluster.Score(plugin, *pod, "n"), want) << minor;
    }
  }
}

TEST(NodeResourcesBalancedAllocation, SkipsPodsWithoutRequests) {
  TestCluster cluster({MakeNode("n")});
  testing::FakeHandle handle;
  const TestedPlugin plugin = CreateNodeResourcesBalancedAllocation({}, handle);
  EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *MakePod("p").Info(), {}).IsSkip());
  EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *MakePod("p").Request("example.com/gpu", "1").Info(), {}).IsSkip());
  EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *MakePod("p").PodLevelRequests({{"cpu", "1"}}).Info(), {}).IsSuccess());
}

}  // namespace
}  // namespace berth::plugins
