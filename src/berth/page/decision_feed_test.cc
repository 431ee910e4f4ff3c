// SPDX-License-Identifier: Apache-2.0
#include "berth/page/decision_feed.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::page {
namespace {

using framework::Status;
using ::testing::ElementsAre;

constexpr Time kNow = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

scheduler::Decision DecisionOf(const std::string& pod, const std::string& node) {
  scheduler::Decision decision;
  decision.cycle = 4;
  decision.seed = 0xffffffffffffffff;
  decision.attempt = 2;
  decision.pod_namespace = "shop";
  decision.pod_name = pod;
  decision.pod_uid = "uid-" + pod;
  decision.node_name = node;
  decision.node_count = 5;
  if (!node.empty()) return decision;
  decision.message = "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable.";
  decision.refusals.emplace_back(Status::Unschedulable("node(s) were unschedulable").WithPlugin("NodeUnschedulable"),
                                 2);
  decision.refusals.emplace_back(Status::Unschedulable("Insufficient cpu").WithPlugin("NodeResourcesFit"), 3);
  return decision;
}

codec::json::object Json(const DecisionFeed& feed, std::uint64_t after, std::size_t count_max) {
  const DecisionFeed::List list = feed.Since(7, after, count_max);
  const codec::json::object json = codec::ParseJson(list.json)->as_object();
  EXPECT_EQ(json.at("last").to_number<std::uint64_t>(), list.last);
  EXPECT_EQ(json.at("epoch").to_number<int>(), 7);
  return json;
}

TEST(DecisionFeedTest, ListsWhatCameAfter) {
  DecisionFeed feed;
  for (const std::string pod : {"a", "b", "c"}) feed.Note(DecisionOf(pod, "n1"), kNow);
  feed.Note(DecisionOf("d", ""), kNow);
  const codec::json::object list = Json(feed, 2, 10);
  EXPECT_EQ(list.at("last").to_number<int>(), 4);
  EXPECT_EQ(list.at("dropped").to_number<int>(), 0);
  ASSERT_EQ(list.at("decisions").as_array().size(), 2U);
  const codec::json::object& refused = list.at("decisions").as_array()[1].as_object();
  EXPECT_EQ(refused.at("name").as_string(), "d");
  EXPECT_EQ(refused.at("seed").as_string(), "18446744073709551615") << "more than a number of JavaScript holds";
  EXPECT_EQ(codec::WriteJson(refused.at("reasons")),
            R"([{"plugin":"NodeResourcesFit","text":"Insufficient cpu","nodes":3},)"
            R"({"plugin":"NodeUnschedulable","text":"node(s) were unschedulable","nodes":2}])");
  EXPECT_EQ(Json(feed, 0, 1).at("dropped").to_number<int>(), 3);
  EXPECT_EQ(Json(feed, 9, 1).at("decisions").as_array().size(), 0U) << "a sequence that has not been";
}

TEST(DecisionFeedTest, BeginsOffForAScheduler) {
  DecisionFeed feed(false);
  feed.Note(DecisionOf("a", ""), kNow);
  EXPECT_EQ(feed.last(), 0U);
  EXPECT_EQ(feed.LastRefusal("uid-a"), nullptr);
  feed.SetOn(true);
  feed.Note(DecisionOf("a", ""), kNow);
  EXPECT_NE(feed.LastRefusal("uid-a"), nullptr);
}

TEST(DecisionFeedTest, KeepsTheLastRefusalUntilThePodIsPlaced) {
  DecisionFeed feed;
  feed.Note(DecisionOf("a", ""), kNow);
  ASSERT_NE(feed.LastRefusal("uid-a"), nullptr);
  EXPECT_EQ(feed.LastRefusal("uid-a")->decision.Unpack().attempt, 2);
  EXPECT_EQ(feed.LastRefusal("uid-b"), nullptr);
  feed.Note(DecisionOf("a", "n1"), kNow);
  EXPECT_EQ(feed.LastRefusal("uid-a"), nullptr);
}

TEST(DecisionFeedTest, KeepsTheBeginningOfALongMessage) {
  DecisionFeed feed;
  scheduler::Decision decision = DecisionOf("a", "");
  decision.message = std::string(DecisionFeed::kTextBytesMax, 'x') + "y";
  feed.Note(decision, kNow);
  const scheduler::Decision kept = feed.LastRefusal("uid-a")->decision.Unpack();
  EXPECT_EQ(kept.message, std::string(DecisionFeed::kTextBytesMax, 'x'));
  EXPECT_EQ(kept.attempt, 2);
}

TEST(DecisionFeedTest, IsBounded) {
  DecisionFeed feed;
  for (std::size_t i = 0; i <= DecisionFeed::kRefusedMax; ++i) feed.Note(DecisionOf(std::to_string(i), ""), kNow);
  EXPECT_EQ(feed.LastRefusal("uid-0"), nullptr) << "the oldest";
  EXPECT_NE(feed.LastRefusal("uid-1"), nullptr);
  EXPECT_EQ(Json(feed, 0, 1'000'000).at("decisions").as_array().size(), DecisionFeed::kKeptMax);
}

// Long messages would take hundreds of megabytes.
TEST(DecisionFeedTest, BytesOfRefusalsAreBounded) {
  DecisionFeed feed;
  scheduler::Decision decision = DecisionOf("", "");
  decision.message = std::string(DecisionFeed::kTextBytesMax, 'x');
  const std::size_t count_max = DecisionFeed::kRefusedBytesMax / DecisionFeed::kTextBytesMax;
  for (std::size_t i = 0; i <= count_max; ++i) {
    decision.pod_uid = "uid-" + std::to_string(i);
    feed.Note(decision, kNow);
  }
  EXPECT_EQ(feed.LastRefusal("uid-0"), nullptr) << "the oldest";
  EXPECT_NE(feed.LastRefusal("uid-1"), nullptr);
  decision.node_name = "n1";
  feed.Note(decision, kNow);
  feed.Note(DecisionOf("a", ""), kNow);
  EXPECT_NE(feed.LastRefusal("uid-1"), nullptr) << "one was placed, so there is room";
}

TEST(DecisionFeedTest, KeepsNothingWhileItIsOff) {
  DecisionFeed feed;
  feed.SetOn(false);
  feed.Note(DecisionOf("a", ""), kNow);
  EXPECT_EQ(feed.last(), 0U);
  feed.SetOn(true);
  feed.Note(DecisionOf("a", ""), kNow);
  EXPECT_EQ(feed.last(), 1U);
}

}  // namespace
}  // namespace berth::page
