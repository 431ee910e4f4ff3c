#include "berth/plugins/not_built/not_built.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

constexpr NotBuiltFeature kSpread{"PodTopologySpread", &api::PodFeatures::topology_spread, "topologySpreadConstraints"};
constexpr const char* kRefused =
    "Error: plugin \"PodTopologySpread\" is not built into this version of berth: pod uses topologySpreadConstraints";

TEST(NotBuilt, PassesPodsThatDoNotUseIt) {
  TestCluster cluster({MakeNode("n")});
  const NotBuiltBinding plugin(kSpread);
  const auto pod = MakePod("p").Features({.volumes = true}).Info();
  EXPECT_EQ(plugin.Name(), "PodTopologySpread");
  EXPECT_TRUE(plugin.PreFilter(cluster.cycle(), *pod).status.IsSkip());
  EXPECT_EQ(cluster.Filter(plugin, *pod, "n"), "ok");
  EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *pod, {}).IsSkip());
}

TEST(NotBuilt, RefusesPodsThatDo) {
  TestCluster cluster({MakeNode("n")});
  NotBuiltBinding plugin(kSpread);
  const auto pod = MakePod("p").Features({.topology_spread = true}).Info();
  EXPECT_EQ(TestCluster::Describe(plugin.PreFilter(cluster.cycle(), *pod).status), kRefused);
  // Where a profile leaves PreFilter out, the next point refuses.
  EXPECT_EQ(cluster.Filter(plugin, *pod, "n"), kRefused);
  EXPECT_EQ(TestCluster::Describe(plugin.PreScore(cluster.cycle(), *pod, {})), kRefused);
  EXPECT_EQ(TestCluster::Describe(plugin.Reserve(cluster.cycle(), *pod, "n")), kRefused);
  EXPECT_EQ(TestCluster::Describe(plugin.PreBind(*pod).status), kRefused);
}

}  // namespace
}  // namespace berth::plugins
