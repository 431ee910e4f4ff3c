// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_unschedulable/node_unschedulable.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using framework::EventResource;
using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kCordonTaint = "node.kubernetes.io/unschedulable";

TEST(NodeUnschedulable, Table) {
  const struct {
    const char* name;
    testing::PodBuilder pod;
    testing::NodeBuilder node;
    const char* want;
  } cases[] = {
      {"open node", MakePod("p"), MakeNode("n"), "ok"},
      {"cordoned node", MakePod("p"), MakeNode("n").Unschedulable(),
       "UnschedulableAndUnresolvable: node(s) were unschedulable"},
      {"cordon tolerated", MakePod("p").Toleration(kCordonTaint, "Exists", "", api::TaintEffect::kNoSchedule),
       MakeNode("n").Unschedulable(), "ok"},
      {"everything tolerated", MakePod("p").Toleration("", "Exists"), MakeNode("n").Unschedulable(), "ok"},
      {"another effect tolerated", MakePod("p").Toleration(kCordonTaint, "Exists", "", api::TaintEffect::kNoExecute),
       MakeNode("n").Unschedulable(), "UnschedulableAndUnresolvable: node(s) were unschedulable"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({test.node});
    EXPECT_EQ(cluster.Filter(CreateNodeUnschedulable(), *test.pod.Info(), "n"), test.want);
  }
}

TEST(NodeUnschedulable, Hints) {
  const TestedPlugin plugin = CreateNodeUnschedulable();
  const auto pod = MakePod("p").Info();
  const auto open = MakeNode("n").Build();
  const auto cordoned = MakeNode("n").Unschedulable().Build();
  const framework::ClusterEvent add{EventResource::kNode, framework::action::kAdd};
  const framework::ClusterEvent taint{EventResource::kNode, framework::action::kUpdateNodeTaint};
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = open.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = cordoned.get()}), QueueingHint::kSkip);
  EXPECT_EQ(HintFor(plugin, taint, *pod, {.old_node = cordoned.get(), .new_node = open.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, taint, *pod, {.old_node = open.get(), .new_node = open.get()}), QueueingHint::kSkip);

  const framework::ClusterEvent tolerate{EventResource::kUnschedulablePod, framework::action::kUpdatePodToleration};
  const auto tolerant = MakePod("p").Toleration(kCordonTaint, "Exists").Info();
  const auto unrelated = MakePod("p").Toleration("gpu", "Exists").Info();
  EXPECT_EQ(HintFor(plugin, tolerate, *pod, {.old_pod = pod.get(), .new_pod = tolerant.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, tolerate, *pod, {.old_pod = pod.get(), .new_pod = unrelated.get()}), QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
