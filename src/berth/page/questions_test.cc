// SPDX-License-Identifier: Apache-2.0
#include "berth/page/questions.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/ask/ask_testing.h"
#include "berth/rebalance/rebalance_testing.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::page {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;
using whatif::kNow;

class FakeClock final : public Clock {
 public:
  Time Now() const override { return now; }
  Time now = kNow;
};

whatif::ClusterState Shop() {
  whatif::ClusterState state =
      whatif::StateOf({MakeNode("a").Allocatable("cpu", "2"), MakeNode("b").Allocatable("cpu", "2")},
                      {whatif::RunningPod("web", "web-1", "a").Request("cpu", "1"),
                       whatif::RunningPod("web", "web-2", "").Request("cpu", "4").Created(kNow - seconds(60))});
  state.source = "shop";
  state.read_at = kNow;
  return state;
}

codec::json::value Json(const std::string& text) { return *codec::ParseJson(text); }

ClusterSource SourceOfShop() {
  ClusterSource source;
  source.fixed = std::make_shared<const whatif::ClusterState>(Shop());
  source.core_for = ask::DefaultCore;
  return source;
}

// As `berth explain` and `berth can-drain` without a configuration: the first says that no profile is for the pod.
TEST(QuestionsTest, APodOfAnUnknownSchedulerIsExplainedByAnother) {
  whatif::ClusterState state = Shop();
  api::Pod alien = *state.pods.at(1);
  alien.metadata.name = "web-3";
  alien.metadata.uid = "web-3";
  alien.spec.scheduler_name = "alien";
  state.pods.push_back(std::make_shared<const api::Pod>(alien));
  ClusterSource source;
  source.fixed = std::make_shared<const whatif::ClusterState>(std::move(state));
  std::vector<ask::OtherSchedulers> made;
  source.core_for = [&](const whatif::ClusterState& of, const ask::Pods& added, ask::OtherSchedulers others,
                        std::string_view configuration) {
    made.push_back(others);
    return ask::DefaultCore(of, added, others, configuration);
  };
  const Fleet fleet(1);
  const FakeClock clock;
  Questions questions(std::move(source), fleet, clock);
  const auto said = questions.Explain("default", "web-3");
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->asked_profile, "default-scheduler");
  EXPECT_EQ(said->state, whatif::PodState::kWaits);
  EXPECT_EQ(questions.Explain("default", "web-2")->asked_profile, std::nullopt);
  EXPECT_THAT(made, ElementsAre(ask::OtherSchedulers::kHaveNoProfile)) << "explanations have one core";
  EXPECT_TRUE(questions.CanDrain(Json(R"({"nodes":["a"]})")).ok());
  EXPECT_THAT(made, ElementsAre(ask::OtherSchedulers::kHaveNoProfile, ask::OtherSchedulers::kByDefaults));
}

constexpr const char* kDuplicatesPolicy = R"(apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: test
  pluginConfig: [{name: RemoveDuplicates, args: {}}]
  plugins: {balance: {enabled: [RemoveDuplicates]}}
)";

TEST(QuestionsTest, AMoveIsPlannedByAPolicy) {
  const auto two_on_a = [](const std::function<bool()>&) -> Expected<whatif::ClusterState> {
    return rebalance::StateOf({MakeNode("a").Allocatable("cpu", "4"), MakeNode("b").Allocatable("cpu", "4")},
                              {whatif::RunningPod("web", "web-1", "a").Request("cpu", "1"),
                               whatif::RunningPod("web", "web-2", "a").Request("cpu", "1")});
  };
  ClusterSource source = SourceOfShop();
  source.read_detailed = two_on_a;
  const Fleet fleet(1);
  const FakeClock clock;
  Questions questions(std::move(source), fleet, clock);
  ASSERT_TRUE(questions.CanPlan());
  const auto plan = questions.Rebalance(codec::json::object{{"policy", kDuplicatesPolicy}});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto& moves = plan->at("moves").as_array();
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves.at(0).at("from").as_string(), "a");
  EXPECT_EQ(moves.at(0).at("to").as_string(), "b");
  EXPECT_TRUE(plan->contains("cluster"));

  const struct {
    const char* body;
    const char* says;
  } wrong[] = {
      {R"({})", "policy should be a DeschedulerPolicy"},
      {R"({"policy":1})", "policy should be a string"},
      {R"({"policy":"kind: Pod"})", "policy"},
      {R"({"policy":"x","withinScheduler":"yes"})", "withinScheduler should be true or false"},
  };
  for (const auto& c : wrong) {
    const auto said = questions.Rebalance(Json(c.body));
    ASSERT_FALSE(said.ok()) << c.body;
    EXPECT_EQ(said.error().code, ErrorCode::kInvalid) << c.body;
    EXPECT_THAT(said.error().message, HasSubstr(c.says));
  }
  EXPECT_EQ(questions.Rebalance(codec::json::object{{"policy", std::string(2 << 20, 'x')}}).error().code,
            ErrorCode::kTooLarge);
}

TEST(QuestionsTest, NoPlanWithoutTheDetailsOfPods) {
  const Fleet fleet(1);
  const FakeClock clock;
  Questions questions(SourceOfShop(), fleet, clock);
  EXPECT_FALSE(questions.CanPlan());
  EXPECT_EQ(questions.Rebalance(codec::json::object{{"policy", kDuplicatesPolicy}}).error().code, ErrorCode::kInvalid);
}

// Questions about a snapshot.
struct OfSnapshot {
  Fleet fleet{1};
  FakeClock clock;
  Questions questions{SourceOfShop(), fleet, clock};
};

TEST(QuestionsTest, ExplainsAndListsWhatWaits) {
  OfSnapshot of;
  const auto said = of.questions.Explain("default", "web-2");
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, whatif::PodState::kRefused);
  EXPECT_EQ(of.questions.Explain("default", "web-7").error().code, ErrorCode::kNotFound);
  const auto pending = of.questions.Pending();
  ASSERT_TRUE(pending.ok());
  EXPECT_EQ(pending->pods, 1U);
  EXPECT_EQ(pending->classes.at(0).sample, "web-2");
}

TEST(QuestionsTest, SimulatesManifestsReplicasAndNodes) {
  OfSnapshot of;
  const auto manifests = of.questions.Simulate(Json(
      R"({"manifests":"apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: c, image: i}]}\n"})"));
  ASSERT_TRUE(manifests.ok()) << manifests.error().message;
  EXPECT_THAT(codec::WriteJson(*manifests), HasSubstr(R"("name":"new")"));
  EXPECT_EQ(manifests->at("cluster").at("source").as_string(), "shop");

  const auto replicas =
      of.questions.Simulate(Json(R"({"replicas":[{"kind":"Deployment","namespace":"default","name":"web","add":3}]})"));
  ASSERT_TRUE(replicas.ok()) << replicas.error().message;
  EXPECT_THAT(codec::WriteJson(*replicas), HasSubstr("web-more-3"));

  const auto nodes = of.questions.Simulate(Json(R"({"addNodes":2,"nodeLike":"a","removeNodes":["b"]})"));
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
}

// Whoever makes cores gets the question's text, and what it says of it is in the answer.
TEST(QuestionsTest, AQuestionMayBringItsOwnConfiguration) {
  ClusterSource source = SourceOfShop();
  std::vector<std::string> given;
  source.core_for = [&](const whatif::ClusterState& of, const ask::Pods& added, ask::OtherSchedulers others,
                        std::string_view configuration) -> Expected<ask::CoreToMake> {
    given.emplace_back(configuration);
    if (configuration == "wrong") return InvalidError("configuration: wrong");
    auto made = ask::DefaultCore(of, added, others, configuration);
    if (made.ok() && !configuration.empty()) made->notes = {"an extender is not asked"};
    return made;
  };
  const Fleet fleet(1);
  const FakeClock clock;
  Questions questions(std::move(source), fleet, clock);
  const auto alone = questions.Simulate(Json(R"({"configuration":"mine"})"));
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(alone->at("pods").as_array().size(), 1U) << "the pod that waits";
  EXPECT_EQ(alone->at("warnings").as_array().at(0).as_string(), "an extender is not asked");
  const auto drain = questions.CanDrain(Json(R"({"nodes":["a"],"configuration":"mine"})"));
  ASSERT_TRUE(drain.ok()) << drain.error().message;
  EXPECT_TRUE(drain->contains("warnings"));
  ASSERT_TRUE(questions.Headroom(Json(R"({"configuration":"mine"})")).ok());
  EXPECT_THAT(given, ElementsAre("mine", "mine", "mine"));
  const auto plain = questions.Headroom(Json("{}"));
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->contains("warnings"));
  EXPECT_EQ(given.back(), "");
  EXPECT_EQ(questions.Simulate(Json(R"({"configuration":"wrong"})")).error().message, "configuration: wrong");
  EXPECT_THAT(questions.Simulate(Json(R"({"configuration":" \n"})")).error().message,
              HasSubstr("configuration should be a KubeSchedulerConfiguration"));
  EXPECT_EQ(questions.Headroom(codec::json::object{{"configuration", std::string(2 << 20, 'x')}}).error().code,
            ErrorCode::kTooLarge);
}

TEST(QuestionsTest, SaysWhatIsWrongWithAQuestion) {
  struct Case {
    std::string body;
    std::string message;
  };
  const Case cases[] = {
      {"[]", "the body should be a JSON object"},
      {"{}", "nothing to simulate"},
      {R"({"manifests":7})", "manifests should be a string"},
      {R"({"manifests":"kind: ["})", "manifests"},
      {R"({"manifests":"apiVersion: v1\nkind: Pod\nmetadata: {name: BAD}\nspec: {containers: [{name: c, image: i}]}\n"})",
       "metadata.name"},
      {R"({"addNodes":-1})", "addNodes should be a number from 0"},
      {R"({"addNodes":1})", "nodeLike"},
      {R"({"addNodes":1,"nodeLike":"z"})", "z"},
      {R"({"removeNodes":["z"]})", "z"},
      {R"({"removeNodes":"a"})", "removeNodes should be an array"},
      {R"({"replicas":[{"kind":"Deployment","namespace":"default","name":"nix","add":1}]})", "default/nix"},
      {R"({"replicas":[{"kind":"Deployment","namespace":"default","name":"web","add":10001}]})", "add should be"},
  };
  OfSnapshot of;
  for (const Case& one : cases) {
    const auto answer = of.questions.Simulate(Json(one.body));
    ASSERT_FALSE(answer.ok()) << one.body;
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid) << one.body << ": " << answer.error().message;
    EXPECT_THAT(answer.error().message, HasSubstr(one.message)) << one.body;
  }
  codec::json::object large;
  large["manifests"] = std::string(Questions::kManifestBytesMax + 1, '#');
  EXPECT_EQ(of.questions.Simulate(large).error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(of.questions.CanDrain(Json(R"({"nodes":["q"]})")).error().message, HasSubstr("q: no such node"));
  EXPECT_THAT(of.questions.CanDrain(Json("{}")).error().message, HasSubstr("nodes"));
  EXPECT_THAT(of.questions.CanDrain(Json(R"({"nodes":["a"],"force":1})")).error().message, HasSubstr("force"));
  EXPECT_EQ(of.questions.Headroom(Json(R"({"namespace":"nowhere"})")).error().code, ErrorCode::kInvalid);
}

TEST(QuestionsTest, DrainsAndMeasures) {
  OfSnapshot of;
  const auto drain = of.questions.CanDrain(Json(R"({"nodes":["a"]})"));
  ASSERT_TRUE(drain.ok()) << drain.error().message;
  EXPECT_THAT(codec::WriteJson(*drain), HasSubstr("web-1"));
  const auto headroom = of.questions.Headroom(Json("{}"));
  ASSERT_TRUE(headroom.ok()) << headroom.error().message;
  EXPECT_THAT(codec::WriteJson(*headroom), HasSubstr("web"));
}

// Nodes and pods are those of this moment, and nothing is read again for them; other objects are, when they are old.
TEST(QuestionsTest, OfALiveClusterNodesAndPodsAreTheFleets) {
  Fleet fleet(1);
  FakeClock clock;
  int reads = 0;
  Questions questions({.read = [&](const std::function<bool()>&) -> Expected<whatif::ClusterState> {
                         ++reads;
                         whatif::ClusterState state = Shop();
                         state.left_out = {"csinodes: forbidden"};
                         return state;
                       },
                       .fixed = nullptr,
                       .core_for = ask::DefaultCore},
                      fleet, clock);
  EXPECT_EQ(questions.Pending()->pods, 0U) << "the fleet has no pods";
  for (const auto& node : Shop().nodes) fleet.SetNode(node);
  for (const auto& pod : Shop().pods) fleet.SetPod(pod, std::nullopt);
  EXPECT_EQ(questions.Pending()->pods, 1U);
  EXPECT_TRUE(questions.Explain("default", "web-2").ok());
  EXPECT_EQ(reads, 1);
  clock.now += Questions::kObjectsAgeMax + seconds(1);
  EXPECT_EQ(questions.Pending()->pods, 1U);
  EXPECT_EQ(reads, 1);
  EXPECT_TRUE(questions.Explain("default", "web-2").ok());
  EXPECT_EQ(reads, 2);
  EXPECT_THAT(questions.left_out(), ElementsAre("csinodes: forbidden"));
}

}  // namespace
}  // namespace berth::page
