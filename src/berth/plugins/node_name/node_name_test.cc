// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_name/node_name.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

TEST(NodeName, Table) {
  TestCluster cluster({MakeNode("a"), MakeNode("b")});
  EXPECT_EQ(cluster.Filter(CreateNodeName(), *MakePod("p").Info(), "a"), "ok");
  EXPECT_EQ(cluster.Filter(CreateNodeName(), *MakePod("p").Node("a").Info(), "a"), "ok");
  EXPECT_EQ(cluster.Filter(CreateNodeName(), *MakePod("p").Node("a").Info(), "b"),
            "UnschedulableAndUnresolvable: node(s) didn't match the requested node name");
}

TEST(NodeName, NewNodesHelp) {
  const auto node = MakeNode("a").Build();
  EXPECT_EQ(HintFor(CreateNodeName(), {framework::EventResource::kNode, framework::action::kAdd},
                    *MakePod("p").Node("a").Info(), {.new_node = node.get()}),
            framework::QueueingHint::kQueue);
}

}  // namespace
}  // namespace berth::plugins
