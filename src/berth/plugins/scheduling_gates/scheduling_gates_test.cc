// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/scheduling_gates/scheduling_gates.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using framework::EventResource;
using framework::QueueingHint;
using testing::MakePod;

TEST(SchedulingGates, NamesAllGates) {
  const TestedPlugin plugin = CreateSchedulingGates();
  EXPECT_EQ(TestCluster::Describe(plugin.PreEnqueue(*MakePod("p").Info())), "ok");
  EXPECT_EQ(TestCluster::Describe(plugin.PreEnqueue(*MakePod("p").Gate("example.com/a").Gate("b").Info())),
            "UnschedulableAndUnresolvable: waiting for scheduling gates: [example.com/a b]");
}

TEST(SchedulingGates, OnlyTheOwnUpdateHelps) {
  const TestedPlugin plugin = CreateSchedulingGates();
  const auto pod = MakePod("p").Gate("a").Info();
  const auto freed = MakePod("p").Info();
  const auto other = MakePod("q").Info();
  const framework::ClusterEvent event{EventResource::kUnschedulablePod,
                                      framework::action::kUpdatePodSchedulingGatesEliminated};
  EXPECT_EQ(HintFor(plugin, event, *pod, {.old_pod = pod.get(), .new_pod = freed.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, event, *pod, {.old_pod = other.get(), .new_pod = other.get()}), QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
