// SPDX-License-Identifier: Apache-2.0
// Cycles that ask HTTP extenders. The test answers for the extenders.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "berth/core/scheduler/extender_cycle_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::PodBuilder;
using World = ExtenderWorld;

TEST(ExtenderCycleTest, ExtendersFilterOneAfterTheOther) {
  World world({Filter("x"), Filter("y"), Ignorable(Filter("z"))});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"}));
  EXPECT_TRUE(world.core.IsWaitingForExtenders());
  world.Left({"c", "b"});
  EXPECT_EQ(world.Take(), (Lines{"ask 1 filter p: c b"})) << "what the first left, in its order";
  world.Left({"b", "c"});
  EXPECT_EQ(world.Take(), (Lines{"ask 2 filter p: b c"}));
  world.Left({"b"});
  EXPECT_EQ(world.Take(), (Lines{"bind p to b"}));
  EXPECT_FALSE(world.core.IsWaitingForExtenders());
  world.Answer();
  EXPECT_EQ(world.Take(), (Lines{"Normal Scheduled p: Successfully assigned default/p to b"}));
  EXPECT_EQ(world.core.decisions().Newest().node_name, "b");
}

TEST(ExtenderCycleTest, OnlyInterestedExtendersAreAsked) {
  config::Extender gpus = Filter("gpus");
  gpus.managed_resources = {{"example.com/gpu", false}};
  World world({gpus, Extender("without a verb")});
  world.Set(MakeNode("a").Allocatable("example.com/gpu", "1"));
  world.Set(MakePod("plain"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"bind plain to a"}));
  world.Answer();
  world.Take();
  world.Set(MakePod("wants-gpu").Request("example.com/gpu", "1"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter wants-gpu: a"}));
}

TEST(ExtenderCycleTest, OneCycleAtATime) {
  World world({Filter("x")});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Set(MakePod("q"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"}));
  EXPECT_FALSE(world.core.ScheduleOne(world.now));
  EXPECT_FALSE(world.core.IsIdle());
  const std::vector<UnboundPod> unbound = world.core.Unbound();
  ASSERT_EQ(unbound.size(), 2U);
  EXPECT_EQ(unbound[0].why, "extenders are being asked");
  EXPECT_EQ(unbound[1].why, "has not been tried");
  world.Left({"a"});
  EXPECT_EQ(world.Take(), (Lines{"bind p to a"}));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter q: a b c"})) << "while p is still being bound";
}

TEST(ExtenderCycleTest, RefusalsReachThePodsMessage) {
  World world({Filter("x"), Filter("y")});
  world.SetNodes();
  world.Set(MakeNode("tainted").Taint("k", "v", api::TaintEffect::kNoSchedule));
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"}));
  world.Reply({.node_names = {"c"},
               .failed_nodes = {{"a", "no license"}, {"b", "no license"}},
               .failed_and_unresolvable_nodes = {{"b", "too old"}}});
  EXPECT_EQ(world.Take(), (Lines{"ask 1 filter p: c"}));
  world.Left({});
  const std::string message =
      "0/4 nodes are available: 1 no license, 1 node(s) had untolerated taint(s), 1 too old. no new claims to "
      "deallocate, preemption: 0/4 nodes are "
      "available: 1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling.";
  EXPECT_EQ(world.Take(), (Lines{"status p Unschedulable: " + message, "Warning FailedScheduling p: " + message}));
  const auto standing = world.core.queue().Find("uid-default-p");
  ASSERT_TRUE(standing);
  EXPECT_EQ(standing->unschedulable_plugins, (std::vector<std::string>{"Extender", "TaintToleration"}));
}

TEST(ExtenderCycleTest, AnyEventBringsAPodBackThatExtendersRefused) {
  World world({Filter("x")});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Run();
  world.Take();
  world.Left({});
  world.Take();
  world.Run(1min);
  EXPECT_EQ(world.Take(), Lines{}) << "nothing has happened";
  world.Set(MakePod("other").Node("a").Label("no", "matter"));
  world.Run(11s);
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"}));
}

TEST(ExtenderCycleTest, AnExtenderThatFailsFailsThePod) {
  World world({Filter("x")});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Run();
  world.Take();
  world.Break("failed filter with extender at URL x/filter, code 500");
  EXPECT_EQ(world.Take(), (Lines{"status p SchedulerError: failed filter with extender at URL x/filter, code 500",
                                 "Warning FailedScheduling p: failed filter with extender at URL x/filter, code 500"}));
  EXPECT_EQ(world.core.counts().errors, 1U);
  world.Run(2s);
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"})) << "tried again after its back-off";
}

TEST(ExtenderCycleTest, AnIgnorableExtenderThatFailsIsSkipped) {
  World world({Ignorable(Filter("x")), Filter("y")});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"})) << "y, which comes first";
  world.Left({"a"});
  EXPECT_EQ(world.Take(), (Lines{"ask 1 filter p: a"}));
  world.Break("down");
  EXPECT_EQ(world.Take(), (Lines{"bind p to a"}));
}

TEST(ExtenderCycleTest, ScoresAreAddedTimesWeightTimesTen) {
  // Both nodes have room for all pods. a has 50 % more of one resource free, which is 25 of NodeResourcesFit's score.
  World world({Prioritizer("x", 2), Prioritizer("y", 1)});
  world.Set(MakeNode("a"));
  world.Set(MakeNode("b"));
  world.Set(MakePod("load").Node("b").Request("cpu", "2"));
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 prioritize p: a b", "ask 1 prioritize p: a b"})) << "together";
  world.Scores({{"b", 4}, {"nobody", 10}});
  EXPECT_EQ(world.Take(), Lines{});
  world.Scores({{"a", 1}, {"b", 2}});
  EXPECT_EQ(world.Take(), (Lines{"bind p to b"}));
  const std::int64_t with = world.core.decisions().Newest().total;

  World without({});
  without.Set(MakeNode("b"));
  without.Set(MakeNode("b2"));
  without.Set(MakePod("load").Node("b").Request("cpu", "2"));
  without.Set(MakePod("load2").Node("b2").Request("cpu", "2"));
  without.Set(MakePod("p"));
  without.Run();
  EXPECT_EQ(with, without.core.decisions().Newest().total + 4 * 2 * 10 + 2 * 1 * 10);
}

TEST(ExtenderCycleTest, APrioritizerThatFailsHasNoSay) {
  World world({Prioritizer("x", 1), Prioritizer("y", 1)});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Run();
  world.Take();
  world.Break("down");
  world.Scores({{"c", 10}, {"c", 1}});
  EXPECT_EQ(world.Take(), (Lines{"bind p to c"}));
}

TEST(ExtenderCycleTest, NobodyIsAskedToScoreASingleNode) {
  config::Extender both = Prioritizer("x", 1);
  both.filter_verb = "filter";
  World world({both});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Run();
  world.Take();
  world.Left({"b"});
  EXPECT_EQ(world.Take(), (Lines{"bind p to b"}));
}

TEST(ExtenderCycleTest, WhatHappensMeanwhileCounts) {
  World world({Filter("x")});
  world.SetNodes();
  world.Set(MakePod("p").Request("cpu", "2"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"}));
  world.RemoveNode("a");
  world.Set(MakePod("big").Node("b").Request("cpu", "3"));
  world.Set(MakeNode("d"));
  world.Left({"a", "b", "c"});
  EXPECT_EQ(world.Take(), (Lines{"bind p to c"})) << "a is gone, b is full, and nobody was asked about d";
}

TEST(ExtenderCycleTest, WithNothingLeftThePodIsRefusedForWhatIsTrueNow) {
  World world({Filter("x")});
  world.Set(MakeNode("a"));
  world.Set(MakePod("p").Request("cpu", "2"));
  world.Run();
  world.Take();
  world.Set(MakePod("big").Node("a").Request("cpu", "3").Priority(10));
  world.Left({"a"});
  const Lines lines = world.Take();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("0/1 nodes are available: 1 Insufficient cpu."), std::string::npos) << lines[1];
  world.Set(MakeNode("d"));
  world.Run(11s);
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: d"}));
}

// The pod changes during its cycle; each case says how.
TEST(ExtenderCycleTest, ThePodChangesMeanwhile) {
  const PodBuilder pod = MakePod("p");
  const struct {
    const char* name;
    std::function<void(World&)> change;
    Lines after_change;  // outputs after the change and the answer
  } cases[] = {
      {"deleted", [&](World& world) { world.Remove(pod); }, {}},
      {"being deleted",
       [&](World& world) { world.Set(PodBuilder(pod).Deleted(world.now)); },
       {"Warning FailedScheduling p: skip schedule deleting pod: default/p"}},
      {"bound by another", [&](World& world) { world.Set(PodBuilder(pod).Node("b")); }, {}},
      {"another scheduler's", [&](World& world) { world.Set(PodBuilder(pod).SchedulerName("other")); }, {}},
      {"a label", [&](World& world) { world.Set(PodBuilder(pod).Label("k", "v")); }, {"bind p to a"}},
      {"given up", [&](World& world) { world.core.CancelExtenderCycle("the scheduler ends"); }, {}},
  };
  for (const auto& c : cases) {
    World world({Filter("x")});
    world.SetNodes();
    world.Set(pod);
    world.Run();
    ASSERT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"})) << c.name;
    c.change(world);
    world.Left({"a"});
    world.Run();
    EXPECT_EQ(world.Take(), c.after_change) << c.name;
    EXPECT_FALSE(world.core.IsWaitingForExtenders()) << c.name;
    // The next pod is scheduled.
    world.Set(MakePod("next"));
    world.Run();
    EXPECT_EQ(world.Take(), (Lines{"ask 0 filter next: a b c"})) << c.name;
  }
}

TEST(ExtenderCycleTest, AnUpdateMeanwhileIsAnEventForThePod) {
  World world({Filter("x")});
  world.SetNodes();
  world.Set(MakePod("p"));
  world.Run();
  world.Take();
  world.Set(MakePod("p").Toleration("k", "Exists"));
  world.Left({});
  world.Take();
  world.Run(2s);
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: a b c"})) << "it changed while it was in flight";
}

TEST(ExtenderCycleTest, TheNominatedNodeIsAskedAboutAlone) {
  World world({Filter("x"), Prioritizer("y", 1)});
  world.SetNodes();
  world.Set(MakePod("p").Nominated("b"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: b"}));
  world.Left({"b"});
  EXPECT_EQ(world.Take(), (Lines{"bind p to b"})) << "without scores";
}

TEST(ExtenderCycleTest, ANominatedNodeThatWillNotDo) {
  const struct {
    const char* name;
    std::function<void(World&)> answer;
  } cases[] = {
      {"refused", [](World& world) { world.Reply({.failed_nodes = {{"b", "no"}}}); }},
      {"failed", [](World& world) { world.Break("down"); }},
      {"full meanwhile",
       [](World& world) {
         world.Set(MakePod("big").Node("b").Request("cpu", "4"));
         world.Left({"b"});
       }},
  };
  for (const auto& c : cases) {
    World world({Filter("x")});
    world.SetNodes();
    world.Set(MakePod("p").Nominated("b").Request("cpu", "1"));
    world.Run();
    ASSERT_EQ(world.Take(), (Lines{"ask 0 filter p: b"})) << c.name;
    c.answer(world);
    const Lines asked = world.Take();
    ASSERT_EQ(asked.size(), 1U) << c.name;
    EXPECT_TRUE(asked[0].starts_with("ask 0 filter p: a")) << c.name << ": " << asked[0];
    world.Left({"c"});
    EXPECT_EQ(world.Take(), (Lines{"bind p to c"})) << c.name;
  }
}

// Somebody changes the pod's nomination in the API. Updates of a pod in flight do not reach the nominator; the end of
// the cycle uses the object's nomination at that time.
TEST(ExtenderCycleTest, ANominationThatIsWithdrawnMeanwhileEndsWithTheCycle) {
  // The pod may not preempt, so that PostFilter leaves its nomination alone.
  const PodBuilder pod = MakePod("p").Priority(10).NeverPreempts().Request("cpu", "4");
  for (const std::string& now : {std::string(), std::string("b"), std::string("a")}) {
    SCOPED_TRACE(now);
    World world({Filter("x")});
    world.Set(MakeNode("a"));
    world.Set(PodBuilder(pod).Nominated("a"));
    world.Run();
    ASSERT_EQ(world.Take(), (Lines{"ask 0 filter p: a"}));
    world.Set(PodBuilder(pod).Nominated(now).Label("k", "v"));
    const queue::Nominator& nominator = world.core.queue().nominator();
    EXPECT_EQ(nominator.NominatedNode("uid-default-p"), "a");
    world.Left({});
    ASSERT_EQ(world.Take(), (Lines{"ask 0 filter p: a"})) << "as one of all nodes";
    world.Left({});
    ASSERT_FALSE(world.core.IsWaitingForExtenders());
    EXPECT_EQ(nominator.NominatedNode("uid-default-p"), now);
  }
}

TEST(ExtenderCycleTest, VictimsAreLookedForWhereAnExtenderSaysThatTheyMayHelp) {
  World world({Filter("x")});
  world.SetNodes();
  for (const char* node : {"a", "b", "c"})
    world.Set(MakePod(std::string("low-") + node).Node(node).Request("cpu", "4").Priority(1));
  world.Set(MakeNode("free"));
  world.Set(MakePod("p").Request("cpu", "3").Priority(10));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: free"}));
  world.Reply({.failed_and_unresolvable_nodes = {{"free", "not yours"}}});
  const Lines lines = world.Take();
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("nominates ") != std::string::npos;
  })) << lines[0];
}

TEST(ExtenderCycleTest, AnExtenderBindsInsteadOfThePlugins) {
  World world({Binder("x")});
  world.Set(MakeNode("a"));
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 bind p: a"}));
  EXPECT_EQ(world.core.binding_count(), 1U);
  world.Reply({});
  EXPECT_EQ(world.Take(), (Lines{"Normal Scheduled p: Successfully assigned default/p to a"}));
  EXPECT_EQ(world.core.binding_count(), 0U);
  EXPECT_EQ(world.core.counts().scheduled, 1U);
}

TEST(ExtenderCycleTest, AnExtenderThatFailsToBind) {
  const PodBuilder pod = MakePod("p");
  const struct {
    const char* name;
    std::function<void(World&)> then;
    Lines want;
  } cases[] = {
      {"not bound",
       [&](World& world) { world.AnswerRead(world.Object(pod)); },
       {"status p SchedulerError: no license", "Warning FailedScheduling p: no license"}},
      {"bound all the same",
       [&](World& world) { world.AnswerRead(world.Object(PodBuilder(pod).Node("a"))); },
       {"Normal Scheduled p: Successfully assigned default/p to a"}},
      {"bound to another node", [&](World& world) { world.AnswerRead(world.Object(PodBuilder(pod).Node("b"))); }, {}},
      {"gone", [&](World& world) { world.AnswerRead(nullptr); }, {}},
      {"seen bound by the watch",
       [&](World& world) { world.Set(PodBuilder(pod).Node("a")); },
       {"Normal Scheduled p: Successfully assigned default/p to a"}},
  };
  for (const auto& c : cases) {
    World world({Binder("x")});
    world.Set(MakeNode("a"));
    world.Set(MakeNode("b").Unschedulable());
    world.Set(pod);
    world.Run();
    ASSERT_EQ(world.Take(), (Lines{"ask 0 bind p: a"})) << c.name;
    world.Break("no license");
    world.Run();
    ASSERT_EQ(world.Take(), (Lines{"read p"})) << c.name;
    EXPECT_EQ(world.core.cache().assumed_count(), 1U) << c.name << ": the room stays taken until it is known";
    c.then(world);
    EXPECT_EQ(world.Take(), c.want) << c.name;
    EXPECT_EQ(world.core.binding_count(), 0U) << c.name;
  }
}

TEST(ExtenderCycleTest, AnIgnorableBinderThatFailsLeavesItToThePlugins) {
  World world({Ignorable(Binder("x"))});
  world.Set(MakeNode("a"));
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 bind p: a"}));
  world.Break("down");
  EXPECT_EQ(world.Take(), (Lines{"bind p to a"}));
  world.Answer();
  EXPECT_EQ(world.Take(), (Lines{"Normal Scheduled p: Successfully assigned default/p to a"}));
}

TEST(ExtenderCycleTest, AnswersThatNobodyWaitsFor) {
  World world({Filter("x")});
  world.SetNodes();
  world.core.Handle(ExtenderDone{77, ExtenderAnswer{}}, world.now);
  world.Set(MakePod("p"));
  world.Run();
  world.Take();
  const std::uint64_t operation = world.asked.front();
  world.Left({"a"});
  world.core.Handle(ExtenderDone{operation, ExtenderAnswer{.node_names = {"b"}}}, world.now);
  EXPECT_EQ(world.Take(), (Lines{"bind p to a"}));
}

// Nodes that were not asked about, named twice or left out, in any order: the pod is bound to a node that every
// extender named.
TEST(ExtenderCycleTest, StrangeAnswers) {
  const struct {
    const char* name;
    ExtenderAnswer answer;
    const char* want;
  } cases[] = {
      {"twice", {.node_names = {"b", "b"}}, "bind p to b"},
      {"a node that it was not asked about", {.node_names = {"zzz", "c"}}, "bind p to c"},
      {"left and failed", {.node_names = {"b"}, .failed_nodes = {{"b", "no"}, {"zzz", "no"}}}, "bind p to b"},
  };
  for (const auto& c : cases) {
    World world({Filter("x")});
    world.SetNodes();
    world.Set(MakePod("p"));
    world.Run();
    world.Take();
    world.Reply(c.answer);
    EXPECT_EQ(world.Take(), (Lines{c.want})) << c.name;
  }
}

}  // namespace
}  // namespace berth::scheduler
