// SPDX-License-Identifier: Apache-2.0
// The scheduling cycle and the effect of the API server's objects on it, from a new pod to its decision and the
// decision log.
#include "berth/core/scheduler/scheduler.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/framework/fast_path.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;

// The message of a pod that asks for more CPU than any node has free or in total.
std::string NoCpu(int total, const std::string& preemption = "Preemption is not helpful for scheduling.") {
  const std::string n = std::to_string(total);
  return "0/" + n + " nodes are available: " + n + " Insufficient cpu. no new claims to deallocate, preemption: 0/" +
         n + " nodes are available: " + n + " " + preemption;
}

Lines Failed(const std::string& pod, const std::string& message) {
  return {"status " + pod + " Unschedulable: " + message, "Warning FailedScheduling " + pod + ": " + message};
}

TEST(Scheduler, NoNodes) {
  Harness h;
  h.Set(MakePod("p"));
  h.Run();
  EXPECT_EQ(h.Take(), Failed("p", "no nodes available to schedule pods"));
  EXPECT_EQ(h.core.queue().Find("uid-default-p")->place, queue::Place::kErrorBackoff);
  h.Set(MakeNode("a"));
  h.Run(2s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST(Scheduler, AnUnschedulablePodIsBoundAfterAFittingNodeAppears) {
  Harness h;
  const auto pod = MakePod("p").Request("cpu", "8");
  h.Set(MakeNode("a"));
  h.Set(pod);
  h.Run();
  EXPECT_EQ(h.Take(), Failed("p", NoCpu(1)));
  // Another node that is too small wakes no pod.
  h.Set(MakeNode("b"));
  h.Run(20s);
  EXPECT_TRUE(h.Take().empty());
  EXPECT_EQ(h.core.counts().cycles, 1u);
  h.Set(MakeNode("c").Allocatable("cpu", "16"));
  h.Run();
  EXPECT_EQ(h.Take(), Lines{"bind p to c"});
}

TEST(Scheduler, RoomThatAPodLeavesIsUsed) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakePod("old").Request("cpu", "3").Node("a"));
  h.Set(MakePod("p").Request("cpu", "2"));
  h.Run();
  EXPECT_EQ(h.Take().size(), 2u);
  h.Remove(MakePod("old").Node("a"));
  h.Run(2s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST(Scheduler, ATerminalPodTakesNoRoom) {
  Harness h;
  h.Set(MakeNode("a"));
  auto old = std::make_shared<api::Pod>(MakePod("old").Request("cpu", "3").Node("a").Build());
  h.core.Handle(PodSet{old}, h.now);
  h.Set(MakePod("p").Request("cpu", "2"));
  h.Run();
  EXPECT_EQ(h.Take().size(), 2u);
  auto done = std::make_shared<api::Pod>(*old);
  done->status.phase = api::PodPhase::kSucceeded;
  h.core.Handle(PodSet{done}, h.now);
  h.Run(2s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  EXPECT_EQ(h.core.cache().pod_count(), 1u);
  // A pending pod that has failed is ignored as well.
  auto failed = std::make_shared<api::Pod>(MakePod("q").Build());
  failed->status.phase = api::PodPhase::kFailed;
  h.core.Handle(PodSet{failed}, h.now);
  h.Run();
  EXPECT_TRUE(h.Take().empty());
}

TEST(Scheduler, NothingIsWrittenWhenNothingChanges) {
  Harness h;
  h.Set(MakeNode("a"));
  const auto pod = MakePod("p").Request("cpu", "8");
  h.Set(pod);
  h.Run();
  EXPECT_EQ(h.Take(), Failed("p", NoCpu(1)));
  // The watch shows the condition; then the same attempt is repeated.
  auto written = pod;
  written.Condition({"PodScheduled", "False", "Unschedulable", NoCpu(1)});
  h.Set(written);
  h.Set(MakeNode("a").Allocatable("cpu", "5"));
  h.Set(MakeNode("a").Allocatable("cpu", "7"));
  h.Run(6min);  // the flush tries the pod again
  EXPECT_GE(h.core.counts().cycles, 2u);
  const Lines lines = h.Take();
  ASSERT_FALSE(lines.empty());
  for (const std::string& line : lines) EXPECT_EQ(line, "Warning FailedScheduling p: " + NoCpu(1));
  // A different message is written, without a transition time.
  h.Set(MakeNode("b"));
  h.Run(6min);
  EXPECT_EQ(h.Take().front(), "status p Unschedulable: " + NoCpu(2));
}

// A write may hang behind a webhook while the pod is tried again: its content must not remain.
TEST(Scheduler, WhatTheObjectSaysMayBeOlderThanTheLastWrite) {
  Harness h;
  h.Set(MakeNode("a"));
  auto pod = MakePod("p").Request("cpu", "8");
  h.Set(pod);
  h.Run();
  pod.Condition({"PodScheduled", "False", "Unschedulable", NoCpu(1)});
  h.Set(pod);
  h.Set(MakeNode("a").Allocatable("cpu", "8"));
  h.Run(2s);
  EXPECT_EQ(h.Take().back(), "bind p to a");
  h.Answer(Error{ErrorCode::kInvalid, "no"});
  EXPECT_TRUE(h.Take().front().starts_with("status p SchedulerError: "));
  h.Set(MakeNode("a"));
  h.Run(6min);
  EXPECT_EQ(h.Take().front(), "status p Unschedulable: " + NoCpu(1));
}

// A write whose answer was given up for lost may be executed after the write that followed it.
TEST(Scheduler, AConditionThatAnOlderWriteReplacesIsWrittenAgain) {
  Harness h;
  h.Set(MakeNode("a"));
  const auto pod = MakePod("p").Request("cpu", "8");
  auto written = pod, older = pod, newest = pod;
  written.Condition({"PodScheduled", "False", "Unschedulable", NoCpu(1)});
  older.Condition({"PodScheduled", "False", "SchedulerError", "the API server is away"});
  newest.Condition({"PodScheduled", "True", "", ""});
  h.Set(pod);
  h.Run();
  EXPECT_EQ(h.Take(), Failed("p", NoCpu(1)));
  h.Set(older);
  h.Run();
  EXPECT_TRUE(h.Take().empty()) << "what was written last is still to come";
  h.Set(written);
  h.Run();
  EXPECT_TRUE(h.Take().empty());
  h.Set(older);
  h.Run();
  EXPECT_EQ(h.Take(), Lines{"status p Unschedulable: " + NoCpu(1)});
  // Somebody overwrites the condition again: the next attempt rewrites it.
  h.Set(written);
  h.Set(older);
  h.Run();
  EXPECT_TRUE(h.Take().empty());
  h.Run(6min);
  EXPECT_EQ(h.Take().front(), "status p Unschedulable: " + NoCpu(1));
  h.Set(written);
  h.Set(newest);
  h.Run();
  EXPECT_TRUE(h.Take().empty()) << "no older write says so";
  // The older write may come from the previous process; this one found the condition as it would have written it.
  Harness next;
  next.Set(MakeNode("a"));
  next.Set(written);
  next.Run();
  EXPECT_EQ(next.Take(), Lines{"Warning FailedScheduling p: " + NoCpu(1)});
  next.Set(older);
  next.Run();
  EXPECT_EQ(next.Take(), Lines{"status p Unschedulable: " + NoCpu(1)});
}

// A nomination by somebody else keeps room from other pods: it is taken, or given back.
TEST(Scheduler, ANominationBySomebodyElseIsTriedAtOnce) {
  Harness h;
  h.Set(MakeNode("a"));
  const auto pod = MakePod("p").Request("cpu", "8");
  auto nominated = pod;
  nominated.Nominated("a");
  h.Set(pod);
  h.Set(MakePod("q").Request("cpu", "4").Gate("later"));
  h.Run();
  h.Take();
  h.Set(nominated);
  h.Set(MakePod("q").Request("cpu", "4"));
  h.Run(5s);
  Lines lines = h.Take();
  EXPECT_EQ(std::ranges::count(lines, "status p Unschedulable: " + NoCpu(1) + " nominates "), 1);
  h.Set(pod);
  h.Run(5s);
  lines = h.Take();
  EXPECT_EQ(std::ranges::count(lines, "bind q to a"), 1) << "before the unschedulable flush";
}

// The same for a nomination: a delayed write must not restore a nomination that was given up.
TEST(Scheduler, ANominationThatTheObjectNeverHadIsClearedAllTheSame) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakePod("v").Request("cpu", "3").Node("a"));
  h.Set(MakePod("p").Request("cpu", "4").Priority(10));
  h.Run();
  EXPECT_TRUE(h.Take().front().ends_with(" nominates a"));
  h.Answer(Error{ErrorCode::kForbidden, "no"});
  h.Take();
  h.Set(MakeNode("a").Unschedulable());
  h.Run(10s);
  const Lines lines = h.Take();
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines.front().starts_with("status p Unschedulable: ")) << lines.front();
  EXPECT_TRUE(lines.front().ends_with(" nominates ")) << lines.front();
  // The nomination is cleared once only.
  h.Set(MakeNode("a").Unschedulable().Label("changed", "yes"));
  h.Run(6min);
  for (const std::string& line : h.Take()) EXPECT_FALSE(line.ends_with(" nominates ")) << line;
}

TEST(Scheduler, ANominationIsClearedWhenNothingComesOfIt) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakePod("p").Request("cpu", "8").Nominated("a"));
  EXPECT_EQ(h.core.queue().nominator().NominatedNode("uid-default-p"), "a");
  h.Run();
  EXPECT_EQ(h.Take().front(), "status p Unschedulable: " + NoCpu(1) + " nominates ");
  EXPECT_TRUE(h.core.queue().nominator().empty());
}

TEST(Scheduler, ANominatedPodKeepsItsRoom) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakePod("big").Request("cpu", "3").Priority(10).Nominated("a").Gate("wait"));
  h.Set(MakePod("n").Request("cpu", "3").Priority(10).Nominated("a"));
  h.Set(MakePod("p").Request("cpu", "3"));
  h.Run();
  EXPECT_EQ(h.Take().front(), "bind n to a");
  EXPECT_TRUE(h.core.queue().nominator().empty());
}

TEST(Scheduler, NominatedNodeFirst) {
  Harness h;
  for (const char* name : {"a", "b", "c", "d"}) h.Set(MakeNode(name));
  for (int i = 0; i < 8; ++i) h.Set(MakePod("p" + std::to_string(i)).Nominated("c"));
  h.Run();
  for (const std::string& line : h.Take()) EXPECT_TRUE(line.ends_with("to c")) << line;
}

TEST(Scheduler, PodsThatAreBeingDeletedAreSkipped) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakePod("p").Deleted(h.now));
  h.Run();
  EXPECT_EQ(h.Take(), Lines{"Warning FailedScheduling p: skip schedule deleting pod: default/p"});
  EXPECT_TRUE(h.IsIdle());
  // Each cycle has its decision, including the first one.
  EXPECT_EQ(h.core.decisions().Newest().Why(), "skip schedule deleting pod: default/p");
}

TEST(Scheduler, ANominatedPodThatIsDeletedGivesItsRoomBack) {
  Harness h;
  h.Set(MakeNode("a"));
  auto nominated = MakePod("n").Request("cpu", "3").Priority(10).Nominated("a");
  h.Set(nominated.Deleted(h.now));
  h.Set(MakePod("p").Request("cpu", "3"));
  h.Run();
  // The pod was popped while it was being deleted, so that it is in no queue; its room is still kept.
  EXPECT_EQ(h.core.queue().Find("uid-default-p")->place, queue::Place::kUnschedulable);
  h.Take();
  h.Remove(nominated);
  h.Run(10s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST(Scheduler, PodsOfOtherSchedulersCountButAreNotScheduled) {
  Harness h;
  h.Set(MakeNode("a"));
  auto foreign = MakePod("f").SchedulerName("other").Request("cpu", "3");
  h.Set(foreign);
  h.Run();
  EXPECT_TRUE(h.Take().empty());
  EXPECT_TRUE(h.IsIdle());
  h.Set(foreign.Node("a"));
  h.Set(MakePod("p").Request("cpu", "2"));
  h.Run();
  EXPECT_EQ(h.Take(), Failed("p", NoCpu(1, "No preemption victims found for incoming pod.")));
  h.Remove(foreign);
  h.Run(2s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST(Scheduler, TwoProfiles) {
  auto profiles = DefaultProfiles({"default-scheduler", "second"});
  Lines calls;
  Enable(*profiles[1], std::make_shared<Actor>("OnlyInSecond", calls)).reserve = [](const framework::PodInfo&) {
    return framework::Status::Unschedulable("not here");
  };
  Harness h(std::move(profiles));
  h.Set(MakeNode("a"));
  h.Set(MakePod("p").SchedulerName(""));
  h.Run();
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  EXPECT_TRUE(calls.empty());
  h.Set(MakePod("q").SchedulerName("second"));
  h.Run();
  std::vector<Output> outputs;
  h.core.TakeOutputs(outputs);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(std::get<EmitEvent>(outputs[1]).reporting_controller, "second");
  EXPECT_EQ(std::get<EmitEvent>(outputs[1]).note, "0/1 nodes are available: 1 not here.");
}

TEST(Scheduler, GatesAreRemoved) {
  Harness h;
  h.Set(MakeNode("a"));
  auto pod = MakePod("p").Gate("wait");
  h.Set(pod);
  h.Run(1min);
  EXPECT_TRUE(h.Take().empty());
  EXPECT_EQ(h.core.queue().gated_count(), 1u);
  h.Set(MakePod("p"));
  h.Run();
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST(Scheduler, APodThatGoesLeavesNothing) {
  Harness h;
  h.Set(MakeNode("a"));
  const auto pod = MakePod("p").Request("cpu", "8").Nominated("a");
  h.Set(pod);
  h.Run();
  h.Remove(pod);
  h.Remove(pod);
  EXPECT_TRUE(h.IsIdle());
  EXPECT_TRUE(h.core.queue().nominator().empty());
  h.Take();
  h.Run(10min);
  EXPECT_TRUE(h.Take().empty());
}

TEST(Scheduler, ANewPodOfTheSameName) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakePod("p").Uid("one").Request("cpu", "8"));
  h.Run();
  h.Take();
  h.Set(MakePod("p").Uid("two"));
  h.Run();
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  EXPECT_EQ(h.core.queue().Find("one"), std::nullopt);
}

TEST(Scheduler, NodesThatChangeAndGo) {
  Harness h;
  h.Set(MakeNode("a").Unschedulable());
  h.Set(MakePod("p"));
  h.Run();
  EXPECT_EQ(h.Take().size(), 2u);
  h.Set(MakeNode("a"));
  h.Run(2s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  h.Answer();
  h.Take();
  h.RemoveNode("a");
  h.RemoveNode("a");
  h.Set(MakePod("q"));
  h.Run();
  EXPECT_EQ(h.Take(), Failed("q", "no nodes available to schedule pods"));
}

TEST(Scheduler, OneClusterIsDividedAmongManyPods) {
  Harness h;
  for (int i = 0; i < 10; ++i) h.Set(MakeNode("n" + std::to_string(i)));
  for (int i = 0; i < 50; ++i) h.Set(MakePod("p" + std::to_string(i)).Request("cpu", "1"));
  h.Run();
  EXPECT_EQ(h.core.binding_count(), 40u);
  for (const framework::NodeIndex row : h.core.cache().nodes().rows()) {
    EXPECT_EQ(h.core.cache().nodes().columns().requested_cpu_milli[row], 4000);
  }
  EXPECT_EQ(h.core.counts().unschedulable, 10u);
}

// Counts the calls of DropIdle.
class Hoarder final : public framework::FastFilter {
 public:
  std::string_view Name() const override { return "Hoarder"; }
  framework::Status Filter(const framework::Cycle&, const framework::PodInfo&,
                           const framework::NodeInfo&) const override {
    return {};
  }
  void DropIdle() override {
    ++drops;
    throw std::runtime_error("cannot let go");
  }
  int drops = 0;
};

TEST(Scheduler, LetsGoOfWhatPodsLeftBehind) {
  Profiles profiles = DefaultProfiles();
  const auto hoarder = std::make_shared<Hoarder>();
  profiles.front()->owned.push_back(hoarder);
  profiles.front()->filter.push_back(hoarder.get());
  Harness h(std::move(profiles));
  h.Set(MakeNode("a"));
  h.Run(1h);
  EXPECT_EQ(hoarder->drops, 0);
  h.Set(MakePod("p"));
  h.Run(4min);
  EXPECT_EQ(hoarder->drops, 0);
  // One call drops what was not used before this period, the next one what was used in it; then nothing is left.
  h.Run(7min);
  EXPECT_EQ(hoarder->drops, 2);
  h.Run(1h);
  EXPECT_EQ(hoarder->drops, 2);
}

TEST(Scheduler, TheSeedDecides) {
  const auto run = [](std::uint64_t seed) {
    Harness h(DefaultProfiles(), {.seed = seed});
    for (int i = 0; i < 20; ++i) h.Set(MakeNode("n" + std::to_string(i)));
    for (int i = 0; i < 20; ++i) h.Set(MakePod("p" + std::to_string(i)));
    h.Run();
    return h.Take();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

// ---- The decision log. ----

TEST(DecisionLog, SaysWhy) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakeNode("b"));
  h.Set(MakeNode("t").Taint("gpu", "", api::TaintEffect::kNoSchedule));
  h.Set(MakePod("p"));
  h.Run();
  const std::optional<Decision> decision = h.core.decisions().Find("uid-default-p");
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->cycle, h.core.decisions().Newest().cycle);
  EXPECT_EQ(decision->Why(), "best of 2 feasible nodes, score " + std::to_string(decision->total) +
                                 "; refused: 1 TaintToleration (node(s) had untolerated taint(s))");
  EXPECT_EQ(decision->node_count, 3u);
  EXPECT_EQ(decision->cycle, 1u);
  EXPECT_EQ(decision->attempt, 1);
  EXPECT_EQ(decision->time, h.now);

  h.Set(MakePod("only").NodeSelector("kubernetes.io/hostname", "b"));
  h.Run();
  EXPECT_EQ(h.core.decisions().Newest().Why().substr(0, 33), "the only feasible node of 3; refu");
  h.Set(MakePod("none").Request("cpu", "64"));
  h.Run();
  EXPECT_EQ(h.core.decisions().Newest().node_name, "");
  EXPECT_EQ(h.core.decisions().Newest().Why().substr(0, 26), "0/3 nodes are available: 1");
  EXPECT_EQ(h.core.decisions().Find("nobody"), std::nullopt);
  EXPECT_EQ(h.core.decisions().FindNamed("default", "nobody"), std::nullopt);
}

TEST(DecisionLog, SaysWhatDecidedWhereDetailIsAskedFor) {
  SchedulerOptions options = PatientOptions();
  options.evaluator.with_detail = true;
  Harness h(DefaultProfiles(), options);
  for (const char* name : {"a", "b", "c"}) h.Set(MakeNode(name));
  const auto place = [&](const testing::PodBuilder& pod) {
    h.Set(pod);
    h.Run();
    return h.core.decisions().Newest();
  };
  const Decision first = place(MakePod("p"));
  EXPECT_EQ(first.Why(), "best of 3 feasible nodes: equal to 2 others, chosen by chance");
  const Decision second = place(MakePod("q").Request("cpu", "1"));
  EXPECT_TRUE(second.Why().starts_with("best of 3 feasible nodes: equal to 1 other, chosen by chance; "))
      << second.Why();
  EXPECT_TRUE(second.reason.ends_with(" on " + first.node_name)) << second.Why();
  const Decision third = place(MakePod("r").Request("cpu", "1"));
  EXPECT_NE(third.reason, second.reason);
  EXPECT_EQ(third.reason.find("by chance"), std::string::npos) << third.reason;
  EXPECT_EQ(h.core.decisions().Find(second.pod_uid)->Why(), second.Why()) << "older ones keep it";

  for (const char* name : {"b", "c"}) h.RemoveNode(name);
  h.Set(MakeNode("t").Taint("old", "", api::TaintEffect::kPreferNoSchedule));
  EXPECT_EQ(place(MakePod("s")).Why(), "best of 2 feasible nodes: TaintToleration scores 100 here, 0 on t");
  EXPECT_EQ(place(MakePod("only").NodeSelector("kubernetes.io/hostname", "a")).Why().substr(0, 32),
            "the only feasible node of 2; ref");
}

TEST(DecisionLog, KeepsTheNewest) {
  DecisionLog log(3);
  EXPECT_EQ(log.Find("u"), std::nullopt);
  for (std::uint64_t i = 1; i <= 8; ++i) {
    Decision& decision = log.Append();
    EXPECT_EQ(decision.message, "");
    decision.cycle = i;
    decision.message = "set " + std::to_string(i);
    decision.pod_uid = i % 2 == 0 ? "even" : "odd";
    decision.pod_namespace = "ns";
    decision.pod_name = "p";
    EXPECT_EQ(log.Newest().cycle, i);
    EXPECT_EQ(log.size(), std::min<std::uint64_t>(i, 3));
  }
  EXPECT_EQ(log.Find("even")->cycle, 8u);
  EXPECT_EQ(log.Find("odd")->cycle, 7u);
  EXPECT_EQ(log.FindNamed("ns", "p")->cycle, 8u);
  EXPECT_EQ(log.FindNamed("p", "ns"), std::nullopt);
  const auto messages = log.Messages();
  EXPECT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages.at("even"), "set 8");
  EXPECT_EQ(messages.at("odd"), "set 7");
}

TEST(DecisionLog, AnOlderOneIsTheSame) {
  DecisionLog log(2);
  Decision& decision = log.Append();
  decision.cycle = 1;
  decision.seed = 2;
  decision.time = Time(std::chrono::seconds(3));
  decision.attempt = 4;
  decision.pod_namespace = "namespace";
  decision.pod_name = "pod";
  decision.pod_uid = "uid";
  decision.node_name = "node";
  decision.total = -5;
  decision.node_count = 6;
  decision.feasible_count = 7;
  decision.refusals.emplace_back(framework::Status::Unschedulable("reason"), 8);
  decision.message = "message";
  decision.reason = "the best";
  log.Append();
  const std::optional<Decision> found = log.Find("uid");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cycle, 1u);
  EXPECT_EQ(found->seed, 2u);
  EXPECT_EQ(found->time, Time(std::chrono::seconds(3)));
  EXPECT_EQ(found->attempt, 4);
  EXPECT_EQ(found->PodKey(), "namespace/pod");
  EXPECT_EQ(found->pod_uid, "uid");
  EXPECT_EQ(found->node_name, "node");
  EXPECT_EQ(found->total, -5);
  EXPECT_EQ(found->node_count, 6u);
  EXPECT_EQ(found->feasible_count, 7u);
  ASSERT_EQ(found->refusals.size(), 1u);
  EXPECT_EQ(found->refusals[0].first.Message(), "reason");
  EXPECT_EQ(found->refusals[0].second, 8u);
  EXPECT_EQ(found->message, "message");
  EXPECT_EQ(found->reason, "the best");
  log.Append();
  EXPECT_EQ(log.Find("uid"), std::nullopt);
}

TEST(DecisionLog, TextsOfAnyLengthFollowEachOther) {
  DecisionLog log(3);
  const auto text = [](std::size_t i, char letter) { return std::string(i * 7 % 40, letter); };
  for (std::size_t i = 0; i < 100; ++i) {
    Decision& decision = log.Append();
    EXPECT_EQ(decision.PodKey(), "/");
    decision.pod_uid = "u" + std::to_string(i);
    decision.pod_name = text(i, 'p');
    decision.node_name = text(i + 1, 'n');
    decision.message = text(i + 2, 'm');
    decision.reason = text(i + 3, 'r');
    if (i % 3 == 0) decision.refusals.emplace_back(framework::Status::Unschedulable("reason"), i);
    for (std::size_t k = i < 2 ? 0 : i - 2; k <= i; ++k) {
      const std::optional<Decision> found = log.Find("u" + std::to_string(k));
      ASSERT_TRUE(found) << i;
      EXPECT_EQ(found->pod_name, text(k, 'p')) << i;
      EXPECT_EQ(found->node_name, text(k + 1, 'n')) << i;
      EXPECT_EQ(found->message, text(k + 2, 'm')) << i;
      EXPECT_EQ(found->reason, text(k + 3, 'r')) << i;
      EXPECT_EQ(found->refusals.size(), k % 3 == 0 ? 1U : 0U) << i;
    }
  }
}

TEST(DecisionLog, LongTextsAreKeptForTheNewestAlone) {
  DecisionLog log(3);
  Decision& large = log.Append();
  large.pod_uid = "large";
  large.message = std::string(1'000'000, 'x');
  large.refusals.emplace_back(framework::Status::Unschedulable(std::string(1'000'000, 'y')), 5);
  EXPECT_EQ(log.Newest().TextBytes(), 2'000'000U + sizeof(std::string));
  log.Append();
  EXPECT_EQ(log.Find("large")->message, std::string(DecisionLog::kTextBytesMax, 'x'));
  EXPECT_TRUE(log.Find("large")->refusals.empty());
}

TEST(DecisionLog, HoldsAtLeastOne) {
  DecisionLog log(0);
  log.Append().cycle = 5;
  log.Append().cycle = 6;
  EXPECT_EQ(log.Newest().cycle, 6u);
  EXPECT_EQ(log.size(), 1u);
}

}  // namespace
}  // namespace berth::scheduler
