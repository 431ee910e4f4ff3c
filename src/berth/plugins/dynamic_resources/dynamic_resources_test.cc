#include "berth/plugins/dynamic_resources/dynamic_resources.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/fake_filters.h"
#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

TEST(DynamicResources, PodsWithoutClaims) {
  TestCluster cluster({MakeNode("n")});
  FakeFilters filters;
  DynamicResources plugin;
  const auto pod = MakePod("p").Info();
  EXPECT_TRUE(plugin.PreEnqueue(*pod).IsSuccess());
  EXPECT_TRUE(plugin.PreFilter(cluster.cycle(), *pod).status.IsSkip());
  EXPECT_EQ(cluster.Score(plugin, *pod, "n"), 0);
  EXPECT_TRUE(plugin.Reserve(cluster.cycle(), *pod, "n").IsSuccess());
  const auto result = plugin.PostFilter(cluster.cycle(), *pod, filters, filters);
  EXPECT_EQ(TestCluster::Describe(result.status), "Unschedulable: no new claims to deallocate");
  EXPECT_FALSE(result.has_nomination);
}

TEST(DynamicResources, PostFilterMissesThePreFilterThatNeverRan) {
  TestCluster cluster({MakeNode("n")});
  FakeFilters filters;
  const auto result = DynamicResources().PostFilter(cluster.cycle(), *MakePod("p").Info(), filters, filters);
  EXPECT_EQ(TestCluster::Describe(result.status), "Error: not found");
}

TEST(DynamicResources, RefusesPodsWithClaims) {
  TestCluster cluster({MakeNode("n")});
  const auto pod = MakePod("p").Features({.resource_claims = true}).Info();
  const auto status = DynamicResources().PreFilter(cluster.cycle(), *pod).status;
  EXPECT_EQ(TestCluster::Describe(status),
            "Error: plugin \"DynamicResources\" does not allocate devices in this version of berth: pod uses resource "
            "claims");
  EXPECT_EQ(cluster.Filter(DynamicResources(), *pod, "n"), TestCluster::Describe(status));
}

}  // namespace
}  // namespace berth::plugins
