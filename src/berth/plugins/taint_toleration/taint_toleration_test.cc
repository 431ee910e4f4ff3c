// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/taint_toleration/taint_toleration.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using api::TaintEffect;
using framework::EventResource;
using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kRefused = "UnschedulableAndUnresolvable: node(s) had untolerated taint(s)";

TEST(TaintToleration, Filter) {
  const struct {
    const char* name;
    testing::PodBuilder pod;
    testing::NodeBuilder node;
    const char* want;
  } cases[] = {
      {"no taints", MakePod("p"), MakeNode("n"), "ok"},
      {"taint without toleration", MakePod("p"), MakeNode("n").Taint("gpu", "a", TaintEffect::kNoSchedule), kRefused},
      {"NoExecute keeps away as well", MakePod("p"), MakeNode("n").Taint("gpu", "a", TaintEffect::kNoExecute),
       kRefused},
      {"PreferNoSchedule does not", MakePod("p"), MakeNode("n").Taint("gpu", "a", TaintEffect::kPreferNoSchedule),
       "ok"},
      {"equal value tolerates", MakePod("p").Toleration("gpu", "Equal", "a"),
       MakeNode("n").Taint("gpu", "a", TaintEffect::kNoSchedule), "ok"},
      {"no operator is Equal", MakePod("p").Toleration("gpu", "", "b"),
       MakeNode("n").Taint("gpu", "a", TaintEffect::kNoSchedule), kRefused},
      {"Exists ignores the value", MakePod("p").Toleration("gpu", "Exists"),
       MakeNode("n").Taint("gpu", "a", TaintEffect::kNoSchedule), "ok"},
      {"one of two tolerated", MakePod("p").Toleration("gpu", "Exists"),
       MakeNode("n").Taint("gpu", "a", TaintEffect::kNoSchedule).Taint("spot", "", TaintEffect::kNoSchedule), kRefused},
      {"effect does not match", MakePod("p").Toleration("gpu", "Exists", "", TaintEffect::kNoExecute),
       MakeNode("n").Taint("gpu", "a", TaintEffect::kNoSchedule), kRefused},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({test.node});
    EXPECT_EQ(cluster.Filter(CreateTaintToleration(), *test.pod.Info(), "n"), test.want);
  }
}

TEST(TaintToleration, ScoreCountsUntoleratedSoftTaints) {
  TestCluster cluster({MakeNode("n")
                           .Taint("a", "", TaintEffect::kPreferNoSchedule)
                           .Taint("b", "", TaintEffect::kPreferNoSchedule)
                           .Taint("c", "", TaintEffect::kNoSchedule)});
  EXPECT_EQ(cluster.Score(CreateTaintToleration(), *MakePod("p").Info(), "n"), 2);
  EXPECT_EQ(cluster.Score(CreateTaintToleration(), *MakePod("p").Toleration("a", "Exists").Info(), "n"), 1);
  EXPECT_EQ(cluster.Score(CreateTaintToleration(),
                          *MakePod("p").Toleration("a", "Exists", "", TaintEffect::kNoSchedule).Info(), "n"),
            2);
  EXPECT_EQ(TestedPlugin(CreateTaintToleration()).ScoreNormalization(), framework::Normalization::kMaxReverse);
}

TEST(TaintToleration, Hints) {
  const TestedPlugin plugin = CreateTaintToleration();
  const auto pod = MakePod("p").Toleration("gpu", "Exists").Info();
  const auto free = MakeNode("n").Build();
  const auto gpu = MakeNode("n").Taint("gpu", "", TaintEffect::kNoSchedule).Build();
  const auto spot = MakeNode("n").Taint("spot", "", TaintEffect::kNoSchedule).Build();
  const framework::ClusterEvent add{EventResource::kNode, framework::action::kAdd};
  const framework::ClusterEvent taint{EventResource::kNode, framework::action::kUpdateNodeTaint};
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = gpu.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = spot.get()}), QueueingHint::kSkip);
  EXPECT_EQ(HintFor(plugin, taint, *pod, {.old_node = spot.get(), .new_node = gpu.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, taint, *pod, {.old_node = gpu.get(), .new_node = free.get()}), QueueingHint::kSkip);
  const framework::ClusterEvent tolerate{EventResource::kUnschedulablePod, framework::action::kUpdatePodToleration};
  EXPECT_EQ(HintFor(plugin, tolerate, *pod, {.old_pod = pod.get(), .new_pod = pod.get()}), QueueingHint::kQueue);
}

}  // namespace
}  // namespace berth::plugins
