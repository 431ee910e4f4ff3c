// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cluster_view.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;
using whatif::RunningPod;

std::vector<std::string> PodsOf(const ClusterView& view, NodeNumber node) {
  std::vector<std::string> keys;
  for (const PodNumber pod : view.node(node).pods) keys.push_back(view.pod(pod).Key());
  return keys;
}

PodNumber Find(const ClusterView& view, const std::string& key) {
  for (PodNumber i = 0; i < view.pods().size(); ++i) {
    if (view.pod(i).Key() == key) return i;
  }
  return static_cast<PodNumber>(view.pods().size());
}

TEST(ClusterViewTest, NodesAndPodsComeByName) {
  const auto state =
      StateOf({MakeNode("n2"), MakeNode("n1")}, {RunningPod("web", "web-2", "n1"), RunningPod("web", "web-1", "n1"),
                                                 RunningPod("web", "aa", "n1").Namespace("zz"),
                                                 RunningPod("web", "lost", "n9"), RunningPod("web", "pending", "")});
  const ClusterView view(state);
  ASSERT_EQ(view.nodes().size(), 2u);
  EXPECT_EQ(view.node(0).name(), "n1");
  EXPECT_THAT(PodsOf(view, 0), ElementsAre("default/web-1", "default/web-2", "zz/aa"));
  EXPECT_EQ(view.FindNode("n2"), 1u);
  EXPECT_EQ(view.FindNode("n3"), std::nullopt);
}

TEST(ClusterViewTest, AMovedPodIsYoungAndCounts) {
  const auto state =
      StateOf({MakeNode("n1"), MakeNode("n2")},
              {RunningPod("web", "web-1", "n1").Request("cpu", "2").Created(kTestNow - std::chrono::hours(5)),
               RunningPod("web", "web-2", "n2").Request("cpu", "1")});
  ClusterView view(state);
  const PodNumber pod = Find(view, "default/web-1");
  view.MovePod(pod, 1);
  EXPECT_THAT(PodsOf(view, 0), ElementsAre());
  EXPECT_THAT(PodsOf(view, 1), ElementsAre("default/web-1", "default/web-2"));
  EXPECT_EQ(view.node(0).requested.cpu_milli, 0);
  EXPECT_EQ(view.node(1).requested.cpu_milli, 3000);
  EXPECT_EQ(view.node(1).requested.pods, 2);
  EXPECT_TRUE(view.pod(pod).is_moved);
  EXPECT_EQ(view.pod(pod).pod->spec.node_name, "n2");

  view.TakeBack(pod, 0);
  EXPECT_THAT(PodsOf(view, 0), ElementsAre("default/web-1"));
  EXPECT_EQ(view.node(1).requested.cpu_milli, 1000);
  EXPECT_FALSE(view.pod(pod).is_moved);
  EXPECT_EQ(view.pod(pod).pod, state.pods[0]);
}

TEST(ClusterViewTest, AFinishedPodTakesNoRoomAndGoesForGood) {
  auto state = StateOf({MakeNode("n1")}, {});
  api::Pod failed = RunningPod("web", "web-1", "n1").Request("cpu", "2").Build();
  state.finished_pod_details.push_back(DetailsOf(failed));
  state.finished_pods.push_back(std::make_shared<const api::Pod>(failed));
  ClusterView view(state);
  EXPECT_EQ(view.node(0).requested.pods, 0);
  EXPECT_EQ(view.OwnedBy(failed.metadata.controller->uid), 1u);
  view.MovePod(0, std::nullopt);
  EXPECT_THAT(PodsOf(view, 0), ElementsAre());
  EXPECT_EQ(view.OwnedBy(failed.metadata.controller->uid), 0u);
}

TEST(ClusterViewTest, APriorityClassIsKnownByItsPods) {
  auto state = StateOf({MakeNode("n1")}, {RunningPod("web", "web-1", "n1").Priority(700)});
  auto details = std::make_shared<api::PodDetails>(*state.pod_details[0]);
  details->spec.priority_class_name = "high";
  state.pod_details[0] = details;
  const ClusterView view(state);
  EXPECT_EQ(view.PriorityOfClass("high"), 700);
  EXPECT_EQ(view.PriorityOfClass("low"), std::nullopt);
}

}  // namespace
}  // namespace berth::rebalance
