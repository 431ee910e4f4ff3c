// SPDX-License-Identifier: Apache-2.0
// berth's own strategies, each in plans for small clusters.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/rebalance/node_mark.h"
#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using ::testing::SizeIs;
using whatif::RunningPod;

constexpr char kSpotLabel[] = "karpenter.sh/capacity-type";
constexpr char kZone[] = "topology.kubernetes.io/zone";

testing::NodeBuilder Spot(const std::string& name) { return MakeNode(name).Label(kSpotLabel, "spot"); }
testing::NodeBuilder Priced(const std::string& name, const std::string& price) {
  return MakeNode(name).Annotation("berth.dev/price", price);
}
testing::PodBuilder Old(testing::PodBuilder pod) {
  return pod.Created(kTestNow - std::chrono::hours(10)).Started(kTestNow - std::chrono::hours(10));
}

std::vector<std::string> MovesOf(const RebalancePlan& plan) {
  std::vector<std::string> moves;
  for (const PlannedMove& move : plan.moves)
    moves.push_back(move.pod->metadata.name + ": " + move.from + " to " + move.to);
  return moves;
}

std::vector<std::string> StayingOf(const RebalancePlan& plan) {
  std::vector<std::string> staying;
  for (const StayingPod& pod : plan.staying) staying.push_back(pod.key.substr(pod.key.find('/') + 1) + ": " + pod.why);
  return staying;
}

// --- BackToSpot ------------------------------------------------------------------------------------------------------

Policy SpotPolicy(const std::string& args = "{}") {
  return PolicyOf("[{name: BackToSpot, args: " + args + "}]", "deschedule: {enabled: [BackToSpot]}");
}

TEST(BackToSpotTest, PodsGoBackWhenThereIsRoom) {
  const auto policy = SpotPolicy();
  const auto plan = ChosenPlanOf(
      StateOf({MakeNode("on-demand"), Spot("spot")},
              {RunningPod("web", "web-1", "on-demand").Request("cpu", "3"),
               RunningPod("api", "api-1", "on-demand").Request("cpu", "1").Annotation("berth.dev/spot", "never"),
               RunningPod("db", "db-1", "on-demand").Request("cpu", "1")}),
      policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("db-1: on-demand to spot", "web-1: on-demand to spot"));
  EXPECT_EQ(plan.moves[0].reason, "it runs on demand, and wants a spot node");
  EXPECT_EQ(plan.moves[0].changes[0].text, "on demand to spot");
}

TEST(BackToSpotTest, OnlyThoseThatWantItWhereTheDefaultIsNever) {
  const auto policy = SpotPolicy("{default: never, spotLabels: [{key: pool, value: cheap}]}");
  const auto plan =
      ChosenPlanOf(StateOf({MakeNode("on-demand"), MakeNode("spot").Label("pool", "cheap")},
                           {RunningPod("web", "web-1", "on-demand"),
                            RunningPod("api", "api-1", "on-demand").Annotation("berth.dev/spot", "preferred")}),
                   policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("api-1: on-demand to spot"));
}

TEST(BackToSpotTest, PodsLeaveBeforeANoticeRunsOut) {
  const auto soon = FormatRfc3339(kTestNow + std::chrono::minutes(2));
  const auto later = FormatRfc3339(kTestNow + std::chrono::hours(2));
  const auto policy = SpotPolicy();
  const auto plan = ChosenPlanOf(
      StateOf({Spot("gone").Annotation("berth.dev/reclaim-at", soon),
               Spot("going").Annotation("berth.dev/reclaim-at", later),
               Spot("noticed").Taint("aws-node-termination-handler/spot-itn", "x", api::TaintEffect::kNoSchedule),
               MakeNode("on-demand")},
              {RunningPod("web", "web-1", "gone").Request("cpu", "3"), RunningPod("api", "api-1", "noticed"),
               RunningPod("db", "db-1", "going").Request("cpu", "3")}),
      policy);
  ASSERT_THAT(plan.moves, SizeIs(2));
  EXPECT_THAT(MovesOf(plan)[0], "web-1: gone to on-demand") << "the other spot node is full";
  EXPECT_THAT(MovesOf(plan)[1], ::testing::AnyOf("api-1: noticed to going", "api-1: noticed to on-demand"));
  EXPECT_EQ(plan.moves[0].reason, "its node will be taken back: berth.dev/reclaim-at is " + soon);
  EXPECT_EQ(plan.moves[0].changes[0].text, "away from gone, which will be gone");
}

TEST(BackToSpotTest, ANoticeDoesNotWaitForPauses) {
  auto state = StateOf(
      {Spot("gone").Taint("aws-node-termination-handler/spot-itn", "", api::TaintEffect::kNoSchedule), MakeNode("n2")},
      {RunningPod("web", "web-1", "gone"), RunningPod("web", "web-2", "gone"), RunningPod("web", "web-3", "gone")});
  const MoveAllowance allowance(state, MoveLedger(), AllowanceLimits(), {}, kTestNow);
  const auto policy = SpotPolicy();
  EXPECT_THAT(ChosenPlanOf(state, policy, nullptr, &allowance).moves, SizeIs(3)) << "all, where a quarter is the rule";
}

// --- CheaperNode -----------------------------------------------------------------------------------------------------

Policy PricePolicy(const std::string& args = "{}") {
  return PolicyOf("[{name: CheaperNode, args: " + args + "}]", "balance: {enabled: [CheaperNode]}");
}

TEST(CheaperNodeTest, PodsGoWhereTheyCostLess) {
  const auto policy = PricePolicy();
  const auto plan = ChosenPlanOf(StateOf({Priced("dear", "1.00"), Priced("cheap", "0.40")},
                                         {Old(RunningPod("web", "web-1", "dear").Request("cpu", "2")),
                                          Old(RunningPod("db", "db-1", "cheap").Request("cpu", "2"))}),
                                 policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-1: dear to cheap"));
  EXPECT_EQ(plan.moves[0].reason, "it costs 0.50 an hour, and elsewhere 0.20");
  EXPECT_EQ(plan.moves[0].changes[0].text, "0.50 to 0.20 an hour");
}

TEST(CheaperNodeTest, OnlyWhereItPays) {
  const auto state = StateOf({Priced("dear", "1.00"), Priced("cheap", "0.92"), MakeNode("unpriced")},
                             {Old(RunningPod("web", "web-1", "dear").Request("cpu", "2"))});
  EXPECT_THAT(MovesOf(ChosenPlanOf(state, PricePolicy())), IsEmpty()) << "8 % is less than 10 %";
  EXPECT_THAT(MovesOf(ChosenPlanOf(state, PricePolicy("{minSavingPercent: 5}"))), SizeIs(1));
  // 0.04 an hour for ten hours is less than half a unit.
  EXPECT_THAT(MovesOf(ChosenPlanOf(state, PricePolicy("{minSavingPercent: 5, horizon: 10h, restartCost: '0.50'}"))),
              IsEmpty());
}

TEST(CheaperNodeTest, PricesThatJumpMoveAPodOnceAnHourAtMost) {
  auto state =
      StateOf({Priced("a", "1.00"), Priced("b", "0.40")}, {Old(RunningPod("web", "web-1", "a").Request("cpu", "2"))});
  const auto policy = PricePolicy();
  const auto plan = ChosenPlanOf(state, policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-1: a to b"));
  auto after = Applied(state, plan, kTestNow);
  // Now the other one is cheap.
  after.nodes = {Priced("a", "0.10").Build(), Priced("b", "0.90").Build()};
  EXPECT_THAT(MovesOf(ChosenPlanOf(after, policy)), IsEmpty());
  const auto at_once = PricePolicy("{minStay: 0s}");
  EXPECT_THAT(MovesOf(ChosenPlanOf(after, at_once)), SizeIs(1));
}

// --- BetterScore -----------------------------------------------------------------------------------------------------

Policy ScorePolicy(const std::string& args = "{}") {
  return PolicyOf("[{name: BetterScore, args: " + args + "}]", "balance: {enabled: [BetterScore]}");
}

TEST(BetterScoreTest, APodGoesWhereTheSchedulerWouldPlaceItNow) {
  const auto home = testing::Term({testing::In("kubernetes.io/hostname", {"n2"})});
  const auto state = StateOf({MakeNode("n1"), MakeNode("n2")},
                             {Old(RunningPod("web", "web-1", "n1").Request("cpu", "1").Preferred(100, home)),
                              Old(RunningPod("db", "db-1", "n1").Request("cpu", "100m"))});
  const auto policy = ScorePolicy();
  const auto plan = PlanOf(state, policy);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-1: n1 to n2"));
  EXPECT_THAT(plan.moves[0].changes[0].text, HasSubstr("score "));
  const auto higher = ScorePolicy("{minGain: 100000}");
  const auto none = PlanOf(state, higher);
  EXPECT_THAT(MovesOf(none), IsEmpty());
  EXPECT_THAT(StayingOf(none)[1], HasSubstr("points more, which is less than 100000"));
}

TEST(BetterScoreTest, LooksAtSomePodsEachRound) {
  std::vector<testing::PodBuilder> pods;
  for (int i = 0; i < 10; ++i) pods.push_back(Old(RunningPod("web", "web-" + std::to_string(i), "n1")));
  const auto state = StateOf({MakeNode("n1"), MakeNode("n2")}, pods);
  const auto policy = ScorePolicy("{podsPerRound: 3, minGain: 1000000}");
  EXPECT_THAT(PlanOf(state, policy).staying, SizeIs(3));
}

// --- Consolidate -----------------------------------------------------------------------------------------------------

Policy ConsolidatePolicy(const std::string& args = "{}") {
  return PolicyOf("[{name: Consolidate, args: " + args + "}]", "balance: {enabled: [Consolidate]}");
}

TEST(ConsolidateTest, ANodeIsEmptiedWhole) {
  // The default profile spreads: a cordon keeps it from the node that is emptied.
  const auto policy = ConsolidatePolicy("{thresholds: {cpu: 40}}");
  const auto state = StateOf(
      {MakeNode("n1"), MakeNode("n2"), MakeNode("n3")},
      {RunningPod("a", "a-1", "n1").Request("cpu", "2"), RunningPod("b", "b-1", "n2").Request("cpu", "1"),
       RunningPod("c", "c-1", "n2").Request("cpu", "500m"), RunningPod("d", "d-1", "n3").Request("cpu", "2500m")});
  const auto plan = ChosenPlanOf(state, policy);
  EXPECT_THAT(plan.emptied, ElementsAre("n2"));
  EXPECT_THAT(MovesOf(plan), ElementsAre("b-1: n2 to n3", "c-1: n2 to n3"));
  EXPECT_TRUE(plan.moves[0].empties);
  // Where another scheduler decides, too.
  const auto by_scheduler = PlanOf(state, policy);
  EXPECT_THAT(by_scheduler.emptied, ElementsAre("n2"));
  EXPECT_THAT(by_scheduler.moves, SizeIs(2));
}

TEST(ConsolidateTest, ANodeThatKeepsAPodIsLeftAlone) {
  const auto policy = ConsolidatePolicy("{nodesPerRound: 5}");
  const auto plan = ChosenPlanOf(
      StateOf({MakeNode("n1"), MakeNode("n2")},
              {RunningPod("a", "a-1", "n1").Request("cpu", "2"), testing::MakePod("bare").Node("n1"),
               RunningPod("b", "b-1", "n2").Request("cpu", "2"), RunningPod("c", "c-1", "n2").Request("cpu", "1")}),
      policy);
  EXPECT_THAT(plan.emptied, IsEmpty()) << "3 CPUs do not fit beside 2, and n1 has a pod that nobody makes anew";
}

TEST(ConsolidateTest, ANodeIsKeptForAPodThatAutoscalersKeepItFor) {
  const auto policy = ConsolidatePolicy("{nodesPerRound: 5}");
  const auto plan_with = [&](const std::string& annotation, const std::string& value) {
    return MovesOf(
        ChosenPlanOf(StateOf({MakeNode("n1"), MakeNode("n2")},
                             {RunningPod("web", "web-1", "n1").Request("cpu", "1"),
                              RunningPod("job", "job-1", "n2").Request("cpu", "500m").Annotation(annotation, value)}),
                     policy));
  };
  const auto safe = "cluster-autoscaler.kubernetes.io/safe-to-evict";
  EXPECT_THAT(plan_with(safe, "false"), ElementsAre("web-1: n1 to n2")) << "the other one is emptied";
  EXPECT_THAT(plan_with("karpenter.sh/do-not-disrupt", "true"), ElementsAre("web-1: n1 to n2"));
  EXPECT_THAT(plan_with(safe, "true"), ElementsAre("job-1: n2 to n1"));
}

TEST(ConsolidateTest, OneMakesRoomForAnother) {
  // The two halves of n1 fit nowhere unless something moves from n2 to n3.
  const auto policy = ConsolidatePolicy();
  const auto plan = ChosenPlanOf(
      StateOf({MakeNode("n1"), MakeNode("n2"), MakeNode("n3")},
              {RunningPod("a", "a-1", "n1").Request("cpu", "2"), RunningPod("b", "b-1", "n2").Request("cpu", "2"),
               RunningPod("c", "c-1", "n2").Request("cpu", "1"), RunningPod("d", "d-1", "n3").Request("cpu", "3")}),
      policy);
  EXPECT_THAT(plan.emptied, ElementsAre("n1"));
  EXPECT_THAT(MovesOf(plan), ElementsAre("c-1: n2 to n3", "a-1: n1 to n2"));
  EXPECT_EQ(plan.moves[0].reason, "it makes room, so that n1 can be emptied");
  EXPECT_FALSE(plan.moves[0].empties);
}

TEST(ConsolidateTest, LimitsMakeSeveralRoundsOfIt) {
  std::vector<testing::PodBuilder> pods{RunningPod("b", "b-1", "n2").Request("cpu", "2")};
  for (int i = 0; i < 4; ++i) pods.push_back(RunningPod("a", "a-" + std::to_string(i), "n1").Request("cpu", "250m"));
  const auto state = StateOf({MakeNode("n1"), MakeNode("n2")}, pods);
  const MoveAllowance allowance(state, MoveLedger(), AllowanceLimits(), {}, kTestNow);
  const auto policy = ConsolidatePolicy("{thresholds: {cpu: 30}}");
  const auto plan = ChosenPlanOf(state, policy, nullptr, &allowance);
  EXPECT_THAT(plan.emptied, ElementsAre("n1"));
  EXPECT_THAT(plan.moves, SizeIs(1)) << "a quarter of the owner's pods";
  EXPECT_THAT(plan.staying, SizeIs(3));
  EXPECT_EQ(plan.staying[0].hold, "per_owner");
}

TEST(ConsolidateTest, ThresholdsKeepAndWhatIsGivenUpIsReported) {
  const auto pods = std::vector<testing::PodBuilder>{RunningPod("a", "a-1", "n1").Request("cpu", "2"),
                                                     RunningPod("b", "b-1", "n2").Request("cpu", "2")};
  const auto state =
      StateOf({MakeNode("n1").Unschedulable().Annotation(kConsolidatingAnnotation, "true"), MakeNode("n2")}, pods);
  const auto strict = ConsolidatePolicy("{thresholds: {cpu: 20}}");
  const auto plan = ChosenPlanOf(state, strict);
  EXPECT_THAT(plan.emptied, IsEmpty());
  EXPECT_THAT(plan.given_up, ElementsAre("n1"));
  const auto wide = ConsolidatePolicy("{thresholds: {cpu: 60}}");
  EXPECT_THAT(ChosenPlanOf(state, wide).emptied, ElementsAre("n1"));
  EXPECT_THAT(ChosenPlanOf(state, wide).given_up, IsEmpty());
}

TEST(ConsolidateTest, PodsThatAreBeingDeletedLeaveByThemselves) {
  const auto policy = ConsolidatePolicy("{thresholds: {cpu: 60}}");
  const auto cordoned = MakeNode("n1").Unschedulable().Annotation(kConsolidatingAnnotation, "true");
  const auto leaving = RunningPod("a", "a-1", "n1").Request("cpu", "1").Deleted(kTestNow);
  const auto other = RunningPod("c", "c-1", "n2").Request("cpu", "2");
  const auto next = ChosenPlanOf(
      StateOf({cordoned, MakeNode("n2")}, {leaving, RunningPod("b", "b-1", "n1").Request("cpu", "1"), other}), policy);
  EXPECT_THAT(MovesOf(next), ElementsAre("b-1: n1 to n2"));
  EXPECT_THAT(next.given_up, IsEmpty());
  const auto last = ChosenPlanOf(StateOf({cordoned, MakeNode("n2")}, {leaving, other}), policy);
  EXPECT_THAT(last.moves, IsEmpty());
  EXPECT_THAT(last.given_up, IsEmpty()) << "a pod takes its time to end";
  // No node comes into use for the sake of one that is about to be empty itself.
  const auto idle = ChosenPlanOf(StateOf({MakeNode("n1"), MakeNode("n2")}, {leaving, other}), policy);
  EXPECT_THAT(idle.moves, IsEmpty());
}

TEST(ConsolidateTest, ACordonOfSomebodyElseIsLeftAlone) {
  const auto pods = std::vector<testing::PodBuilder>{RunningPod("a", "a-1", "n1").Request("cpu", "1"),
                                                     RunningPod("b", "b-1", "n2").Request("cpu", "2")};
  const auto policy = ConsolidatePolicy("{thresholds: {cpu: 30}}");
  const auto cordoned = ChosenPlanOf(StateOf({MakeNode("n1").Unschedulable(), MakeNode("n2")}, pods), policy);
  EXPECT_THAT(cordoned.emptied, IsEmpty());
  EXPECT_THAT(cordoned.moves, IsEmpty());
  EXPECT_THAT(cordoned.given_up, IsEmpty());
  EXPECT_THAT(ChosenPlanOf(StateOf({MakeNode("n1"), MakeNode("n2")}, pods), policy).emptied, ElementsAre("n1"));
}

TEST(ConsolidateTest, ANodeThatSomebodyElseHasUncordonedIsLeftAloneForAWhile) {
  const auto pods = std::vector<testing::PodBuilder>{RunningPod("a", "a-1", "n1").Request("cpu", "1"),
                                                     RunningPod("b", "b-1", "n2").Request("cpu", "2")};
  const auto policy = ConsolidatePolicy("{thresholds: {cpu: 30}}");
  const struct {
    const char* name;
    std::string mark;
    bool is_cordoned, is_emptied;
  } kCases[] = {
      {"berth has cordoned it", "true", true, true},
      {"somebody has uncordoned it since", "true", false, false},
      {"not long ago", LeaveAloneMark(kTestNow + std::chrono::seconds(1)).consolidating, false, false},
      {"long ago", LeaveAloneMark(kTestNow).consolidating, false, true},
      {"long ago, and they have cordoned it", LeaveAloneMark(kTestNow).consolidating, true, false},
      {"a mark that is none of berth's", "after lunch", false, true},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    auto n1 = MakeNode("n1").Annotation(kConsolidatingAnnotation, each.mark);
    if (each.is_cordoned) n1.Unschedulable();
    const auto plan = ChosenPlanOf(StateOf({n1, MakeNode("n2")}, pods), policy);
    EXPECT_EQ(plan.emptied, each.is_emptied ? std::vector<std::string>{"n1"} : std::vector<std::string>());
    EXPECT_THAT(plan.given_up, IsEmpty());
  }
}

// --- CustomMetric ----------------------------------------------------------------------------------------------------

Policy MetricPolicy(const std::string& args) {
  return PolicyOf("[{name: CustomMetric, args: " + args + "}]", "deschedule: {enabled: [CustomMetric]}",
                  "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://prometheus:9090'}}]\n");
}

Measurements Answer(const Policy& policy, const std::vector<MetricSample>& samples) {
  Measurements measurements;
  measurements.answers[*MetricsNeedsOf(policy).queries.begin()] = samples;
  return measurements;
}

TEST(CustomMetricTest, APodLeavesWhereItsMetricCrossedTheLine) {
  const auto policy = MetricPolicy("{query: latency, above: 0.5, for: 5m}");
  const auto state =
      StateOf({MakeNode("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1"), RunningPod("web", "web-2", "n1")});
  const auto measurements = Answer(policy, {{{{"namespace", "default"}, {"pod", "web-1"}}, 0.9},
                                            {{{"namespace", "default"}, {"pod", "web-2"}}, 0.1}});
  EXPECT_EQ(measurements.answers.begin()->first, "min_over_time((latency)[300s:30s])");
  const auto plan = ChosenPlanOf(state, policy, &measurements);
  EXPECT_THAT(MovesOf(plan), ElementsAre("web-1: n1 to n2"));
  EXPECT_EQ(plan.moves[0].reason, "it is at 0.9, above 0.5");
}

TEST(CustomMetricTest, SomePodsLeaveANodeThatCrossedTheLine) {
  const auto policy = MetricPolicy("{query: steal, of: node, above: 10, movesPerNode: 2}");
  const auto state =
      StateOf({MakeNode("n1"), MakeNode("n2"), MakeNode("n3")},
              {RunningPod("a", "a-1", "n1"), RunningPod("b", "b-1", "n1"), RunningPod("c", "c-1", "n1")});
  const auto measurements =
      Answer(policy, {{{{"node", "n1:9100"}}, 20}, {{{"node", "n2"}}, 30}, {{{"node", "n3"}}, 1}});
  const auto plan = ChosenPlanOf(state, policy, &measurements);
  EXPECT_THAT(MovesOf(plan), ElementsAre("a-1: n1 to n3", "b-1: n1 to n3"));
}

TEST(CustomMetricTest, APairIsKeptApartAndNeverMovesAtOnce) {
  const auto policy =
      MetricPolicy("{query: faults, above: 3, pair: {label: pair, active: {matchLabels: {role: active}}}}");
  const auto pod = [](const std::string& app, const std::string& node, const std::string& role) {
    return RunningPod(app, app + "-1", node).Label("pair", "db").Label("role", role);
  };
  const std::vector<testing::NodeBuilder> nodes = {MakeNode("n1"), MakeNode("n2"), MakeNode("n3")};
  const auto none = Answer(policy, {});
  const auto together = StateOf(nodes, {pod("one", "n1", "active"), pod("two", "n1", "standby")});
  const auto plan = ChosenPlanOf(together, policy, &none);
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_EQ(plan.moves[0].key, "default/two-1") << "the standby one";
  EXPECT_EQ(plan.moves[0].reason, "it is together with another pod of its pair default/db");

  // Both are beyond the line: the standby pod goes, and not to its pair.
  const auto both = Answer(
      policy, {{{{"namespace", "default"}, {"pod", "one-1"}}, 9}, {{{"namespace", "default"}, {"pod", "two-1"}}, 9}});
  auto apart = StateOf(nodes, {pod("one", "n1", "active"), pod("two", "n2", "standby")});
  const auto second = ChosenPlanOf(apart, policy, &both);
  EXPECT_THAT(MovesOf(second), ElementsAre("two-1: n2 to n3"));

  // The active pod stays as long as the other one is not ready.
  const auto active = Answer(policy, {{{{"namespace", "default"}, {"pod", "one-1"}}, 9}});
  EXPECT_THAT(MovesOf(ChosenPlanOf(apart, policy, &active)), ElementsAre("one-1: n1 to n3"));
  auto details = *apart.pod_details[1];
  details.status.conditions.push_back({"Ready", "False", {}, {}});
  apart.pod_details[1] = std::make_shared<const api::PodDetails>(details);
  const auto held = ChosenPlanOf(apart, policy, &active);
  EXPECT_THAT(MovesOf(held), IsEmpty());
  EXPECT_THAT(StayingOf(held), ElementsAre(HasSubstr("default/two-1 of its pair is not ready")));
}

TEST(CustomMetricTest, AnAnswerOfAnotherShapeMovesNothing) {
  const auto policy = MetricPolicy("{query: up, below: 1}");
  const auto measurements = Answer(policy, {{{{"instance", "n1"}}, 0}});
  const auto state = StateOf({MakeNode("n1"), MakeNode("n2")}, {RunningPod("a", "a-1", "n1")});
  PlanOptions options;
  options.measurements = &measurements;
  const auto plan = PlanRebalance(*whatif::ClusterOf(state), state, policy, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message, "Prometheus: a series of CustomMetric's query has no label \"namespace\"");
}

// --- ZoneRepair ------------------------------------------------------------------------------------------------------

TEST(ZoneRepairTest, AnOwnersPodsAreSpreadAgainWhenAZoneIsBack) {
  const auto policy = PolicyOf("[{name: ZoneRepair}]", "balance: {enabled: [ZoneRepair]}");
  std::vector<testing::PodBuilder> pods;
  for (int i = 0; i < 6; ++i) pods.push_back(RunningPod("web", "web-" + std::to_string(i), i % 2 == 0 ? "a1" : "b1"));
  const auto state = StateOf(
      {MakeNode("a1").Label(kZone, "a"), MakeNode("b1").Label(kZone, "b"), MakeNode("c1").Label(kZone, "c")}, pods);
  const auto plan = ChosenPlanOf(state, policy);
  ASSERT_THAT(plan.moves, SizeIs(2));
  EXPECT_EQ(plan.moves[0].to, "c1");
  EXPECT_EQ(plan.moves[1].to, "c1");
  EXPECT_EQ(plan.moves[0].reason, "zone a has 3 pods of its owner, zone c 0");
  EXPECT_EQ(plan.moves[0].changes[0].text, "a 3 to 2, c 0 to 1");
  EXPECT_THAT(MovesOf(ChosenPlanOf(Applied(state, plan, kTestNow), policy)), IsEmpty());
  const auto wide = PolicyOf("[{name: ZoneRepair, args: {maxSkew: 3}}]", "balance: {enabled: [ZoneRepair]}");
  EXPECT_THAT(MovesOf(ChosenPlanOf(state, wide)), IsEmpty());
}

// --- The order of what counts ----------------------------------------------------------------------------------------

TEST(PotentialTest, WhatIsViolatedCountsMoreThanThePriceAndThatMoreThanBalance) {
  // LowNodeUtilization would fill the node that is dear; it stands first in the policy and counts less all the same.
  const auto policy = PolicyOf(
      "[{name: LowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}}, {name: CheaperNode}]",
      "balance: {enabled: [LowNodeUtilization, CheaperNode]}");
  const auto plan = ChosenPlanOf(StateOf({Priced("cheap", "0.10"), Priced("dear", "1.00")},
                                         {Old(RunningPod("a", "a-1", "cheap").Request("cpu", "1")),
                                          Old(RunningPod("b", "b-1", "cheap").Request("cpu", "2"))}),
                                 policy);
  EXPECT_THAT(MovesOf(plan), IsEmpty());
  EXPECT_THAT(StayingOf(plan)[0], HasSubstr("it is worse for CheaperNode, which counts more"));
}

}  // namespace
}  // namespace berth::rebalance
