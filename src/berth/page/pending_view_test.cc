// SPDX-License-Identifier: Apache-2.0
#include "berth/page/pending_view.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/page/live_pending.h"
#include "berth/whatif/pending_pods.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::page {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;
using whatif::kNow;

testing::PodBuilder Waiting(const std::string& app, const std::string& name, int for_minutes) {
  return whatif::RunningPod(app, name, "").Created(kNow - minutes(for_minutes));
}

std::shared_ptr<const api::Pod> Built(const testing::PodBuilder& pod) {
  return std::make_shared<const api::Pod>(pod.Build());
}

TEST(PendingViewTest, ReasonsInAMessage) {
  struct Case {
    std::string message;
    std::vector<Reason> want;
  };
  const std::vector<Case> cases = {
      {"0/5 nodes are available: 3 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption: 0/5 nodes are "
       "available: 5 No preemption victims found for incoming pod.",
       {{"", "Insufficient cpu", 3}, {"", "node(s) had untolerated taint(s)", 2}}},
      {"0/1 nodes are available: 1 node(s) didn't match, or so.", {{"", "node(s) didn't match, or so", 1}}},
      {"0/1 nodes are available: 1 Insufficient cpu.", {{"", "Insufficient cpu", 1}}},
      {"0/3 nodes are available: persistentvolumeclaim \"x\" not found.", {}},
      {"0/3 nodes are available: 3.", {}},
      {"0/3 nodes are available: ", {}},
      {"", {}},
  };
  for (const Case& one : cases) EXPECT_EQ(ReasonsIn(one.message), one.want) << one.message;
}

TEST(PendingViewTest, FoldsByOwnerAndReasonWhateverTheNumbers) {
  const api::Pod web1 = Waiting("web", "web-1", 5).Build();
  const api::Pod web2 = Waiting("web", "web-2", 9).Build();
  const api::Pod web3 = Waiting("web", "web-3", 1).Build();
  const api::Pod db = Waiting("db", "db-1", 7).Build();
  const PendingView view = Fold({
      {.pod = &web1,
       .state = "Refused",
       .reasons = {{"Fit", "Insufficient cpu", 3}},
       .attempts = 4,
       .queue = QueueCounts{.unschedulable = 1},
       .waits_for = {"NodeAdd"}},
      {.pod = &web2,
       .state = "Refused",
       .message = "0/5",
       .reasons = {{"Fit", "Insufficient cpu", 5}},
       .nodes = 5,
       .attempts = 2,
       .queue = QueueCounts{.backoff = 1},
       .waits_for = {"AssignedPodDelete", "NodeAdd"}},
      {.pod = &web3, .state = "Refused", .reasons = {{"Fit", "Insufficient memory", 5}}},
      {.pod = &db, .state = "Gated", .message = "waits"},
  });
  ASSERT_EQ(view.classes.size(), 3U);
  const PendingClass& first = view.classes[0];
  EXPECT_EQ(first.sample, "web-2") << "the one that waits longest";
  EXPECT_EQ(first.oldest, kNow - minutes(9));
  EXPECT_EQ(first.count, 2U);
  EXPECT_EQ(first.reasons.front().nodes, 5U);
  EXPECT_EQ(first.attempts, 4);
  EXPECT_EQ(first.queue->backoff, 1U);
  EXPECT_EQ(first.queue->unschedulable, 1U);
  EXPECT_THAT(first.waits_for, ElementsAre("AssignedPodDelete", "NodeAdd"));
  EXPECT_EQ(view.classes[1].owner.name, "db");
  EXPECT_EQ(view.classes[2].sample, "web-3");
  EXPECT_NE(first.Id(), view.classes[2].Id()) << "another reason";
  const codec::json::object json = PendingJson(view);
  EXPECT_EQ(codec::WriteJson(json.at("summary")),
            R"([{"plugin":"Fit","text":"Insufficient cpu","pods":2,"owners":1},)"
            R"({"plugin":"","text":"waits","pods":1,"owners":1},)"
            R"({"plugin":"Fit","text":"Insufficient memory","pods":1,"owners":1}])");
}

TEST(PendingViewTest, IdStaysAsLongAsReasonsDo) {
  const api::Pod pod = Waiting("web", "web-1", 5).Build();
  const auto id = [&](std::vector<Reason> reasons) {
    return Fold({{.pod = &pod, .state = "Refused", .reasons = std::move(reasons)}}).classes.front().Id();
  };
  EXPECT_EQ(id({{"A", "x", 1}, {"B", "y", 2}}), id({{"B", "y", 7}, {"A", "x", 1}}));
  EXPECT_NE(id({{"A", "x", 1}}), id({{"B", "x", 1}}));
}

TEST(PendingViewTest, ClassesAreBoundedAndCounted) {
  std::vector<api::Pod> pods;
  for (std::size_t i = 0; i < PendingView::kClassesMax + 3; ++i) {
    std::string name = "p" + std::to_string(i);
    pods.push_back(MakePod(name).Build());
  }
  std::vector<WaitingPod> waiting;
  for (const api::Pod& pod : pods) waiting.push_back({.pod = &pod});
  const PendingView view = Fold(waiting);
  EXPECT_EQ(view.classes.size(), PendingView::kClassesMax);
  EXPECT_EQ(view.not_looked_at, 3U);
  EXPECT_EQ(view.pods, PendingView::kClassesMax + 3);
}

TEST(PendingViewTest, OfAnEvaluationItHasPluginsAndEvents) {
  const whatif::ClusterState state =
      whatif::StateOf({MakeNode("a").Allocatable("cpu", "2"), MakeNode("b").Allocatable("cpu", "2").Unschedulable()},
                      {Waiting("web", "web-1", 5).Request("cpu", "4"), Waiting("web", "web-2", 90).Request("cpu", "4"),
                       Waiting("odd", "odd-1", 1).SchedulerName("volcano")});
  const auto cluster = whatif::ClusterOf(state);
  const PendingView view = FromEvaluation(whatif::FindPendingPods(*cluster, state, ""), state, kNow);
  ASSERT_EQ(view.classes.size(), 2U);
  const PendingClass& web = view.classes[0];
  EXPECT_EQ(web.sample, "web-2");
  EXPECT_EQ(web.oldest, kNow - minutes(90));
  EXPECT_EQ(web.state, "Refused");
  EXPECT_THAT(web.reasons, ElementsAre(Reason{"NodeResourcesFit", "Insufficient cpu", 1},
                                       Reason{"NodeUnschedulable", "node(s) were unschedulable", 1}));
  EXPECT_THAT(web.message, ::testing::StartsWith("0/2 nodes are available: "));
  EXPECT_THAT(web.waits_for, ::testing::Contains("NodeAdd"));
  EXPECT_EQ(view.classes[1].state, "Waits");
  EXPECT_EQ(view.classes[1].scheduler, "volcano");
}

TEST(LivePendingTest, FromDecisionsQueueAndConditions) {
  FleetCopy fleet;
  fleet.pods = {
      Built(Waiting("a", "a-1", 9)),
      Built(Waiting("b", "b-1", 8)
                .Condition({"PodScheduled", "False", "Unschedulable", "0/5 nodes are available: 5 Insufficient cpu."})),
      Built(Waiting("c", "c-1", 7)),
      Built(Waiting("d", "d-1", 6).SchedulerName("other")),
      Built(Waiting("e", "e-1", 5).Gate("later")),
      Built(Waiting("f", "f-1", 4)),
      Built(Waiting("i", "i-1", 2)),
      Built(whatif::RunningPod("g", "g-1", "n1")),
      Built(Waiting("h", "h-1", 3).Deleted(kNow))};
  DecisionFeed feed;
  scheduler::Decision refused;
  refused.pod_uid = "uid-default-a-1";
  refused.attempt = 3;
  refused.node_count = 5;
  refused.message = "0/5 nodes are available: 5 Insufficient memory.";
  refused.refusals.emplace_back(framework::Status::Unschedulable("Insufficient memory").WithPlugin("NodeResourcesFit"),
                                5);
  feed.Note(refused, kNow);
  StringHashMap<CoreLook::Standing> standings;
  standings["uid-default-a-1"] = {QueueCounts{.unschedulable = 1}, kNow, "", {"NodeAdd"}};
  standings["uid-default-f-1"] = {QueueCounts{.gated = 1}, std::nullopt, "its group is not there", {}};
  standings["uid-default-i-1"] = {
      QueueCounts{.permit = 1}, std::nullopt, "has n1, and waits for Permit plugins: Room", {}};
  const std::vector<WaitingPod> waiting = WaitingPods(fleet, &standings, feed, {"default-scheduler"});
  ASSERT_EQ(waiting.size(), 7U);
  EXPECT_THAT(waiting[0].reasons, ElementsAre(Reason{"NodeResourcesFit", "Insufficient memory", 5}));
  EXPECT_EQ(waiting[0].attempts, 3);
  EXPECT_EQ(waiting[0].queue->unschedulable, 1U);
  EXPECT_THAT(waiting[0].waits_for, ElementsAre("NodeAdd"));
  EXPECT_EQ(waiting[1].state, "Refused");
  EXPECT_THAT(waiting[1].reasons, ElementsAre(Reason{"", "Insufficient cpu", 5})) << "of its condition";
  EXPECT_EQ(waiting[2].state, "Undecided");
  EXPECT_EQ(waiting[3].state, "Waits");
  EXPECT_EQ(waiting[4].state, "Gated");
  EXPECT_EQ(waiting[5].message, "its group is not there");
  EXPECT_EQ(waiting[6].state, "Waits");
  EXPECT_EQ(waiting[6].message, "has n1, and waits for Permit plugins: Room");
  EXPECT_FALSE(WaitingPods(fleet, nullptr, feed, {"default-scheduler"})[0].queue.has_value());
}

}  // namespace
}  // namespace berth::page
