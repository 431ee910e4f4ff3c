// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/best_price/best_price.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/best_price/price.h"
#include "berth/plugins/best_price/price_column.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::kNoRawScore;
using framework::NodeIndex;
using framework::QueueingHint;
using framework::VerdictId;
using testing::MakeNode;
using testing::MakePod;

constexpr std::string_view kMax = "berth.dev/max-price";

testing::NodeBuilder Priced(const std::string& name, std::string_view price) {
  return MakeNode(name).Annotation("berth.dev/price", price);
}

// ---- arguments

Expected<BestPriceArgs> Read(std::string json) { return ReadBestPriceArgs(config::RawArgs{std::move(json)}); }

TEST(BestPriceArgs, Defaults) {
  for (const config::PluginArgs& args : {config::PluginArgs(), config::PluginArgs(config::RawArgs{"{}"})}) {
    const auto read = ReadBestPriceArgs(args);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->annotations, (std::vector<std::string>{"berth.dev/price", "hightower.com/cost"}));
    EXPECT_TRUE(read->table.empty());
    EXPECT_EQ(read->per, PriceUnit::kNode);
    EXPECT_EQ(read->unpriced, Unpriced::kLast);
  }
}

TEST(BestPriceArgs, AllOfThem) {
  const auto read = Read(R"json({
    "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "BestPriceArgs",
    "annotations": ["example.com/eur"],
    "table": [{"labels": {"type": "m5.large", "spot": "yes"}, "price": 0.035},
              {"selector": "type in (m5.large, m5a.large)", "price": "0.0960005"},
              {"labels": {"type": "x1"}, "selector": "!spot", "price": 13}],
    "per": "GiB", "unpricedNodes": 0.5})json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->annotations, std::vector<std::string>{"example.com/eur"});
  ASSERT_EQ(read->table.size(), 3u);
  EXPECT_EQ(read->table[0].price_micro, 35'000);
  EXPECT_EQ(read->table[1].price_micro, 96'001);
  EXPECT_EQ(read->table[2].price_micro, 13'000'000);
  EXPECT_TRUE(read->table[0].selector.Matches({{"type", "m5.large"}, {"spot", "yes"}}));
  EXPECT_FALSE(read->table[0].selector.Matches({{"type", "m5.large"}}));
  EXPECT_TRUE(read->table[1].selector.Matches({{"type", "m5a.large"}}));
  EXPECT_FALSE(read->table[2].selector.Matches({{"type", "x1"}, {"spot", "yes"}}));
  EXPECT_EQ(read->per, PriceUnit::kGib);
  EXPECT_EQ(read->unpriced, Unpriced::kGivenPrice);
  EXPECT_EQ(read->unpriced_micro, 500'000);
}

TEST(BestPriceArgs, WhatIsWrongIsSaidWithItsPath) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"annotation": []})", "args.annotation: unknown field"},
      {R"({"annotations": "a"})", "args.annotations"},
      {R"({"annotations": []})", "args.annotations: Required value: without annotations a table"},
      {R"({"annotations": ["a", "a"]})", "args.annotations[1]: Duplicate value: \"a\""},
      {R"({"annotations": ["a b"]})", "args.annotations[0]: Invalid value: \"a b\""},
      {R"({"annotations": ["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"]})", "at most 16 keys"},
      {R"({"table": {}})", "args.table"},
      {R"({"table": [7]})", "args.table[0]: must be an object"},
      {R"({"table": [{"price": 1}]})", "args.table[0].labels: Required value"},
      {R"({"table": [{"labels": {"a": "b"}}]})", "args.table[0].price: Required value"},
      {R"({"table": [{"labels": {"a": 7}, "price": 1}]})", "args.table[0].labels.a: must be a string, not a number"},
      {R"({"table": [{"labels": {"a b": "c"}, "price": 1}]})", "args.table[0].labels.a b: "},
      {R"({"table": [{"labels": [], "price": 1}]})", "args.table[0].labels: must be an object, not a list"},
      {R"({"table": [{"selector": "a near b", "price": 1}]})", "args.table[0].selector: Invalid value: \"a near b\""},
      {R"({"table": [{"selector": "a", "price": -1}]})", "args.table[0].price: \"-1\" is no price"},
      {R"({"table": [{"selector": "a", "price": 1e300}]})", "is no price"},
      {R"({"table": [{"selector": "a", "price": "$1"}]})", "args.table[0].price: \"$1\" is no price"},
      {R"({"table": [{"selector": "a", "price": true}]})", "args.table[0].price: must be a price, not a boolean"},
      {R"({"per": "pod"})", R"(args.per: Unsupported value: "pod": supported values: "node", "core", "GiB")"},
      {R"({"unpricedNodes": "first"})", "args.unpricedNodes: should be \"last\", \"refused\" or a price; \"first\" is"},
      {R"({"unpricedNodes": []})", "args.unpricedNodes: should be \"last\", \"refused\" or a price"},
  };
  for (const auto& [json, want] : cases) {
    const auto read = Read(json);
    ASSERT_FALSE(read.ok()) << json;
    EXPECT_NE(read.error().message.find(want), std::string::npos) << json << ": " << read.error().message;
    EXPECT_TRUE(read.error().message.starts_with("plugin \"BestPrice\": ")) << read.error().message;
    testing::FakeHandle handle;
    EXPECT_FALSE(MakeFromJson("BestPrice", json, handle).ok());
  }
}

// ---- prices of nodes

BestPriceArgs Args(std::string json) { return Read(std::move(json)).value(); }

TEST(PriceOf, AnnotationsThenTableThenWhatTheArgumentsSay) {
  const std::string table = R"("table": [{"labels": {"type": "a", "spot": "y"}, "price": 1},
                                         {"selector": "type=a", "price": 2}, {"selector": "type", "price": 3}])";
  struct Case {
    const char* name;
    std::string args;
    testing::NodeBuilder node;
    std::optional<std::int64_t> micro;
    std::uint32_t bad_keys = 0;
  };
  const Case cases[] = {
      {"nothing", "{}", MakeNode("n"), std::nullopt},
      {"the first key", "{}", Priced("n", "0.1").Annotation("hightower.com/cost", "7"), 100'000},
      {"the second key", "{}", MakeNode("n").Annotation("hightower.com/cost", "7"), 7'000'000},
      {"a bad one counts as none", "{}", Priced("n", "$1").Annotation("hightower.com/cost", "7"), 7'000'000, 1},
      {"both bad", "{}", Priced("n", "-1").Annotation("hightower.com/cost", " 7"), std::nullopt, 3},
      {"a bad one behind a good one is not looked at", "{}", Priced("n", "1").Annotation("hightower.com/cost", "x"),
       1'000'000},
      {"other keys", R"({"annotations": ["eur", "usd"]})", Priced("n", "1").Annotation("usd", "2"), 2'000'000},
      {"the table's first row that matches", "{" + table + "}", MakeNode("n").Label("type", "a").Label("spot", "y"),
       1'000'000},
      {"the second row", "{" + table + "}", MakeNode("n").Label("type", "a"), 2'000'000},
      {"the third row", "{" + table + "}", MakeNode("n").Label("type", "b"), 3'000'000},
      {"no row", "{" + table + "}", MakeNode("n").Label("spot", "y"), std::nullopt},
      {"an annotation goes before the table", "{" + table + "}", Priced("n", "9").Label("type", "a"), 9'000'000},
      {"the table for a bad annotation", "{" + table + "}", Priced("n", "NaN").Label("type", "a"), 2'000'000, 1},
      {"no annotations, but a table", R"({"annotations": [], )" + table + "}", Priced("n", "9").Label("type", "a"),
       2'000'000},
      {"a given price", R"({"unpricedNodes": "0.5"})", MakeNode("n"), 500'000},
      {"a given price for a bad one", R"({"unpricedNodes": 0.5})", Priced("n", "inf"), 500'000, 1},
      {"free is a price", "{}", Priced("n", "0"), 0},
      {"per core of a node without cores", R"({"per": "core", "unpricedNodes": 1})",
       Priced("n", "1").Allocatable("cpu", "0"), std::nullopt},
      {"per GiB of a node without allocatable", R"({"per": "GiB"})", Priced("n", "1").WithoutAllocatable(),
       std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const NodePrice price = PriceOf(*c.node.Build(), Args(c.args));
    EXPECT_EQ(price.micro, c.micro);
    EXPECT_EQ(price.bad_keys, c.bad_keys);
  }
}

TEST(RawScoreOf, IsInTheUnitThatIsComparedAndInRange) {
  const auto raw = [](const char* per, testing::NodeBuilder node) {
    const BestPriceArgs args = Args(std::string(R"({"per": ")") + per + "\"}");
    return RawScoreOf(PriceOf(*node.Build(), args), args.per);
  };
  EXPECT_EQ(raw("node", Priced("n", "0.05")), 50'000);
  EXPECT_EQ(raw("node", Priced("n", "1000000000")), kPriceMicroMax);
  EXPECT_EQ(raw("node", MakeNode("n")), kNoRawScore);
  EXPECT_EQ(raw("core", Priced("n", "0.05").Allocatable("cpu", "4")), 12'500'000);
  EXPECT_EQ(raw("core", Priced("n", "1").Allocatable("cpu", "1500m")), 666'666'667);
  EXPECT_EQ(raw("GiB", Priced("n", "0.05").Allocatable("memory", "32Gi")), 1'562'500);
  EXPECT_EQ(raw("GiB", Priced("n", "1").Allocatable("memory", "1G")), 1'073'741'824);
  // So dear that it is cut off: still before nodes without a price.
  EXPECT_EQ(raw("core", Priced("n", "1000000000").Allocatable("cpu", "1m")), kNoRawScore - 1);
  EXPECT_EQ(raw("GiB", Priced("n", "1000000000").Allocatable("memory", "1")), kNoRawScore - 1);
  EXPECT_LT(raw("GiB", Priced("n", "0.000001").Allocatable("memory", "9E")), 10);
  EXPECT_LT(kPriceMicroMax, kNoRawScore);
}

// ---- filter and score

class BestPriceTest : public ::testing::Test {
 protected:
  std::unique_ptr<TestedPlugin> Make(const std::string& args = "{}") {
    auto plugin = std::make_unique<TestedPlugin>(CreateBestPrice(Args(args), handle));
    plugin->SetProfile("best-price");
    return plugin;
  }
  // The column form's answers, a text a node in the table's order.
  std::vector<std::string> Refusals(const TestedPlugin& plugin, const framework::PodInfo& pod) {
    framework::StatusTable statuses;
    std::vector<VerdictId> verdicts(cluster.table().row_count());
    plugin.FilterRows(cluster.cycle(), pod, cluster.table().rows(), verdicts, statuses);
    std::vector<std::string> said;
    for (const NodeIndex row : cluster.table().rows()) {
      said.push_back(TestCluster::Describe(statuses.Get(verdicts[row])));
      EXPECT_EQ(said.back(), TestCluster::Describe(plugin.Filter(cluster.cycle(), pod, cluster.table().Info(row))));
    }
    return said;
  }
  std::vector<std::int64_t> Scores(const TestedPlugin& plugin, const framework::PodInfo& pod) {
    std::vector<std::int64_t> scores(cluster.table().row_count(), -1);
    framework::Status status;
    plugin.ScoreRows(cluster.cycle(), pod, cluster.table().rows(), scores, status);
    EXPECT_TRUE(status.IsSuccess());
    return scores;
  }
  std::vector<std::string> TakeEvents() {
    std::vector<std::string> said;
    for (const framework::PodEvent& event : handle.events) {
      EXPECT_EQ(event.kind, "Node");
      EXPECT_EQ(event.reason, "InvalidPrice");
      EXPECT_EQ(event.action, "Scheduling");
      EXPECT_EQ(event.regarding.namespace_name, "");
      EXPECT_TRUE(event.is_warning);
      EXPECT_LT(event.note.size(), 1024u);
      said.push_back(event.reporting_controller + " " + event.regarding.name + ": " + event.note);
    }
    handle.events.clear();
    return said;
  }

  testing::FakeHandle handle;
  TestCluster cluster;
};

constexpr const char* kTooDear = "UnschedulableAndUnresolvable: node(s) cost more than the pod's berth.dev/max-price";
constexpr const char* kNoPrice = "UnschedulableAndUnresolvable: node(s) had no price";

TEST_F(BestPriceTest, WithoutACeilingNodesArePricedAndNotRefused) {
  for (const auto& node : {Priced("a", "0.8"), Priced("b", "0.1"), MakeNode("c"), Priced("d", "x")}) cluster.Add(node);
  const auto plugin = Make();
  const auto pod = MakePod("p").Info();
  EXPECT_TRUE(plugin->PreFilter(cluster.cycle(), *pod).status.IsSkip());
  EXPECT_TRUE(plugin->RefusesNone(cluster.cycle(), *pod));
  EXPECT_EQ(Refusals(*plugin, *pod), (std::vector<std::string>{"ok", "ok", "ok", "ok"}));
  EXPECT_EQ(Scores(*plugin, *pod), (std::vector<std::int64_t>{800'000, 100'000, kNoRawScore, kNoRawScore}));
  EXPECT_EQ(plugin->ScoreNormalization(), framework::Normalization::kLowestFirst);
  EXPECT_EQ(plugin->ScoreDependsOn(), framework::Dependency::kNode);
  EXPECT_EQ(plugin->FilterDependsOn(), framework::Dependency::kNode);
}

TEST_F(BestPriceTest, ACeilingRefusesDearerNodesAndThoseWithoutAPrice) {
  for (const auto& node : {Priced("a", "0.8"), Priced("b", "0.1"), MakeNode("c"), Priced("d", "0.100001")})
    cluster.Add(node);
  const auto plugin = Make();
  const auto pod = MakePod("p").Annotation(kMax, "0.1").Info();
  EXPECT_TRUE(plugin->PreFilter(cluster.cycle(), *pod).status.IsSuccess());
  EXPECT_FALSE(plugin->RefusesNone(cluster.cycle(), *pod));
  EXPECT_EQ(Refusals(*plugin, *pod), (std::vector<std::string>{kTooDear, "ok", kNoPrice, kTooDear}));
  const auto given = Make(R"({"unpricedNodes": 0.05})");
  EXPECT_EQ(Refusals(*given, *pod), (std::vector<std::string>{kTooDear, "ok", "ok", kTooDear}));
  EXPECT_EQ(plugin->PodAnnotationsRead(), std::vector<std::string>{"berth.dev/max-price"});
}

TEST_F(BestPriceTest, ACeilingIsInTheUnitThatIsCompared) {
  cluster.Add(Priced("small", "0.3").Allocatable("cpu", "2"));
  cluster.Add(Priced("large", "1").Allocatable("cpu", "7"));
  cluster.Add(Priced("larger", "1.000001").Allocatable("cpu", "10"));
  const auto pod = MakePod("p").Annotation(kMax, "0.1").Info();
  EXPECT_EQ(Refusals(*Make(R"({"per": "core"})"), *pod), (std::vector<std::string>{kTooDear, kTooDear, kTooDear}));
  const auto more = MakePod("p").Annotation(kMax, "0.143").Info();
  EXPECT_EQ(Refusals(*Make(R"({"per": "core"})"), *more), (std::vector<std::string>{kTooDear, "ok", "ok"}));
  const auto gib = MakePod("p").Annotation(kMax, "0.03125").Info();  // 1 / 32
  EXPECT_EQ(Refusals(*Make(R"({"per": "GiB"})"), *gib), (std::vector<std::string>{"ok", "ok", kTooDear}));
}

TEST_F(BestPriceTest, NodesWithoutAPriceAreRefusedWhereTheArgumentsSaySo) {
  for (const auto& node : {Priced("a", "0.8"), MakeNode("b"), Priced("c", "0,1")}) cluster.Add(node);
  const auto plugin = Make(R"({"unpricedNodes": "refused"})");
  const auto pod = MakePod("p").Info();
  EXPECT_TRUE(plugin->PreFilter(cluster.cycle(), *pod).status.IsSuccess());
  EXPECT_EQ(Refusals(*plugin, *pod), (std::vector<std::string>{"ok", kNoPrice, kNoPrice}));
}

TEST_F(BestPriceTest, ACeilingThatIsNoPriceRefusesThePod) {
  cluster.Add(Priced("a", "0.8"));
  const auto plugin = Make();
  const std::string want =
      "UnschedulableAndUnresolvable: annotation berth.dev/max-price: \"1 EUR\" is no price: want a decimal number from "
      "0 to 1000000000";
  const auto pod = MakePod("p").Annotation(kMax, "1 EUR").Info();
  EXPECT_EQ(TestCluster::Describe(plugin->PreFilter(cluster.cycle(), *pod).status), want);
  EXPECT_EQ(Refusals(*plugin, *pod), std::vector<std::string>{want});  // where PreFilter is turned off
}

TEST_F(BestPriceTest, EqualPricesAreReportedAtOnce) {
  const auto plugin = Make();
  const auto pod = MakePod("p").Info();
  const auto of_all = [&] { return plugin->ScoreOfAll(cluster.cycle(), *pod); };
  EXPECT_EQ(of_all(), std::nullopt) << "without the node table of the scheduler nothing is known";
  handle.table = &cluster.table();
  EXPECT_EQ(of_all(), std::nullopt) << "no nodes";
  cluster.Add(MakeNode("a"));
  cluster.Add(MakeNode("b"));
  EXPECT_EQ(of_all(), kNoRawScore);
  cluster.Add(Priced("a", "1"));
  EXPECT_EQ(of_all(), std::nullopt);
  cluster.Add(Priced("b", "1.00"));
  EXPECT_EQ(of_all(), 1'000'000);
  cluster.Add(Priced("c", "2"));
  EXPECT_EQ(of_all(), std::nullopt);
  cluster.table().RemoveNode("c");
  EXPECT_EQ(of_all(), 1'000'000);
}

// ---- prices that do not parse

constexpr const char* kWant = " is no price: want a decimal number from 0 to 1000000000; it counts as none";

// kubectl describe node finds events by the uid.
TEST_F(BestPriceTest, TheEventNamesTheNodeByItsUid) {
  handle.table = &cluster.table();
  const auto plugin = Make();
  auto node = std::make_shared<api::Node>(*Priced("b", "$1").Build());
  node->metadata.uid = "uid-of-b";
  cluster.table().SetNode(node);
  plugin->Epoch();
  ASSERT_EQ(handle.events.size(), 1u);
  EXPECT_EQ(handle.events[0].regarding.uid, "uid-of-b");
}

TEST_F(BestPriceTest, ABadPriceIsReportedOnceUntilItChanges) {
  handle.table = &cluster.table();
  const auto plugin = Make();
  cluster.Add(Priced("a", "1"));
  cluster.Add(Priced("b", "$1"));
  EXPECT_EQ(plugin->Epoch(), 0u);
  EXPECT_EQ(TakeEvents(),
            std::vector<std::string>{std::string("best-price b: annotation berth.dev/price: \"$1\"") + kWant});
  EXPECT_EQ(plugin->Epoch(), 0u);
  cluster.Add(Priced("b", "$1").Label("other", "change"));
  cluster.Add(Priced("a", "2"));
  EXPECT_EQ(plugin->Epoch(), 0u) << "no kept verdict is dropped by it";
  EXPECT_EQ(TakeEvents(), std::vector<std::string>());
  cluster.Add(Priced("b", "$2").Annotation("hightower.com/cost", ""));
  plugin->Epoch();
  EXPECT_EQ(TakeEvents(),
            (std::vector<std::string>{std::string("best-price b: annotation berth.dev/price: \"$2\"") + kWant,
                                      std::string("best-price b: annotation hightower.com/cost: \"\"") + kWant}));
  EXPECT_EQ(InvalidPrices::Of(handle)->size(), 2u);
  cluster.Add(Priced("b", "2"));
  plugin->Epoch();
  EXPECT_EQ(InvalidPrices::Of(handle)->size(), 0u);
  cluster.Add(Priced("b", "$2"));
  plugin->Epoch();
  EXPECT_EQ(TakeEvents().size(), 1u) << "it has been good meanwhile";
  cluster.table().RemoveNode("b");
  plugin->Epoch();
  EXPECT_EQ(InvalidPrices::Of(handle)->size(), 0u) << "what is gone is not remembered";
  cluster.Add(Priced("c", "$2"));  // in the row that b had
  plugin->Epoch();
  EXPECT_EQ(TakeEvents().size(), 1u);
  EXPECT_EQ(InvalidPrices::Of(handle)->size(), 1u);
}

TEST_F(BestPriceTest, ProfilesReportTheSameBadPriceOnceTogether) {
  handle.table = &cluster.table();
  const auto one = Make();
  const auto two = Make();
  const auto other = Make(R"({"annotations": ["eur"]})");
  cluster.Add(Priced("a", "?").Annotation("eur", "!"));
  for (const auto* plugin : {one.get(), two.get(), other.get()}) plugin->Epoch();
  EXPECT_EQ(TakeEvents().size(), 2u);  // each key once
  cluster.Add(Priced("a", "?").Annotation("eur", "!").Label("a", "b"));
  for (const auto* plugin : {other.get(), two.get(), one.get()}) plugin->Epoch();
  EXPECT_EQ(TakeEvents().size(), 0u);
}

TEST_F(BestPriceTest, BadPricesAreNoticedWithoutATableOfTheSchedulersToo) {
  cluster.Add(Priced("a", "?"));
  Scores(*Make(), *MakePod("p").Info());
  EXPECT_EQ(TakeEvents().size(), 1u);
}

// ---- retrying

TEST_F(BestPriceTest, Hints) {
  using namespace framework::action;
  const auto plugin = Make();
  const auto pod = MakePod("p").Annotation(kMax, "0.1").Info();
  const auto bad = MakePod("p").Annotation(kMax, "?").Info();
  const auto dear = Priced("n", "0.2").Build();
  const auto cheap = Priced("n", "0.1").Build();
  const auto cheaper = Priced("n", "0.05").Build();
  const auto none = MakeNode("n").Build();
  struct Case {
    const char* name;
    framework::ActionType action;
    const framework::PodInfo& pod;
    const api::Node* before;
    const api::Node* after;
    QueueingHint want;
  };
  const Case cases[] = {
      {"added, cheap", kAdd, *pod, nullptr, cheap.get(), QueueingHint::kQueue},
      {"added, dear", kAdd, *pod, nullptr, dear.get(), QueueingHint::kSkip},
      {"added, no price", kAdd, *pod, nullptr, none.get(), QueueingHint::kSkip},
      {"cheaper now", kUpdateNodeAnnotation, *pod, dear.get(), cheap.get(), QueueingHint::kQueue},
      {"priced now", kUpdateNodeLabel, *pod, none.get(), cheap.get(), QueueingHint::kQueue},
      {"larger now", kUpdateNodeAllocatable, *pod, none.get(), cheap.get(), QueueingHint::kQueue},
      {"dearer now", kUpdateNodeAnnotation, *pod, cheap.get(), dear.get(), QueueingHint::kSkip},
      {"was cheap enough before", kUpdateNodeAnnotation, *pod, cheap.get(), cheaper.get(), QueueingHint::kSkip},
      {"a pod without a sensible ceiling", kAdd, *bad, nullptr, cheap.get(), QueueingHint::kSkip},
      {"a taint", kUpdateNodeTaint, *pod, dear.get(), cheap.get(), QueueingHint::kSkip},
  };
  for (const Case& c : cases) {
    framework::EventObjects objects;
    objects.old_node = c.before;
    objects.new_node = c.after;
    EXPECT_EQ(HintFor(*plugin, {framework::EventResource::kNode, c.action}, c.pod, objects), c.want) << c.name;
  }
}

TEST_F(BestPriceTest, APodIsTriedAgainWhenItsOwnAnnotationChanges) {
  const auto plugin = Make();
  const auto before = MakePod("p").Annotation(kMax, "?").Info();
  const auto same = MakePod("p").Annotation(kMax, "?").Info();
  const auto after = MakePod("p").Annotation(kMax, "1").Info();
  const auto other = MakePod("q").Annotation(kMax, "1").Info();
  const auto hint = [&](const framework::PodInfoPtr& from, const framework::PodInfoPtr& to) {
    framework::EventObjects objects;
    objects.old_pod = from.get();
    objects.new_pod = to.get();
    const framework::ClusterEvent event{framework::EventResource::kUnschedulablePod, framework::action::kUpdate};
    return HintFor(*plugin, event, *before, objects);
  };
  EXPECT_EQ(hint(before, after), QueueingHint::kQueue);
  EXPECT_EQ(hint(before, same), QueueingHint::kSkip);
  EXPECT_EQ(hint(other, other), QueueingHint::kSkip);
}

// ---- column form = plain form

TEST(BestPriceProperty, TheColumnFollowsTheNodes) {
  const std::vector<std::string> texts = {"0.05", "0.10", "1.6", "$1", "", "0", "1000000000", "1e3", "0.0000005"};
  const std::vector<std::string> arguments = {"{}", R"({"per": "core", "unpricedNodes": "refused"})",
                                              R"({"per": "GiB", "unpricedNodes": 0.1})",
                                              R"json({"annotations": ["hightower.com/cost"],
              "table": [{"selector": "type in (a,b)", "price": 0.1}, {"selector": "type", "price": 3}]})json"};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random.Below(n)); };
    testing::FakeHandle handle;
    TestCluster cluster;
    handle.table = &cluster.table();
    const BestPriceArgs args = Args(arguments[seed % arguments.size()]);
    const TestedPlugin plugin = CreateBestPrice(args, handle);
    for (int step = 0; step < 60; ++step) {
      const std::string name = "n" + std::to_string(below(8));
      auto node = MakeNode(name);
      if (below(4) != 0) node.Annotation("berth.dev/price", texts[below(texts.size())]);
      if (below(4) == 0) node.Annotation("hightower.com/cost", texts[below(texts.size())]);
      if (below(2) == 0) node.Label("type", std::string(1, static_cast<char>('a' + below(3))));
      if (below(6) == 0) node.Allocatable("cpu", "0").Allocatable("memory", "500Mi");
      if (below(5) == 0) {
        cluster.table().RemoveNode(name);
      } else if (below(5) == 0) {
        cluster.Add(MakePod("r" + std::to_string(step)).Node(name));
      } else {
        cluster.Add(node);
      }
      if (below(3) == 0) continue;  // several changes at once
      auto builder = MakePod("p");
      if (below(2) == 0) builder.Annotation(kMax, texts[below(texts.size())]);
      const auto pod = builder.Info();
      framework::StatusTable statuses;
      std::vector<VerdictId> verdicts(cluster.table().row_count());
      std::vector<std::int64_t> scores(cluster.table().row_count());
      framework::Status status;
      plugin.FilterRows(cluster.cycle(), *pod, cluster.table().rows(), verdicts, statuses);
      plugin.ScoreRows(cluster.cycle(), *pod, cluster.table().rows(), scores, status);
      std::size_t bad = 0;
      for (const NodeIndex row : cluster.table().rows()) {
        const framework::NodeInfo& info = cluster.table().Info(row);
        const framework::Status plain = plugin.Filter(cluster.cycle(), *pod, info);
        ASSERT_TRUE(statuses.Get(verdicts[row]) == plain) << "seed " << seed << ": " << plain.Message();
        ASSERT_EQ(scores[row], plugin.Score(cluster.cycle(), *pod, row, info, status)) << "seed " << seed;
        const std::uint32_t keys = PriceOf(info.node(), args).bad_keys;
        bad += (keys & 1) + (keys >> 1 & 1);
      }
      ASSERT_EQ(InvalidPrices::Of(handle)->size(), bad) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace berth::plugins
