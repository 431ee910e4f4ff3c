// SPDX-License-Identifier: Apache-2.0
// What NodeMatch says and does, on clusters as small as each case needs.
#include "node_match.h"

#include <berth/testing/small_cluster.h>
#include <gtest/gtest.h>

namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::SmallCluster;

SmallCluster Cluster(std::string_view args = "label: team") {
  auto cluster = SmallCluster::With(berth::WithPlugin("NodeMatch", NodeMatch::Create), args).value();
  cluster.Add(MakeNode("red").Label("team", "red")).Add(MakeNode("free"));
  return cluster;
}

TEST(NodeMatch, KeepsATeamOnItsNodes) {
  SmallCluster cluster = Cluster();
  cluster.Add(MakePod("p").Label("team", "red"));
  EXPECT_EQ(cluster.Filter("p", "red"), "pass");
  EXPECT_EQ(cluster.Filter("p", "free"), "node(s) didn't have the pod's team");
  cluster.Run();
  EXPECT_EQ(cluster.NodeOf("p"), "red");
}

TEST(NodeMatch, KeepsOthersOffWhileThereIsRoom) {
  SmallCluster cluster = Cluster("{label: team, othersScore: 10}");
  cluster.Add(MakePod("p"));
  EXPECT_EQ(cluster.Score("p", "red"), 10);
  EXPECT_EQ(cluster.Score("p", "free"), 100);
  EXPECT_EQ(cluster.Place(MakePod("q")), "free");
}

TEST(NodeMatch, TriesAPodAgainWhenANodeGetsItsLabel) {
  SmallCluster cluster = Cluster();
  EXPECT_EQ(cluster.Place(MakePod("p").Label("team", "blue")), "");
  cluster.Add(MakeNode("free").Label("team", "blue"));
  cluster.Run();
  EXPECT_EQ(cluster.NodeOf("p"), "free");
}

TEST(NodeMatch, ReportsWhatIsWrongWithItsArguments) {
  const auto cluster = SmallCluster::With(berth::WithPlugin("NodeMatch", NodeMatch::Create), "{label: a b}");
  ASSERT_FALSE(cluster.ok());
  EXPECT_NE(cluster.error().message.find("args.label: Invalid value: \"a b\": must be the key of a label"),
            std::string::npos)
      << cluster.error().message;
}

}  // namespace
