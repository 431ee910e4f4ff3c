// SPDX-License-Identifier: Apache-2.0
// NodeLabelMatch in a whole scheduler: no pod is placed on a node without the label that it requires at that moment,
// and pods that wait are tried again as soon as labels or their annotations help.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/ready_profile_testing.h"

namespace berth::plugins {
namespace {

using scheduler::Harness;
using testing::MakeNode;
using testing::MakePod;

testing::PodBuilder Pod(const std::string& name) { return MakePod(name).SchedulerName("node-label-match"); }

TEST(NodeLabelMatchInTheCore, ARefusedPodWaitsForALabel) {
  Harness harness(ReadyProfile("node-label-match"));
  const auto pod = Pod("p").Annotation("cluster.type", "raspberry");
  harness.Set(MakeNode("a").Label("cluster.type", "xeon"));
  harness.Set(pod);
  harness.Run();
  const std::string all = ::testing::PrintToString(harness.Take());
  EXPECT_NE(all.find("0/1 nodes are available: 1 node(s) didn't match the pod's annotation cluster.type=raspberry."),
            std::string::npos)
      << all;
  harness.Set(MakeNode("a").Label("cluster.type", "xeon").Label("disk", "ssd"));
  EXPECT_EQ(harness.core.queue().unschedulable_count(), 1u);
  harness.Set(MakeNode("a").Label("cluster.type", "raspberry"));
  EXPECT_EQ(harness.core.queue().unschedulable_count(), 0u);
  harness.Run(std::chrono::seconds(2));
  EXPECT_EQ(Bound(harness, pod), "a");
}

TEST(NodeLabelMatchInTheCore, ARefusedPodIsTriedAgainWithAnotherAnnotation) {
  Harness harness(ReadyProfile("node-label-match"));
  harness.Set(MakeNode("a").Label("cluster.type", "xeon"));
  harness.Set(Pod("p").Annotation("cluster.type", "raspberry"));
  harness.Run();
  (void)harness.Take();
  harness.Set(Pod("p").Annotation("cluster.type", "raspberry").Annotation("note", "x"));
  EXPECT_EQ(harness.core.queue().unschedulable_count(), 1u);
  const auto changed = Pod("p").Annotation("cluster.type", "xeon");
  harness.Set(changed);
  EXPECT_EQ(harness.core.queue().unschedulable_count(), 0u);
  harness.Run(std::chrono::seconds(2));
  EXPECT_EQ(Bound(harness, changed), "a");
}

TEST(NodeLabelMatchInTheCore, IsNeverViolated) {
  int placed = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto type = [&random] { return std::string(1, "xyz"[random.Below(3)]); };
    Harness harness(ReadyProfile("node-label-match"), {.seed = seed});
    std::map<std::string, std::string> labels;  // by node; empty: none
    for (int step = 0; step < 80; ++step) {
      const std::string name = "n" + std::to_string(random.Below(12));
      if (random.Below(8) == 0) {
        harness.RemoveNode(name);
        labels.erase(name);
      } else {
        auto node = MakeNode(name);
        labels[name] = random.Below(5) == 0 ? "" : type();
        if (!labels[name].empty()) node.Label("cluster.type", labels[name]);
        harness.Set(node);
      }
      // Some of a class that came before, some that want nothing.
      auto pod = Pod("p" + std::to_string(step));
      const std::string wanted = random.Below(4) == 0 ? "" : type();
      if (!wanted.empty()) pod.Annotation("cluster.type", wanted);
      harness.Set(pod);
      while (harness.core.ScheduleOne(harness.now)) {
      }
      const std::string node = Bound(harness, pod);
      bool could = false;
      for (const auto& [other, label] : labels) could |= wanted.empty() || label == wanted;
      ASSERT_EQ(!node.empty(), could) << "step " << step;
      if (node.empty()) {
        harness.Remove(pod);
        ++refused;
        continue;
      }
      ASSERT_TRUE(labels.contains(node));
      if (!wanted.empty()) {
        ASSERT_EQ(labels[node], wanted) << "step " << step;
      }
      ++placed;
    }
  }
  EXPECT_GT(placed, 300);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace berth::plugins
