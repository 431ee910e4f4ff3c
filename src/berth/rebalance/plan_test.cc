// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/plan.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/plan_answer.h"
#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

using answers::PlanLines, answers::PlanJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;
using ::testing::UnorderedElementsAre;
using whatif::Budget;
using whatif::RunningPod;

const char* const kDuplicates = "[{name: RemoveDuplicates}]";
const char* const kBalanceDuplicates = "balance: {enabled: [RemoveDuplicates]}";
const char* const kTaints = "[{name: RemovePodsViolatingNodeTaints}]";
const char* const kDescheduleTaints = "deschedule: {enabled: [RemovePodsViolatingNodeTaints]}";

// "web-1: n1 to n2".
std::vector<std::string> MovesOf(const RebalancePlan& plan) {
  std::vector<std::string> moves;
  for (const PlannedMove& move : plan.moves)
    moves.push_back(move.key.substr(move.key.find('/') + 1) + ": " + move.from + " to " + move.to);
  return moves;
}

std::vector<std::string> StayingOf(const RebalancePlan& plan) {
  std::vector<std::string> staying;
  for (const StayingPod& pod : plan.staying) staying.push_back(pod.key.substr(pod.key.find('/') + 1) + ": " + pod.why);
  return staying;
}

testing::NodeBuilder Gpu(const std::string& name) {
  return MakeNode(name).Taint("gpu", "yes", api::TaintEffect::kNoSchedule);
}

TEST(RebalancePlanTest, DuplicatesAreSpreadOverTheOtherNodes) {
  const auto plan = PlanOf(StateOf({MakeNode("n1"), MakeNode("n2"), MakeNode("n3")},
                                   {RunningPod("web", "web-1", "n1").Request("cpu", "500m"),
                                    RunningPod("web", "web-2", "n1").Request("cpu", "500m"),
                                    RunningPod("web", "web-3", "n1").Request("cpu", "500m")}),
                           PolicyOf(kDuplicates, kBalanceDuplicates));
  ASSERT_EQ(plan.moves.size(), 2u);
  EXPECT_THAT((std::vector<std::string>{plan.moves[0].to, plan.moves[1].to}), UnorderedElementsAre("n2", "n3"));
  EXPECT_EQ(plan.moves[0].strategy, "RemoveDuplicates");
  EXPECT_EQ(plan.moves[0].reason, "its node has 3 pods of ReplicaSet web-5c7, where 1 would do");
  ASSERT_EQ(plan.moves[0].changes.size(), 1u);
  EXPECT_EQ(plan.moves[0].changes[0].text, "n1 3 to 2, " + plan.moves[0].to + " 0 to 1");
  EXPECT_THAT(plan.staying, IsEmpty());
  EXPECT_EQ(plan.looked_at, 3u);
}

TEST(RebalancePlanTest, WhatTheSchedulerWouldPutBackStays) {
  const auto home = [](testing::PodBuilder pod) {
    return pod.Preferred(100, testing::Term({testing::In("kubernetes.io/hostname", {"n1"})}));
  };
  const auto plan = PlanOf(StateOf({MakeNode("n1"), MakeNode("n2")},
                                   {home(RunningPod("web", "web-1", "n1")), home(RunningPod("web", "web-2", "n1"))}),
                           PolicyOf(kDuplicates, kBalanceDuplicates));
  EXPECT_THAT(MovesOf(plan), IsEmpty());
  EXPECT_THAT(StayingOf(plan), ElementsAre("web-2: the scheduler would put it back on n1"));
}

TEST(RebalancePlanTest, WhereWeChooseThePolicyCountsAndThenTheSchedulersLiking) {
  const auto prefers = [](testing::PodBuilder pod) {
    return pod.Preferred(100, testing::Term({testing::In("kubernetes.io/hostname", {"n1"})}))
        .Preferred(50, testing::Term({testing::In("kubernetes.io/hostname", {"n3"})}));
  };
  const auto state = StateOf({MakeNode("n1"), MakeNode("n2"), MakeNode("n3")},
                             {prefers(RunningPod("web", "web-1", "n1")), prefers(RunningPod("web", "web-2", "n1"))});
  const Policy policy = PolicyOf(kDuplicates, kBalanceDuplicates);
  PlanOptions options;
  options.now = kTestNow;
  const auto plan_of = [&] { return PlanRebalance(*whatif::ClusterOf(state), state, policy, options); };
  EXPECT_THAT(MovesOf(*plan_of()), IsEmpty());
  options.chooses_target = true;
  EXPECT_THAT(MovesOf(*plan_of()), ElementsAre("web-2: n1 to n3"));
}

// n1 has four pods of web, n2 has two, n3 is full. From four to two would even out, and leave as many beyond their
// share.
TEST(RebalancePlanTest, DuplicatesDoNotBecomeDuplicatesElsewhere) {
  std::vector<testing::PodBuilder> pods = {RunningPod("db", "db-1", "n3").Request("cpu", "4")};
  for (int i = 1; i <= 6; ++i)
    pods.push_back(RunningPod("web", "web-" + std::to_string(i), i <= 4 ? "n1" : "n2").Request("cpu", "500m"));
  const auto plan = PlanOf(StateOf({MakeNode("n1"), MakeNode("n2"), MakeNode("n3")}, pods),
                           PolicyOf(kDuplicates, kBalanceDuplicates));
  EXPECT_THAT(MovesOf(plan), IsEmpty());
  EXPECT_THAT(StayingOf(plan),
              ElementsAre("web-3: the scheduler would put it on n2, where 2 of ReplicaSet web-5c7 are already, and 2 "
                          "would do",
                          "web-4: the scheduler would put it on n2, where 2 of ReplicaSet web-5c7 are already, and 2 "
                          "would do"));
}

// What RemoveDuplicates takes away from n1 is enough for LowNodeUtilization.
TEST(RebalancePlanTest, WhatOneStrategyMovesIsEnoughForAnother) {
  const auto policy = PolicyOf(
      "[{name: RemoveDuplicates}, {name: LowNodeUtilization, args: {thresholds: {cpu: 30}, targetThresholds: {cpu: "
      "60}}}]",
      "balance: {enabled: [RemoveDuplicates, LowNodeUtilization]}");
  std::vector<testing::PodBuilder> pods = {RunningPod("web", "web-1", "n1").Request("cpu", "500m").Priority(9),
                                           RunningPod("web", "web-2", "n1").Request("cpu", "500m").Priority(9)};
  for (const std::string app : {"a", "b", "c", "d"})
    pods.push_back(RunningPod(app, app, "n1").Request("cpu", "400m").Priority(1));
  const auto plan = PlanOf(StateOf({MakeNode("n1"), MakeNode("n2")}, pods), policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-2: n1 to n2"));
}

// If only some of these moves are made, they are those that had to be: after three no zone has got below its share.
TEST(RebalancePlanTest, TheFullestDomainGivesPodsFirst) {
  std::vector<testing::NodeBuilder> nodes;
  std::vector<testing::PodBuilder> pods;
  for (const std::string zone : {"a", "b", "c"}) {
    nodes.push_back(MakeNode("n-" + zone).Label("zone", zone));
    for (int i = 0; zone != "c" && i < 10; ++i)
      pods.push_back(RunningPod("web", "web-" + zone + std::to_string(i), "n-" + zone)
                         .Spread(testing::SpreadConstraint(1, "zone", testing::Labels({{"app", "web"}}))));
  }
  const auto plan =
      PlanOf(StateOf(nodes, pods), PolicyOf("[{name: RemovePodsViolatingTopologySpreadConstraint}]",
                                            "balance: {enabled: [RemovePodsViolatingTopologySpreadConstraint]}"));
  std::string from;
  for (const PlannedMove& move : plan.moves) from += move.from.back();
  EXPECT_EQ(from, "bababa");
}

TEST(RebalancePlanTest, WhatFitsNowhereStays) {
  const auto plan = PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1").Request("cpu", "3"),
                                                                 RunningPod("db", "db-1", "n2").Request("cpu", "3")}),
                           PolicyOf(kTaints, kDescheduleTaints));
  EXPECT_THAT(MovesOf(plan), IsEmpty());
  ASSERT_EQ(plan.staying.size(), 1u);
  EXPECT_THAT(plan.staying[0].why, HasSubstr("it fits nowhere else: 0/2 nodes are available: 1 Insufficient cpu, 1 "
                                             "node(s) had untolerated taint(s)"));
  EXPECT_EQ(plan.staying[0].reason, "it does not tolerate the taint gpu=yes:NoSchedule of its node");
}

TEST(RebalancePlanTest, WhatMakesRoomGoesFirst) {
  // web-1 has to leave n1 for n3, which is full until db-1 has left n3 for n2.
  const auto plan = PlanOf(StateOf({Gpu("n1"), MakeNode("n2").Label("db", "yes"),
                                    MakeNode("n3").Taint("db", "no", api::TaintEffect::kNoSchedule)},
                                   {RunningPod("web", "web-1", "n1").Request("cpu", "3").Toleration("db", "Exists"),
                                    RunningPod("other", "other-1", "n2").Request("cpu", "2"),
                                    RunningPod("db", "db-1", "n3").Request("cpu", "2")}),
                           PolicyOf(kTaints, kDescheduleTaints));
  EXPECT_THAT(MovesOf(plan), ElementsAre("db-1: n3 to n2", "web-1: n1 to n3"));
  EXPECT_THAT(plan.staying, IsEmpty());
}

// 15 nodes with 12 small pods and a large one each have got a taint; on the 10 others there is room for all. The small
// ones come first, and are spread: then there is no node with room for the last large ones.
whatif::ClusterState SmallBeforeLarge() {
  const auto name = [](const std::string& of, int i) { return of + (i < 10 ? "-0" : "-") + std::to_string(i); };
  std::vector<testing::NodeBuilder> nodes;
  std::vector<testing::PodBuilder> pods;
  for (int i = 0; i < 10; ++i) nodes.push_back(MakeNode(name("free", i)));
  for (int i = 0; i < 15; ++i) {
    nodes.push_back(Gpu(name("old", i)));
    pods.push_back(RunningPod("large", name("z-large", i), name("old", i)).Request("cpu", "1500m"));
    for (int j = 0; j < 12; ++j)
      pods.push_back(RunningPod("small", name(name("a-small", i), j), name("old", i)).Request("cpu", "80m"));
  }
  return StateOf(nodes, pods);
}

TEST(RebalancePlanTest, WhatOthersHaveCrowdedOutIsTriedFirst) {
  const auto state = SmallBeforeLarge();
  const auto policy = PolicyOf(kTaints, kDescheduleTaints);
  const auto plan = PlanOf(state, policy);
  EXPECT_THAT(StayingOf(plan), IsEmpty());
  EXPECT_EQ(plan.moves.size(), 195u);
  EXPECT_EQ(plan.moves[0].pod->metadata.name, "z-large-00");
}

TEST(RebalancePlanTest, WhatFitsNowhereAnywayIsNotTriedFirst) {
  // huge-1 fits on no node, however many pods the plan leaves out.
  const auto plan =
      PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, {RunningPod("a", "a-1", "n1").Request("cpu", "1"),
                                                   RunningPod("huge", "huge-1", "n1").Request("cpu", "5")}),
             PolicyOf(kTaints, kDescheduleTaints));
  EXPECT_THAT(MovesOf(plan), ElementsAre("a-1: n1 to n2"));
  EXPECT_THAT(StayingOf(plan), ElementsAre(HasSubstr("huge-1: it fits nowhere else")));
}

TEST(RebalancePlanTest, FewerMovesAreNotMadeForALargePod) {
  // Either the three small pods go to n2, or the large one.
  std::vector<testing::PodBuilder> pods = {RunningPod("z-large", "z-large-1", "n1").Request("cpu", "4")};
  for (const std::string name : {"a-1", "a-2", "a-3"}) pods.push_back(RunningPod("a", name, "n1").Request("cpu", "1"));
  const auto plan = PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, pods), PolicyOf(kTaints, kDescheduleTaints));
  EXPECT_THAT(MovesOf(plan), ElementsAre("a-1: n1 to n2", "a-2: n1 to n2", "a-3: n1 to n2"));
}

TEST(RebalancePlanTest, BudgetsHold) {
  const std::vector<testing::PodBuilder> pods = {RunningPod("web", "web-1", "n1"), RunningPod("web", "web-2", "n1")};
  const auto policy = PolicyOf(kTaints, kDescheduleTaints);
  const auto one = PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, pods, {Budget("pdb", "web", 1)}), policy);
  EXPECT_THAT(MovesOf(one), ElementsAre("web-1: n1 to n2"));
  EXPECT_THAT(StayingOf(one),
              ElementsAre("web-2: PodDisruptionBudget pdb allows no more until those that moved are replaced"));
  const auto none = PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, pods, {Budget("pdb", "web", 0)}), policy);
  EXPECT_THAT(StayingOf(none), ElementsAre("web-1: PodDisruptionBudget pdb allows no eviction now",
                                           "web-2: PodDisruptionBudget pdb allows no eviction now"));
  const auto two =
      PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, pods, {Budget("a", "web", 5), Budget("b", "web", 5)}), policy);
  EXPECT_THAT(MovesOf(two), IsEmpty());
}

TEST(RebalancePlanTest, PodsThatNobodyRecreatesNeverMove) {
  auto state = StateOf(
      {Gpu("n1"), MakeNode("n2")},
      {MakePod("agent").Controller("apps/v1", "DaemonSet", "agent").Node("n1"), MakePod("bare").Node("n1"),
       MakePod("etcd").Annotation("kubernetes.io/config.mirror", "x").Controller("v1", "Node", "n1").Node("n1")});
  // The annotation overrides what protects them from the descheduler.
  for (auto& pod : state.pods) {
    api::Pod marked = *pod;
    marked.metadata.annotations.Set("descheduler.alpha.kubernetes.io/evict", "true");
    pod = std::make_shared<const api::Pod>(marked);
  }
  const auto plan = PlanOf(state, PolicyOf(kTaints, kDescheduleTaints));
  EXPECT_THAT(MovesOf(plan), IsEmpty());
  EXPECT_THAT(StayingOf(plan), ElementsAre("agent: it is of a DaemonSet, which starts it again on its node",
                                           "bare: no controller would make another one",
                                           "etcd: it is a static pod, which its kubelet starts again"));
}

TEST(RebalancePlanTest, LimitsAreOfMoves) {
  // web-1 fits nowhere and uses nothing up.
  const auto plan =
      PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1").Request("cpu", "9"),
                                                   RunningPod("web", "web-2", "n1"), RunningPod("web", "web-3", "n1")}),
             PolicyOf(kTaints, kDescheduleTaints, "maxNoOfPodsToEvictTotal: 1\n"));
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-2: n1 to n2"));
  EXPECT_THAT(StayingOf(plan), ElementsAre(HasSubstr("maxNoOfPodsToEvictTotal is reached"),
                                           "web-3: maxNoOfPodsToEvictTotal is reached"));
}

TEST(RebalancePlanTest, AMoveIsNoWorseForAStrategyThatComesFirst) {
  // The taint says go, and the only place has the owner's other pod: duplicates come later, so the pod goes all the
  // same.
  const auto state =
      StateOf({Gpu("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1"), RunningPod("web", "web-2", "n2")});
  const auto both = PolicyOf("[{name: RemovePodsViolatingNodeTaints}, {name: RemoveDuplicates}]",
                             std::string(kDescheduleTaints) + ", " + kBalanceDuplicates);
  const auto plan = PlanOf(state, both);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-1: n1 to n2"));
  ASSERT_EQ(plan.moves[0].changes.size(), 2u);
  EXPECT_EQ(plan.moves[0].changes[0].change, -1);
  EXPECT_EQ(plan.moves[0].changes[1].change, 2);
  // And what comes first is not undone by what comes later.
  EXPECT_THAT(MovesOf(PlanOf(Applied(state, plan, kTestNow), both)), IsEmpty());
}

TEST(RebalancePlanTest, ANodeIsEmptiedOrLeftAlone) {
  const std::string config = "[{name: HighNodeUtilization, args: {thresholds: {cpu: 30}}}]";
  const auto policy = PolicyOf(config, "balance: {enabled: [HighNodeUtilization]}");
  // n1 is nearly empty; n2 has room for both of its pods, or for one of them.
  const auto nodes = std::vector<testing::NodeBuilder>{MakeNode("n1"), MakeNode("n2")};
  const auto state = [&](const char* used) {
    return StateOf(nodes, {RunningPod("web", "web-1", "n1").Request("cpu", "500m"),
                           RunningPod("web", "web-2", "n1").Request("cpu", "500m"),
                           RunningPod("db", "db-1", "n2").Request("cpu", used)});
  };
  // The default profile spreads: it would put them back. A cordon says no to n1.
  const auto with_cordon = [&](const char* used) {
    auto made = state(used);
    auto cordoned = *made.nodes[0];
    cordoned.unschedulable = true;
    made.nodes[0] = std::make_shared<const api::Node>(cordoned);
    return made;
  };
  EXPECT_THAT(StayingOf(PlanOf(state("2"), policy)),
              ElementsAre("web-1: its node would not be empty: default/web-2 stays there",
                          "web-2: the scheduler would put it back on n1"));
  EXPECT_THAT(MovesOf(PlanOf(with_cordon("2"), policy)), UnorderedElementsAre("web-1: n1 to n2", "web-2: n1 to n2"));
  const auto full = PlanOf(with_cordon("3500m"), policy);
  EXPECT_THAT(MovesOf(full), IsEmpty());
  EXPECT_EQ(full.staying.size(), 2u);
}

TEST(RebalancePlanTest, UseIsEvenedOut) {
  const auto plan =
      PlanOf(StateOf({MakeNode("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1").Request("cpu", "1"),
                                                        RunningPod("api", "api-1", "n1").Request("cpu", "1"),
                                                        RunningPod("db", "db-1", "n1").Request("cpu", "1"),
                                                        RunningPod("x", "x-1", "n1").Request("cpu", "1")}),
             PolicyOf("[{name: LowNodeUtilization, args: {thresholds: {cpu: 30}, targetThresholds: {cpu: 60}}}]",
                      "balance: {enabled: [LowNodeUtilization]}"));
  ASSERT_EQ(plan.moves.size(), 2u);
  EXPECT_EQ(plan.moves[0].changes[0].text, "cpu n1 100 % to 75 %, n2 0 % to 25 %");
  EXPECT_EQ(plan.moves[0].reason, "its node is too full: cpu 100 %");
}

TEST(RebalancePlanTest, AFailedPodIsRemovedAndNeedsNoPlace) {
  auto state = StateOf({MakeNode("n1"), MakeNode("n2")}, {});
  api::Pod pod = RunningPod("web", "web-1", "n1").Created(kTestNow - std::chrono::hours(3)).Build();
  pod.status.phase = api::PodPhase::kFailed;
  auto details = *DetailsOf(pod);
  details.status.phase = "Failed";
  details.status.reason = "Evicted";
  state.finished_pods.push_back(std::make_shared<const api::Pod>(pod));
  state.finished_pod_details.push_back(std::make_shared<const api::PodDetails>(details));
  const auto policy = PolicyOf("[{name: RemoveFailedPods}]", "deschedule: {enabled: [RemoveFailedPods]}");
  const auto plan = PlanOf(state, policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-1: n1 to "));
  EXPECT_EQ(plan.moves[0].reason, "it has failed: Evicted");
  EXPECT_THAT(MovesOf(PlanOf(Applied(state, plan, kTestNow), policy)), IsEmpty());
}

TEST(RebalancePlanTest, AnOldPodMayComeBackToItsNode) {
  const auto policy =
      PolicyOf("[{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600}}]", "deschedule: {enabled: [PodLifeTime]}");
  const auto state = StateOf({MakeNode("n1"), MakeNode("n2").Unschedulable()},
                             {RunningPod("web", "web-1", "n1").Created(kTestNow - std::chrono::hours(3)),
                              RunningPod("web", "web-2", "n1").Created(kTestNow - std::chrono::minutes(3))});
  const auto plan = PlanOf(state, policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-1: n1 to n1"));
  EXPECT_THAT(MovesOf(PlanOf(Applied(state, plan, kTestNow), policy)), IsEmpty());
}

TEST(RebalancePlanTest, APriorityClassThatNoPodHasIsSaid) {
  const auto state = StateOf({MakeNode("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1")});
  const auto policy = PolicyOf("[{name: DefaultEvictor, args: {priorityThreshold: {name: high}}}]", "");
  const auto cluster = whatif::ClusterOf(state);
  const auto plan = PlanRebalance(*cluster, state, policy, {kTestNow, {}});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(
      plan.error().message,
      "profiles[0]: DefaultEvictor: priorityThreshold.name: no pod of the cluster has the priority class high, so "
      "its value is not known; name the value in its place");
}

TEST(RebalancePlanTest, AnInterruptEndsItWithWhatThereIs) {
  const auto state = StateOf({Gpu("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1")});
  const auto policy = PolicyOf(kTaints, kDescheduleTaints);
  const auto cluster = whatif::ClusterOf(state);
  const auto plan = PlanRebalance(*cluster, state, policy, {kTestNow, [] { return true; }});
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->is_interrupted);
  EXPECT_FALSE(plan->is_complete);
  EXPECT_THAT(plan->moves, IsEmpty());
}

TEST(RebalancePlanTest, IsPrintedAsLinesAndAsJson) {
  const auto policy = PolicyOf(kTaints, kDescheduleTaints);
  const auto plan = PlanOf(StateOf({Gpu("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1"),
                                                                 RunningPod("web", "web-2", "n1").Request("cpu", "9")}),
                           policy);
  std::string text;
  for (const std::string& line : PlanLines(plan, false, {false, 100})) text += line + "\n";
  EXPECT_THAT(text, HasSubstr("POD             FROM   TO   WHY                             GAIN\n"
                              "default/web-1   n1     n2   RemovePodsViolatingNodeTaints   1 violation fewer\n"));
  EXPECT_THAT(text, HasSubstr("1 pod of 2 would move: 1 for RemovePodsViolatingNodeTaints. 1 more that is objected to "
                              "stays."));
  EXPECT_THAT(text, HasSubstr("  default/web-2 stays on n1 (RemovePodsViolatingNodeTaints): it fits nowhere else:"));
  const auto json = PlanJson(plan);
  EXPECT_EQ(json.at("kind"), "RebalancePlan");
  ASSERT_EQ(json.at("moves").as_array().size(), 1u);
  const auto& move = json.at("moves").as_array()[0].as_object();
  EXPECT_EQ(move.at("name"), "web-1");
  EXPECT_EQ(move.at("to"), "n2");
  EXPECT_EQ(move.at("gain"), "1 violation fewer");
  EXPECT_EQ(json.at("staying").as_array()[0].as_object().at("name"), "web-2");
}

}  // namespace
}  // namespace berth::rebalance
