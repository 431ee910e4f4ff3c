// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pending_pods.h"
#include "berth/core/cache/cache.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/pending_answer.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::PendingJson, answers::PendingLines;
using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;

testing::PodBuilder Waiting(const std::string& app, const std::string& name, int minutes) {
  return RunningPod(app, name, "").Created(kNow - std::chrono::minutes(minutes));
}

ClusterState Shop() {
  return StateOf({MakeNode("a").Allocatable("cpu", "2"), MakeNode("b").Allocatable("cpu", "2").Unschedulable()},
                 {Waiting("web", "web-1", 5).Request("cpu", "4"), Waiting("web", "web-2", 90).Request("cpu", "4"),
                  Waiting("api", "api-1", 7).Request("cpu", "4"), Waiting("db", "db-1", 60).NodeSelector("disk", "ssd"),
                  Waiting("new", "new-1", 0), Waiting("odd", "odd-1", 1).SchedulerName("volcano"),
                  RunningPod("web", "web-0", "a")});
}

TEST(PendingPodsTest, ByReasonAndOwnerTheLongestFirst) {
  const ClusterState state = Shop();
  const auto cluster = ClusterOf(state);
  const PendingPods pending = FindPendingPods(*cluster, state, "");
  EXPECT_EQ(pending.Count(), 6U);
  EXPECT_THAT(
      PendingLines(pending, {}),
      ElementsAre(
          "6 pods wait for a node.", "", "1 Insufficient cpu, 1 node(s) were unschedulable",
          "  OWNER                    PODS   LONGEST   SUCH AS", "  Deployment default/web      2     1h30m   web-2",
          "  Deployment default/api      1        7m   api-1", "",
          "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) were unschedulable",
          "  OWNER                   PODS   LONGEST   SUCH AS", "  Deployment default/db      1      1h0m   db-1", "",
          "Waits for a scheduler called \"volcano\", which was not asked",
          "  OWNER                    PODS   LONGEST   SUCH AS", "  Deployment default/odd      1        1m   odd-1",
          "", "Waits for its turn: a node would take it now", "  OWNER                    PODS   LONGEST   SUCH AS",
          "  Deployment default/new      1        0s   new-1"));
  EXPECT_EQ(FindPendingPods(*cluster, state, "other").Count(), 0U);
  EXPECT_THAT(PendingLines({}, {}), ElementsAre("No pod waits for a node."));
  EXPECT_EQ(PendingJson(pending).at("reasons").as_array().size(), 4U);
  EXPECT_EQ(cluster->core().cache().pod_count(), 1U) << "all is taken back";
}

TEST(PendingPodsTest, MembersOfAGroupThatDoesNotCountHereWaitForIt) {
  const ClusterState state = StateOf({MakeNode("a").Allocatable("cpu", "2")},
                                     {Waiting("new", "new-1", 1), Waiting("new", "new-2", 2).InGroup("train")});
  const auto cluster = ClusterOf(state);
  EXPECT_THAT(
      PendingLines(FindPendingPods(*cluster, state, ""), {}),
      ElementsAre("2 pods wait for a node.", "",
                  "Waits for the PodGroup train, which counts with --kubernetes-version 1.37 and --feature-gates",
                  "  GenericWorkload=true: by itself it fits", "  OWNER                    PODS   LONGEST   SUCH AS",
                  "  Deployment default/new      1        2m   new-2", "",
                  "Waits for its turn: a node would take it now", "  OWNER                    PODS   LONGEST   SUCH AS",
                  "  Deployment default/new      1        1m   new-1"));
}

}  // namespace
}  // namespace berth::whatif
