// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/questions.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/ask/ask_testing.h"
#include "berth/ask/buy_question.h"
#include "berth/ask/question_kinds.h"
#include "berth/ask/rebalance_question.h"
#include "berth/ask/simulate_question.h"

namespace berth::ask {
namespace {

using ::testing::HasSubstr;
using testing::MakeNode;
using whatif::kNow;

whatif::ClusterState Shop() {
  whatif::ClusterState state =
      whatif::StateOf({MakeNode("a").Allocatable("cpu", "2").Allocatable("pods", "10"),
                       MakeNode("b").Allocatable("cpu", "2").Allocatable("pods", "10")},
                      {whatif::RunningPod("web", "web-1", "a").Request("cpu", "1"),
                       whatif::RunningPod("web", "web-2", "").Request("cpu", "4").Created(kNow)});
  for (std::size_t i = 0; i < state.pods.size(); ++i)
    state.pod_details.push_back(std::make_shared<const api::PodDetails>());
  state.admission.push_back(
      {"ResourceQuota", "full", "q",
       codec::json::parse(R"({"metadata":{"name":"q"},"status":{"hard":{"pods":"3"},"used":{"pods":"3"}}})")
           .as_object()});
  state.source = "shop";
  state.read_at = kNow;
  return state;
}

Expected<Reply> Ask(const std::string& question, const std::string& body, const AskLimits& limits = {}) {
  const whatif::ClusterState state = Shop();
  OnceCluster cluster(state, DefaultCore);
  return FindQuestion(question)->answer(codec::ParseJson(body)->as_object(), limits, cluster, {});
}

constexpr char kPod[] =
    R"("apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: c, image: i}]}\n")";

constexpr char kCatalogue[] = R"("shapes: [{name: large, cpu: 8, memory: 16Gi, pods: 20, price: 0.50}]")";

TEST(QuestionsTest, EachQuestionHasAnAnswerInJsonAndInText) {
  struct Case {
    std::string question;
    std::string body;
    Verdict verdict;
    std::string json;
    std::string text;
  };
  const Case cases[] = {
      {"explain", R"({"name":"web-2"})", Verdict::kNo, R"("state":"Refused")", "Insufficient cpu"},
      {"explain", R"({"name":"web-1","namespace":"default"})", Verdict::kYes, R"("state":"Placed")", "web-1"},
      {"explain", R"({"pending":true})", Verdict::kNo, "web", "web"},
      {"simulate", std::string(R"({"manifests":)") + kPod + "}", Verdict::kYes, R"("name":"new")", "Pod default/new"},
      {"simulate", R"({"removeNodes":["a","b"]})", Verdict::kNo, "web-1", "web"},
      {"simulate", R"({"replicas":[{"kind":"Deployment","namespace":"default","name":"web","add":1}]})", Verdict::kYes,
       "web-more-1", "Deployment default/web"},
      {"capacity", R"({"cpu":"1"})", Verdict::kYes, R"("fits":3)", "3"},
      {"capacity", R"({"cpu":"1","require":4})", Verdict::kNo, R"("fits":3)", "3"},
      {"can-drain", R"({"nodes":["a"]})", Verdict::kYes, "web-1", "can be drained"},
      {"headroom", R"({"losses":1})", Verdict::kYes, "workloads", "web"},
      {"rebalance-plan",
       R"({"policy":"apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: [{name: p}]\n"})",
       Verdict::kYes, R"("cluster")", ""},
      {"buy", std::string(R"({"pending":true,"catalogue":)") + kCatalogue + "}", Verdict::kYes, R"("large-new-1")",
       "Buy 1 node for 0.50 an hour"},
      {"buy", std::string(R"({"namespace":"full","manifests":)") + kPod + R"(,"catalogue":)" + kCatalogue + "}",
       Verdict::kNo, R"("reason":"exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")",
       "Pod full/new is refused by the API server"},
      {"buy", std::string(R"({"maxNodes":0,"spotShare":0.5,"catalogue":)") + kCatalogue + "}", Verdict::kNo,
       R"("left")", "stays pending"},
  };
  for (const Case& one : cases) {
    const auto reply = Ask(one.question, one.body);
    ASSERT_TRUE(reply.ok()) << one.question << one.body << ": " << reply.error().message;
    EXPECT_EQ(reply->verdict, one.verdict) << one.question << one.body;
    EXPECT_THAT(codec::WriteJson(reply->document), HasSubstr(one.json)) << one.question;
    EXPECT_THAT(reply->text({}), HasSubstr(one.text)) << one.question;
  }
}

TEST(QuestionsTest, SaysWhatIsWrongWithAQuestion) {
  struct Case {
    std::string question;
    std::string body;
    std::string message;
  };
  const Case cases[] = {
      {"explain", "{}", "name should name a pod"},
      {"explain", R"({"name":"x","pending":true})", "not both"},
      {"explain", R"({"pod":"x"})", "\"pod\" is no field of this question; it has namespace, name"},
      {"simulate", "{}", "nothing to simulate"},
      {"simulate", R"({"manifests":7})", "manifests should be a string"},
      {"simulate", R"({"manifests":"kind: ["})", "manifests"},
      {"simulate", R"({"files":[{"name":"web.yaml","text":"kind: ["}]})", "web.yaml"},
      {"simulate", R"({"addNodes":-1})", "addNodes should be a number from 0"},
      {"simulate", R"({"addNodes":1})", "nodeLike"},
      {"simulate", R"({"addNodes":1,"nodeLike":"z"})", "z"},
      {"simulate", R"({"removeNodes":["z"]})", "z"},
      {"simulate", R"({"removeNodes":"a"})", "removeNodes should be an array"},
      {"simulate", R"({"replicas":[{"kind":"Deployment","namespace":"default","name":"nix","add":1}]})", "default/nix"},
      {"simulate", R"({"replicas":[{"kind":"Deployment","namespace":"default","name":"web","add":10001}]})",
       "add should"},
      {"capacity", "{}", "what is to fit?"},
      {"capacity", R"({"cpu":"much"})", "\"much\" should be an amount"},
      {"capacity", R"({"cpu":"1","max":99999999999})", "max should be a number"},
      {"can-drain", R"({"nodes":[]})", "at least one node"},
      {"can-drain", R"({"nodes":["c"]})", "c: no such node"},
      {"can-drain", R"({"nodes":["a"],"force":1})", "force should be true or false"},
      {"headroom", R"({"namespace":"nix"})", "nix"},
      {"headroom", R"({"losses":21})", "losses should be a number from 0 to 20"},
      {"rebalance-plan", "{}", "policy should be the text"},
      {"rebalance-plan", R"({"policy":"kind: Pod"})", "policy"},
      {"buy", "{}", "catalogue should be the text of a catalogue"},
      {"buy", R"({"catalogue":"shapes: 3"})", "catalogue"},
      {"buy", R"({"catalogue":"shapes: [{name: a, cpu: 1, price: -1}]","catalogueName":"mine.yaml"})", "mine.yaml:1"},
      {"buy", R"({"catalogue":"x","spotShare":2})", "spotShare should be a number from 0 to 1"},
      {"buy", R"({"catalogue":"x","disruption":"all"})", "disruption should be a number from 0 to 1"},
      {"buy", R"({"catalogue":"x","effort":0})", "effort should be a number from 1 to 1000"},
      {"buy", R"({"catalogue":"x","placement":"mine"})", "placement should be scheduler or nominated"},
      {"buy", std::string(R"({"zones":["z"],"catalogue":)") + kCatalogue + "}", "z"},
  };
  for (const Case& one : cases) {
    const auto reply = Ask(one.question, one.body);
    ASSERT_FALSE(reply.ok()) << one.question << one.body;
    EXPECT_THAT(reply.error().message, HasSubstr(one.message)) << one.question << one.body;
    EXPECT_EQ(reply.error().code, ErrorCode::kInvalid) << one.question << one.body;
  }
}

TEST(QuestionsTest, AQuestionThatAsksForTooMuch) {
  const auto million = Ask(
      "simulate",
      R"({"manifests":"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1000000, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"})",
      {.added_pods_max = 100});
  ASSERT_FALSE(million.ok());
  EXPECT_EQ(million.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(million.error().message, HasSubstr("more than 100 pods"));
  const auto bought = Ask(
      "buy",
      std::string(
          R"({"manifests":"apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec: {parallelism: 101, completions: 101, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n","catalogue":)") +
          kCatalogue + "}",
      {.added_pods_max = 100});
  ASSERT_FALSE(bought.ok());
  EXPECT_EQ(bought.error().code, ErrorCode::kTooLarge) << bought.error().message;
  EXPECT_FALSE(Ask("simulate", R"({"addNodes":11,"nodeLike":"a"})", {.node_copies_max = 10}).ok());
  EXPECT_FALSE(Ask("capacity", R"({"cpu":"1","max":11})", {.capacity_max = 10}).ok());
}

TEST(QuestionsTest, WhatIsWrittenIsReadAgain) {
  SimulateQuestion simulate;
  simulate.files = {{"a.yaml", "x"}};
  simulate.add_nodes = 2;
  simulate.node_like = "a";
  simulate.remove_nodes = {"b"};
  simulate.replicas = {{{"Deployment", "default", "web"}, 3}};
  EXPECT_EQ(SimulateQuestion::Parse(simulate.ToJson())->ToJson(), simulate.ToJson());
  CapacityQuestion capacity;
  capacity.likes = {"web-1"};
  capacity.amounts.cpu = "1";
  capacity.amounts.requests = {"nvidia.com/gpu=1"};
  capacity.is_together = true;
  capacity.required = 4;
  EXPECT_EQ(CapacityQuestion::Parse(capacity.ToJson())->ToJson(), capacity.ToJson());
  const DrainQuestion drain{{"a"}, true};
  EXPECT_EQ(DrainQuestion::Parse(drain.ToJson())->ToJson(), drain.ToJson());
  const HeadroomQuestion headroom{"shop", 2, 1};
  EXPECT_EQ(HeadroomQuestion::Parse(headroom.ToJson())->ToJson(), headroom.ToJson());
  BuyQuestion buy;
  buy.files = {{"a.yaml", "x"}};
  buy.catalogue = "y";
  buy.nodes_max = 3;
  buy.zones = {"a"};
  buy.spot_share = 0.25;
  buy.placement = buy::Placement::kNominated;
  buy.takes_pending = buy.replaces = true;
  EXPECT_EQ(BuyQuestion::Parse(buy.ToJson())->ToJson(), buy.ToJson());
  const RebalanceQuestion plan{"kind: x", true};
  EXPECT_EQ(RebalanceQuestion::Parse(plan.ToJson())->ToJson(), plan.ToJson());
  const ExplainQuestion explain{"shop", "web-1", false, true};
  EXPECT_EQ(ExplainQuestion::Parse(explain.ToJson())->ToJson(), explain.ToJson());
}

}  // namespace
}  // namespace berth::ask
