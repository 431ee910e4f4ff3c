// SPDX-License-Identifier: Apache-2.0
// What a running core says of its pods: what it keeps, and for all else what `berth explain` says of the same cluster.
#include "berth/whatif/live_explanation.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/answers/explanation_json.h"
#include "berth/answers/explanation_text.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::ExplanationLines, answers::ExplanationJson, answers::ExplanationStyle, answers::ParseExplanation,
    answers::NodesInJson;
using runtime::Dice;
using scheduler::Harness;
using testing::MakeNode;
using testing::MakePod;
using Texts = std::vector<std::string>;

constexpr Duration kWallAhead = std::chrono::hours(2);

Expected<Explanation> Ask(Harness& h, const std::string& name, const std::string& namespace_name = "default") {
  return ExplainLive(h.core, {namespace_name, name, h.now, kWallAhead}, {});
}

// Without what only a running core knows.
std::string JsonWithoutLive(Explanation said) {
  said.live.reset();
  return codec::WriteJson(ExplanationJson(said));
}

class SameCluster : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SameCluster, SaysWhatTheCommandSays) {
  Dice dice(GetParam());
  std::vector<testing::NodeBuilder> nodes;
  std::vector<testing::PodBuilder> pods;
  Harness h;
  for (int n = 0; n < 8; ++n) nodes.push_back(runtime::RandomNode(dice, "n" + std::to_string(n)));
  for (int p = 0; p < 14; ++p) {
    testing::PodBuilder pod = runtime::RandomPod(dice, "p" + std::to_string(p));
    if (p < 8) pod.Node("n" + std::to_string(dice.Below(8)));
    if (p == 9) pod.Gate("example.com/quota");
    if (p == 10) pod.Request("cpu", "900");
    pods.push_back(pod);
  }
  const ClusterState state = StateOf(nodes, pods);
  for (const auto& node : nodes) h.Set(node);
  for (const auto& pod : state.pods) h.core.Handle(scheduler::PodSet{pod}, h.now);
  for (const auto& pod : state.pods) {
    const auto cluster = ClusterOf(state);
    const auto offline = ExplainPod(*cluster, state, pod->metadata.namespace_name, pod->metadata.name);
    const auto live = Ask(h, pod->metadata.name, pod->metadata.namespace_name);
    ASSERT_TRUE(offline.ok() && live.ok()) << pod->metadata.name;
    EXPECT_EQ(JsonWithoutLive(*live), JsonWithoutLive(*offline)) << "seed " << GetParam();
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, SameCluster, ::testing::Range<std::uint64_t>(1, 30));

TEST(LiveExplanation, ADecisionIsKeptAsItWasMade) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  h.Set(MakeNode("b").Allocatable("cpu", "1").Taint("gpu", "", api::TaintEffect::kNoSchedule));
  h.Set(MakePod("p").Request("cpu", "2"));
  auto said = Ask(h, "p");
  ASSERT_TRUE(said.ok());
  EXPECT_FALSE(said->live->decision) << "it has not been tried";
  EXPECT_EQ(said->live->queue->place, queue::Place::kActive);

  h.Run();
  const Time decided_at = h.now + kWallAhead;
  const scheduler::Decision decision = h.core.decisions().Newest();
  h.Set(MakeNode("a").Allocatable("cpu", "3"));
  h.now += std::chrono::seconds(3);
  said = Ask(h, "p");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->state, PodState::kFits) << "what would be decided now";
  EXPECT_EQ(said->node, "a");
  ASSERT_TRUE(said->live->decision);
  const scheduler::Decision& kept = *said->live->decision;
  EXPECT_EQ(kept.time, decided_at);
  EXPECT_EQ(said->live->asked_at, decided_at + std::chrono::seconds(3));
  EXPECT_EQ(kept.seed, decision.seed);
  EXPECT_NE(kept.seed, 0U);
  EXPECT_EQ(kept.attempt, 1);
  EXPECT_EQ(kept.cycle, 1U);
  EXPECT_EQ(kept.node_name, "");
  EXPECT_EQ(kept.node_count, 2U);
  EXPECT_EQ(kept.feasible_count, 0U);
  EXPECT_TRUE(kept.message.starts_with("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated"))
      << kept.message;
  ASSERT_EQ(kept.refusals.size(), 2U);
  EXPECT_EQ(kept.refusals[0].second + kept.refusals[1].second, 2U);

  std::string text;
  for (const std::string& line : ExplanationLines(*said, {})) text += line + "\n";
  EXPECT_NE(text.find("Decided:    3s ago, attempt 1, seed " + std::to_string(decision.seed) + ": 0/2 nodes"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Now:        all that follows was found anew at "), std::string::npos) << text;
  EXPECT_NE(text.find("Fits:       1 of 2 nodes; it would go to a"), std::string::npos) << text;
}

TEST(LiveExplanation, TheQueueSaysWhereItWaitsAndForWhat) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  h.Set(MakePod("p").Request("cpu", "2"));
  h.Set(MakePod("gated").Gate("example.com/quota"));
  h.Run();
  auto said = Ask(h, "p");
  ASSERT_TRUE(said.ok() && said->live->queue);
  EXPECT_EQ(said->live->queue->place, queue::Place::kUnschedulable);
  EXPECT_EQ(said->live->queue->refused_by, Texts{"NodeResourcesFit"});
  EXPECT_EQ(said->live->queue->woken_by, said->woken_by);
  EXPECT_FALSE(said->live->queue->woken_by.empty());

  // An event that may help: it backs off for a second after its attempt.
  h.Set(MakeNode("b").Allocatable("cpu", "2"));
  said = Ask(h, "p");
  ASSERT_TRUE(said.ok() && said->live->queue);
  EXPECT_EQ(said->live->queue->place, queue::Place::kBackoff);
  EXPECT_EQ(said->live->queue->backoff_until, h.now + kWallAhead + std::chrono::seconds(1));
  std::string text;
  for (const std::string& line : ExplanationLines(*said, {})) text += line + "\n";
  EXPECT_NE(text.find("Queue:      backing off until "), std::string::npos) << text;

  said = Ask(h, "gated");
  ASSERT_TRUE(said.ok() && said->live->queue);
  EXPECT_EQ(said->state, PodState::kGated);
  EXPECT_EQ(said->live->queue->place, queue::Place::kGated);
  EXPECT_FALSE(said->live->decision);
}

TEST(LiveExplanation, OfAPodThatIsBeingBoundAndOneThatIs) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "4"));
  h.Set(MakeNode("b").Allocatable("cpu", "8"));
  h.Set(MakePod("p").Request("cpu", "2"));
  h.Set(MakePod("before").Request("cpu", "1").Node("a"));
  h.Run();
  auto said = Ask(h, "p");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->state, PodState::kPlaced);
  EXPECT_EQ(said->node, "b");
  EXPECT_EQ(said->rank, 1U);
  ASSERT_TRUE(said->live->decision);
  EXPECT_EQ(said->live->decision->node_name, "b");
  EXPECT_EQ(said->live->decision->total, h.core.decisions().Newest().total);
  // It was there before this scheduler began.
  said = Ask(h, "before");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->node, "a");
  EXPECT_FALSE(said->live->decision);
  EXPECT_FALSE(said->live->queue);
  EXPECT_EQ(said->live->decisions_max, 4096U);
  std::string text;
  for (const std::string& line : ExplanationLines(*said, {})) text += line + "\n";
  EXPECT_NE(text.find("Decided:    not kept: the scheduler keeps its newest 4096 decisions"), std::string::npos)
      << text;
}

TEST(LiveExplanation, NoSuchPodNamesTheNearest) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(MakePod("waiting-1").Request("cpu", "900"));
  h.Set(MakePod("placed-1").Node("a"));
  h.Set(MakePod("other").Namespace("shop").Node("a"));
  h.Run();
  const auto why = [&](const std::string& name, const std::string& namespace_name = "default") {
    const auto said = Ask(h, name, namespace_name);
    EXPECT_FALSE(said.ok());
    EXPECT_EQ(said.error().code, ErrorCode::kNotFound);
    return said.error().message;
  };
  EXPECT_EQ(why("waiting-2"), R"(there is no pod "waiting-2" in namespace "default"; did you mean "waiting-1"?)");
  EXPECT_EQ(why("place-1"), R"(there is no pod "place-1" in namespace "default"; did you mean "placed-1"?)");
  EXPECT_EQ(why("other"), R"(there is no pod "other" in namespace "default"; there is one in namespace "shop")");
  EXPECT_EQ(why("x", "nowhere"),
            R"(there is no pod "x" in namespace "nowhere", which has no pods that are not finished)");
}

TEST(LiveExplanation, IsTheSameAfterItWasWrittenAndRead) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "4").Taint("gpu", "", api::TaintEffect::kNoSchedule));
  h.Set(MakeNode("b").Allocatable("cpu", "2"));
  h.Set(MakeNode("c").Allocatable("cpu", "2"));
  h.Set(MakePod("small").Request("cpu", "1").Node("b"));
  h.Set(MakePod("large").Request("cpu", "3").Priority(5));
  h.Set(MakePod("gated").Gate("example.com/quota"));
  h.Run();
  h.Set(MakePod("fits").Request("cpu", "1"));
  for (const char* const name : {"small", "large", "gated", "fits"}) {
    auto said = Ask(h, name);
    ASSERT_TRUE(said.ok()) << name;
    said->left_out = {"something"};
    said->live->not_asked = {"somebody"};
    const codec::json::value json = ExplanationJson(*said);
    const auto read = ParseExplanation(*codec::ParseJson(codec::WriteJson(json)));
    ASSERT_TRUE(read.ok()) << name << ": " << read.error().message;
    EXPECT_EQ(codec::WriteJson(ExplanationJson(*read)), codec::WriteJson(json));
    for (const bool is_wide : {false, true}) {
      const ExplanationStyle style{.with_nodes = true, .is_wide = is_wide};
      EXPECT_EQ(ExplanationLines(*read, style), ExplanationLines(*said, style)) << name;
    }
  }
  EXPECT_EQ(ExplanationJson(*Ask(h, "large"), NodesInJson::kNone).as_object().contains("nodes"), false);
}

TEST(LiveExplanation, WhatIsNoExplanationIsReportedByItsField) {
  struct Case {
    std::string json;
    std::string problem;
  };
  const Case cases[] = {
      {"[]", "the answer should be an object"},
      {"{}", "state should be one of those that this version knows"},
      {R"({"state":"Happy"})", "state should be one of those that this version knows"},
      {R"({"state":"Fits","pod":7})", "pod should be a text"},
      {R"({"state":"Fits","nodeCount":"7"})", "nodeCount should be a number"},
      {R"({"state":"Fits","nodeCount":-7})", "nodeCount should be a number"},
      {R"({"state":"Fits","funnel":{}})", "funnel should be a list"},
      {R"({"state":"Fits","funnel":[1]})", "funnel[0] should be an object"},
      {R"({"state":"Fits","nodes":[{},{"refusals":[{"resolvable":"no"}]}]})",
       "nodes[1].refusals[0].resolvable should be true or false"},
      {R"({"state":"Fits","wokenBy":["a",null]})", "wokenBy[1] should be a text"},
      {R"({"state":"Fits","live":{"decision":{"time":"yesterday"}}})", "live.decision.time should be a time"},
      {R"({"state":"Fits","live":{"queue":{"place":"Bed"}}})",
       "live.queue.place should be one of those that this version knows"},
  };
  for (const Case& c : cases) {
    const auto read = ParseExplanation(*codec::ParseJson(c.json));
    ASSERT_FALSE(read.ok()) << c.json;
    EXPECT_EQ(read.error().message, c.problem) << c.json;
  }
  const auto least = ParseExplanation(*codec::ParseJson(R"({"state":"Refused","later":{"what":1}})"));
  ASSERT_TRUE(least.ok()) << "what is not known is from a newer version";
  EXPECT_FALSE(least->live || least->changes || least->preemption);
}

}  // namespace
}  // namespace berth::whatif
