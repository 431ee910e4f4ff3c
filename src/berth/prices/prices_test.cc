// SPDX-License-Identifier: Apache-2.0
// What `berth price` plans, and how it reads and writes nodes, against a transport whose answers the test writes.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/price_answer.h"
#include "berth/prices/node_prices.h"
#include "berth/prices/price_plan.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::prices {
namespace {

using answers::PriceTable, answers::ChangeLine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kKey = "berth.dev/price";

PricedNode Node(std::string name, api::StringMap annotations = {}, std::string type = "") {
  return {std::move(name), std::move(annotations), std::move(type)};
}

std::vector<std::string> Lines(const std::vector<PriceChange>& changes) {
  std::vector<std::string> lines;
  for (const PriceChange& change : changes) lines.push_back(ChangeLine(change, kKey));
  return lines;
}

// ---- plans

TEST(PricePlan, RandomPricesFollowFromTheSeedAndTheNames) {
  std::vector<PricedNode> nodes;
  for (int i = 0; i < 600; ++i) nodes.push_back(Node("n" + std::to_string(i)));
  const auto one = RandomPrices(nodes, kKey, 7);
  std::reverse(nodes.begin(), nodes.end());
  EXPECT_EQ(Lines(RandomPrices(nodes, kKey, 7)), Lines(one)) << "in whatever order the server lists them";
  EXPECT_NE(Lines(RandomPrices(nodes, kKey, 8)), Lines(one));
  std::map<std::string, int> seen;
  for (const PriceChange& change : one) ++seen[change.after.value()];
  ASSERT_EQ(seen.size(), 6u);
  for (const char* price : {"0.05", "0.10", "0.20", "0.40", "0.80", "1.60"}) EXPECT_NEAR(seen[price], 100, 45) << price;
}

TEST(PricePlan, Clear) {
  const std::vector<PricedNode> nodes = {Node("b", {{"berth.dev/price", "1"}}), Node("c"),
                                         Node("a", {{"berth.dev/price", "nonsense"}})};
  EXPECT_THAT(Lines(ClearPrices(nodes, kKey)), ElementsAre("node/a berth.dev/price-", "node/b berth.dev/price-"));
}

TEST(PricePlan, Import) {
  const std::vector<PricedNode> nodes = {Node("d", {}, "x1"), Node("a", {{"berth.dev/price", "1"}}, "m5.large"),
                                         Node("b"), Node("c", {}, "m5.large"), Node("e", {}, "x1")};
  const ImportPlan plan = ImportPrices(nodes, kKey, {{"m5.large", "0.096"}, {"unused", "1"}});
  EXPECT_THAT(Lines(plan.changes), ElementsAre("node/a berth.dev/price=0.096", "node/c berth.dev/price=0.096"));
  EXPECT_EQ(plan.changes[0].before, "1");
  EXPECT_EQ(plan.nodes_without_type, 1u);
  EXPECT_THAT(plan.unknown_types, ElementsAre(std::pair<const std::string, std::size_t>("x1", 2)));
}

TEST(PricePlan, APatchTouchesTheAnnotationAlone) {
  EXPECT_EQ(ChangePatch({"a", std::nullopt, "0.10"}, kKey),
            R"({"metadata":{"annotations":{"berth.dev/price":"0.10"}}})");
  EXPECT_EQ(ChangePatch({"a", "1", std::nullopt}, kKey), R"({"metadata":{"annotations":{"berth.dev/price":null}}})");
}

TEST(PricePlan, TheTableIsSortedByPriceThenName) {
  const std::vector<PricedNode> nodes = {Node("none-b"),
                                         Node("dear", {{"berth.dev/price", "1.6"}}),
                                         Node("cheap-b", {{"hightower.com/cost", "0.05"}}),
                                         Node("cheap-a", {{"berth.dev/price", "0.0500"}, {"hightower.com/cost", "9"}}),
                                         Node("bad", {{"berth.dev/price", "$1\x1b"}}),
                                         Node("second", {{"berth.dev/price", "?"}, {"hightower.com/cost", "7"}}),
                                         Node("none-a")};
  EXPECT_THAT(PriceTable(nodes, {"berth.dev/price", "hightower.com/cost"}).Lines({}),
              ElementsAre("NODE      PRICE", "cheap-a   0.05", "cheap-b   0.05", "dear      1.60", "second    7.00",
                          "bad       \"$1?\" (no price)", "none-a    <none>", "none-b    <none>"));
}

TEST(TypePricesFile, WhatItMayLookLike) {
  const TypePrices want = {{"m5.large", "0.096"}, {"m5.xlarge", "0.192"}};
  for (const char* text : {
           "instance_type,price\nm5.large,0.096\nm5.xlarge,0.192\n",
           "instance_type,price\r\nm5.large,0.096\r\n\r\nm5.xlarge,0.192",
           "\xef\xbb\xbfInstance Type,Price\nm5.large,0.096\nm5.xlarge,0.192\n",
           "\"price\",region,\"instance-type\"\n0.096,\"eu, west\",m5.large\n\"0.192\",\"a \"\"b\"\"\",\"m5.xlarge\"\n",
       }) {
    const auto read = ParseTypePrices(text);
    ASSERT_TRUE(read.ok()) << text << read.error().message;
    EXPECT_EQ(*read, want) << text;
  }
}

TEST(TypePricesFile, WhatIsWrongIsSaidWithItsLine) {
  const std::string head = "instance_type,price\nm5.large,0.096\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "it is empty: the first line should name the columns"},
      {"\n\r\n", "it is empty"},
      {"instance_type,price\n", "no line follows the header"},
      {"m5.large,0.096\n", "line 1: no column instance_type"},
      {"instance_type,cost\nm5.large,0.096\n", "line 1: no column price: the first line should name the columns"},
      {"instance_type;price\nm5.large;0.096\n", "line 1: no column instance_type"},
      {"price,instance_type,Price\n", "line 1: the column price is there twice"},
      {head + "m5.xlarge\n", "line 3: the header has 2 columns, this line 1"},
      {head + "\nm5.xlarge,0,1\n", "line 4: the header has 2 columns, this line 3"},
      {head + "m5.xlarge,\n", "line 3: price: \"\" is no price"},
      {head + "m5.xlarge, 0.1\n", "line 3: price: \" 0.1\" is no price"},
      {head + "m5.xlarge,-1\n", "line 3: price: \"-1\" is no price"},
      {head + "m5.xlarge,inf\n", "line 3: price: \"inf\" is no price"},
      {head + "m5.xlarge,€1\n", "line 3: price: "},
      {head + ",1\n", "line 3: instance_type: \"\" cannot be a node's label"},
      {head + "m5 xlarge,1\n", "line 3: instance_type: \"m5 xlarge\" cannot be a node's label"},
      {head + "m5.large,1\n", "line 3: m5.large has a price on line 2"},
      {head + "\"m5.xlarge,1\n", "line 3: a quoted field does not end"},
      {head + "\"m5\".xlarge,1\n", "line 3: after a quoted field comes a comma or nothing"},
      {head + std::string(2000, ','), "line 3: more than 1000 fields"},
      {std::string("\0\xff", 2), "line 1: no column"},
  };
  for (const auto& [text, want] : cases) {
    const auto read = ParseTypePrices(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().message, HasSubstr(want));
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

// ---- over the network

class NodePricesTest : public ::testing::Test {
 protected:
  using Nodes = Expected<std::vector<PricedNode>>;

  static std::string Item(const std::string& name, const std::string& rest = "") {
    return R"({"metadata":{"name":")" + name + '"' + rest + "}}";
  }
  static std::string List(const std::string& items, const std::string& token = "") {
    return R"({"kind":"NodeList","metadata":{"continue":")" + token + R"("},"items":[)" + items + "]}";
  }
  static std::vector<std::string> Names(const Nodes& nodes) {
    std::vector<std::string> names;
    if (!nodes.ok()) return {nodes.error().message};
    for (const PricedNode& node : *nodes) names.push_back(node.name);
    return names;
  }
  void StartList(NodeListOptions options) {
    ListNodes(rest, std::move(options), count, [this](Nodes nodes) {
      EXPECT_FALSE(listed.has_value());
      listed = std::move(nodes);
    });
    loop.Run();
  }
  // Lets the client's back-off pass, too.
  void Answer(int status, const std::string& body) {
    transport.Next()->Answer(status, body);
    loop.Advance(std::chrono::seconds(10));
  }

  client::FakeLoop loop;
  client::FakeTransport transport;
  std::shared_ptr<std::atomic<std::size_t>> count = std::make_shared<std::atomic<std::size_t>>(0);
  std::optional<Nodes> listed;
  client::RestClient rest{loop, transport, nullptr, 1};
};

TEST_F(NodePricesTest, ListsInPages) {
  StartList({.label_selector = "a=b,c in (d)", .annotations = {"berth.dev/price"}, .page_size = 2});
  Answer(200, List(Item("a", R"(,"annotations":{"berth.dev/price":"1","other":"2"},"labels":{"x":"y"})") + "," +
                       Item("b", R"(,"labels":{"node.kubernetes.io/instance-type":"m5"})"),
                   "to ken"));
  EXPECT_FALSE(listed);
  EXPECT_EQ(*count, 2u);
  Answer(200, List(Item("c", R"(,"labels":{"beta.kubernetes.io/instance-type":"old"})")));
  ASSERT_TRUE(listed);
  EXPECT_THAT(Names(*listed), ElementsAre("a", "b", "c"));
  EXPECT_EQ((**listed)[0].annotations, (api::StringMap{{"berth.dev/price", "1"}}));
  EXPECT_EQ((**listed)[1].instance_type, "m5");
  EXPECT_EQ((**listed)[2].instance_type, "old");
  ASSERT_EQ(transport.all_targets.size(), 2u);
  EXPECT_THAT(transport.all_targets[0], HasSubstr("GET /api/v1/nodes?labelSelector=a%3Db"));
  EXPECT_THAT(transport.all_targets[0], HasSubstr("limit=2"));
  EXPECT_THAT(transport.all_targets[1], HasSubstr("continue=to%20ken"));
}

TEST_F(NodePricesTest, AnExpiredTokenRestartsTheList) {
  StartList({.restarts_max = 1});
  Answer(200, List(Item("a"), "t"));
  Answer(410, R"({"kind":"Status","reason":"Expired","code":410})");
  Answer(200, List(Item("a") + "," + Item("b"), "t2"));
  Answer(200, List(Item("c")));
  ASSERT_TRUE(listed);
  EXPECT_THAT(Names(*listed), ElementsAre("a", "b", "c"));
}

TEST_F(NodePricesTest, ButNotForEver) {
  StartList({.restarts_max = 1});
  for (int i = 0; i < 2; ++i) {
    Answer(200, List(Item("a"), "t"));
    Answer(410, R"({"kind":"Status","message":"too old","reason":"Expired","code":410})");
  }
  ASSERT_TRUE(listed && !listed->ok());
  EXPECT_EQ(listed->error().message, "listing nodes: too old");
}

TEST_F(NodePricesTest, AListWithoutAnEndIsAnError) {
  StartList({.pages_max = 3});
  for (int i = 0; i < 3; ++i) Answer(200, List(Item("a"), "again"));
  ASSERT_TRUE(listed && !listed->ok());
  EXPECT_EQ(listed->error().code, ErrorCode::kTooLarge);
}

TEST_F(NodePricesTest, AnswersThatAreNoLists) {
  const std::pair<const char*, const char*> cases[] = {{"", "listing nodes: no JSON"},
                                                       {"[1]", "the server's answer is no list of nodes"},
                                                       {R"({"kind":"Pod"})", "the server's answer is no list of nodes"},
                                                       {"<html>", "listing nodes: no JSON"}};
  for (const auto& [body, want] : cases) {
    listed.reset();
    StartList({});
    Answer(200, body);
    ASSERT_TRUE(listed && !listed->ok()) << body;
    EXPECT_THAT(listed->error().message, HasSubstr(want));
  }
  listed.reset();
  StartList({});
  Answer(200, R"({"items":[7,{"metadata":7},{"metadata":{"name":"a","annotations":[],"labels":7}}]})");
  ASSERT_TRUE(listed);
  EXPECT_THAT(Names(*listed), ElementsAre("a"));
}

TEST_F(NodePricesTest, OneNode) {
  std::optional<Nodes> got;
  const auto get = [&] {
    GetNode(rest, "a/b", {"berth.dev/price"}, [&got](Nodes nodes) { got = std::move(nodes); });
    loop.Run();
  };
  get();
  EXPECT_EQ(transport.all_targets.back(), "GET /api/v1/nodes/a%2Fb");
  Answer(200, Item("a", R"(,"annotations":{"berth.dev/price":"1"})"));
  ASSERT_TRUE(got);
  EXPECT_THAT(Names(*got), ElementsAre("a"));
  get();
  Answer(404, R"({"kind":"Status","message":"nodes \"a\" not found","reason":"NotFound","code":404})");
  ASSERT_FALSE(got->ok());
  EXPECT_EQ(got->error().message, "nodes \"a\" not found");
  get();
  Answer(200, "{}");
  ASSERT_FALSE(got->ok());
}

class NodePatcherTest : public NodePricesTest {
 protected:
  static std::vector<PriceChange> Changes(std::size_t n) {
    std::vector<PriceChange> changes;
    for (std::size_t i = 0; i < n; ++i) changes.push_back({"n" + std::to_string(i), std::nullopt, "0.10"});
    return changes;
  }
  void Start(NodePatcher& patcher) {
    patcher.Start([this](NodePatcher::Outcome result) {
      EXPECT_FALSE(outcome.has_value());
      outcome = std::move(result);
    });
    loop.Run();
  }

  std::optional<NodePatcher::Outcome> outcome;
};

TEST_F(NodePatcherTest, PatchesEachNodeWithABoundOnWhatIsUnderWay) {
  NodePatcher patcher(rest, "berth.dev/price", Changes(100));
  Start(patcher);
  EXPECT_EQ(transport.Waiting(), NodePatcher::kInFlightMax);
  for (std::size_t i = 0; i < 100; ++i) {
    const auto call = transport.Next();
    EXPECT_EQ(call->request.method, "PATCH");
    EXPECT_EQ(call->request.target, "/api/v1/nodes/n" + std::to_string(i));
    EXPECT_EQ(client::FindHeader(call->request, "Content-Type"), "application/merge-patch+json");
    EXPECT_EQ(call->request.body, R"({"metadata":{"annotations":{"berth.dev/price":"0.10"}}})");
    call->Answer(200, "{}");
    loop.Run();
    EXPECT_LE(transport.Waiting(), NodePatcher::kInFlightMax);
    EXPECT_EQ(patcher.ended_count(), i + 1);
  }
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->failures, 0u);
  EXPECT_EQ(std::ranges::count(outcome->states, NodePatcher::State::kDone), 100);
}

TEST_F(NodePatcherTest, NothingToDo) {
  NodePatcher patcher(rest, "k", {});
  Start(patcher);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->states.empty());
}

TEST_F(NodePatcherTest, ANodeThatIsGoneIsNoFailureAndDoubtIsCleared) {
  NodePatcher patcher(rest, "k", Changes(4));
  transport.on_send = [tries = std::map<std::string, int>()](client::FakeTransport::Call& call) mutable {
    const std::string& target = call.request.target;
    const int attempt = ++tries[target];
    if (target.ends_with("n0")) return call.Answer(404, R"({"kind":"Status","reason":"NotFound","code":404})");
    if (target.ends_with("n1") && attempt == 1) return call.Fail(ErrorCode::kTimeout, true);
    if (target.ends_with("n2") && attempt < 3)
      return call.Answer(409, R"({"kind":"Status","reason":"Conflict","code":409})");
    if (target.ends_with("n3")) return call.Answer(500, R"({"kind":"Status","message":"oops","code":500})");
    call.Answer(200, "{}");
  };
  Start(patcher);
  loop.Advance(std::chrono::minutes(2));
  ASSERT_TRUE(outcome);
  using enum NodePatcher::State;
  EXPECT_THAT(outcome->states, ElementsAre(kGone, kDone, kDone, kFailed));
  EXPECT_EQ(outcome->failures, 1u);
  EXPECT_EQ(outcome->first_error.message, "patching node n3: oops");
}

TEST_F(NodePatcherTest, GivesUpAfterAFewFailures) {
  NodePatcher patcher(rest, "k", Changes(1000));
  transport.on_send = [](client::FakeTransport::Call& call) {
    call.Answer(403, R"({"kind":"Status","message":"no rights","reason":"Forbidden","code":403})");
  };
  Start(patcher);
  loop.Advance(std::chrono::minutes(2));
  ASSERT_TRUE(outcome);
  EXPECT_GE(outcome->failures, NodePatcher::kFailuresMax);
  EXPECT_LE(transport.all_targets.size(), NodePatcher::kFailuresMax + NodePatcher::kInFlightMax);
  EXPECT_EQ(outcome->first_error.code, ErrorCode::kForbidden);
}

TEST_F(NodePatcherTest, EndedEarlyItBeginsNothingMore) {
  {
    NodePatcher patcher(rest, "k", Changes(100));
    Start(patcher);
  }
  const std::size_t sent = transport.all_targets.size();
  while (transport.Waiting() > 0) Answer(200, "{}");
  EXPECT_EQ(transport.all_targets.size(), sent);
  EXPECT_FALSE(outcome);
}

}  // namespace
}  // namespace berth::prices
