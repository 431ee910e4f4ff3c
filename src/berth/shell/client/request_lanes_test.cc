// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/request_lanes.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RequestLanesTest : public ::testing::Test {
 protected:
  void Make(RequestLanesOptions options) { lanes = std::make_shared<RequestLanes>(loop, options); }
  void Add(const std::string& lane, int count = 1) {
    for (int i = 0; i < count; ++i) {
      lanes->Add(lane, [this, lane](RequestLanes::Ended ended) {
        order.push_back(lane);
        under_way[lane].push_back(std::move(ended));
        return true;
      });
    }
  }
  std::size_t UnderWay(const std::string& lane) { return under_way[lane].size(); }
  // The oldest requests of the lane.
  void Answer(const std::string& lane, std::size_t count = 1, bool was_answered = true) {
    for (std::size_t i = 0; i < count; ++i) {
      const RequestLanes::Ended ended = under_way[lane].front();
      under_way[lane].erase(under_way[lane].begin());
      ended(was_answered ? RequestEnd::kAnswered : RequestEnd::kNoAnswer);
    }
  }

  // One after the other, each in 30 ms.
  void AnswerQuickly(const std::string& lane, int count) {
    for (int i = 0; i < count; ++i) {
      Add(lane);
      loop.Advance(milliseconds(30));
      Answer(lane);
    }
  }

  FakeLoop loop;
  std::shared_ptr<RequestLanes> lanes;
  std::vector<std::string> order;
  std::map<std::string, std::vector<RequestLanes::Ended>> under_way;
};

TEST_F(RequestLanesTest, LanesTakeTurns) {
  Make({.in_flight_max = 2});
  Add("a", 4);
  Add("b", 2);
  EXPECT_EQ(order, (std::vector<std::string>{"a", "a"}));
  EXPECT_EQ(lanes->waiting(), 4U);
  Answer("a", 2);
  EXPECT_EQ(order, (std::vector<std::string>{"a", "a", "a", "b"}));
  Answer("a");
  Answer("b");
  EXPECT_EQ(order, (std::vector<std::string>{"a", "a", "a", "b", "a", "b"}));
  EXPECT_EQ(lanes->waiting(), 0U);
}

TEST_F(RequestLanesTest, WhatIsNotAnsweredHoldsNobodyElseForLong) {
  Make({.in_flight_max = 4});
  Add("hangs", 100);
  Add("works", 3);
  EXPECT_EQ(UnderWay("hangs"), 4U);
  EXPECT_EQ(UnderWay("works"), 0U);
  loop.Advance(seconds(1));
  EXPECT_EQ(UnderWay("works"), 3U);
  EXPECT_EQ(UnderWay("hangs"), 4U) << "a slow lane sends no more until it has been answered";
  EXPECT_FALSE(lanes->IsBlamed("hangs")) << "nobody has been answered sooner";
  Answer("works", 3);
  AnswerQuickly("works", 8);
  EXPECT_TRUE(lanes->IsBlamed("hangs"));
  EXPECT_TRUE(lanes->IsSlow("hangs"));
  EXPECT_FALSE(lanes->IsSlow("works"));
}

TEST_F(RequestLanesTest, ALostAnswerHoldsUpNobody) {
  Make({.in_flight_max = 4});
  Add("a");
  loop.Advance(seconds(1));
  ASSERT_TRUE(lanes->IsSlow("a"));
  Add("a", 3);
  EXPECT_EQ(UnderWay("a"), 2U) << "one at a time, beside the late one";
  for (int i = 0; i < 2; ++i) {
    const RequestLanes::Ended newest = under_way["a"].back();
    under_way["a"].pop_back();
    newest(RequestEnd::kAnswered);
  }
  EXPECT_EQ(lanes->waiting(), 0U);
  EXPECT_EQ(order.size(), 4U);
}

// Slow start: one, then more with each quick answer, beside the others' number.
TEST_F(RequestLanesTest, ASlowLaneComesBackBySteps) {
  Make({.in_flight_max = 4, .late_beside_max = 0, .quick_answers_wanted = 3});
  Add("hangs", 100);
  loop.Advance(seconds(1));
  Answer("hangs", 4);
  EXPECT_EQ(UnderWay("hangs"), 1U) << "late answers are no good sign";
  Answer("hangs");
  EXPECT_EQ(UnderWay("hangs"), 2U);
  Answer("hangs");
  EXPECT_EQ(UnderWay("hangs"), 3U);
  EXPECT_TRUE(lanes->IsSlow("hangs"));
  Answer("hangs");
  EXPECT_FALSE(lanes->IsSlow("hangs"));
  EXPECT_GE(UnderWay("hangs"), 4U);
}

TEST_F(RequestLanesTest, ALateAnswerMakesALaneSlowAgain) {
  Make({.in_flight_max = 4, .late_beside_max = 0, .quick_answers_wanted = 3});
  Add("hangs", 100);
  loop.Advance(seconds(1));
  Answer("hangs", 5);
  ASSERT_EQ(UnderWay("hangs"), 2U);
  for (int i = 0; i < 8; ++i) {
    Add("works");
    Answer("works");
  }
  loop.Advance(seconds(1));
  Answer("hangs", 2);
  EXPECT_EQ(UnderWay("hangs"), 1U);
}

// While the server is slow for all, no lane is blamed.
TEST_F(RequestLanesTest, ASlowLaneSendsMoreWhenAllAreAsLate) {
  Make({.in_flight_max = 16, .slow_in_flight_max = 8, .late_beside_max = 0});
  Add("a", 100);
  loop.Advance(seconds(2));
  Answer("a", UnderWay("a"));
  ASSERT_TRUE(lanes->IsSlow("a"));
  for (const std::size_t window : {1U, 2U, 4U, 8U, 8U}) {
    ASSERT_EQ(UnderWay("a"), window);
    loop.Advance(seconds(2));
    ASSERT_EQ(UnderWay("a"), window);
    Answer("a", window);
  }
}

TEST_F(RequestLanesTest, ALaneWithoutAnswersWaitsLongerAndLonger) {
  Make({.in_flight_max = 4, .late_beside_max = 0});
  Add("away", 100);
  Add("works", 4);
  loop.Advance(seconds(1));
  Answer("away", 4, false);
  EXPECT_EQ(UnderWay("away"), 0U);
  EXPECT_EQ(UnderWay("works"), 4U) << "not held up at all";
  std::vector<Duration> waits;
  for (int i = 0; i < 8; ++i) {
    const Time from = loop.Now();
    while (UnderWay("away") == 0) loop.Advance(milliseconds(10));
    waits.push_back(loop.Now() - from);
    ASSERT_EQ(UnderWay("away"), 1U);
    loop.Advance(seconds(1));
    Answer("away", 1, false);
  }
  EXPECT_LE(waits.front(), milliseconds(510));
  EXPECT_GE(waits.back(), seconds(5));
  EXPECT_LE(waits.back(), milliseconds(10'010));
}

TEST_F(RequestLanesTest, SlowLanesShareANumber) {
  Make({.in_flight_max = 8, .slow_in_flight_max = 2, .late_beside_max = 0});
  for (const char* lane : {"a", "b", "c", "d"}) Add(lane, 10);
  loop.Advance(seconds(2));  // "a" took all places in the first
  ASSERT_EQ(order.size(), 16U);
  for (const char* lane : {"a", "b", "c", "d"}) Answer(lane, UnderWay(lane));
  EXPECT_EQ(lanes->all_in_flight(), 2);
  Add("works", 20);
  EXPECT_EQ(UnderWay("works"), 8U);
}

TEST_F(RequestLanesTest, AllTogetherAreBounded) {
  Make({.in_flight_max = 4, .all_in_flight_max = 10});
  for (int i = 0; i < 20; ++i) {
    Add("lane-" + std::to_string(i), 4);
    loop.Advance(seconds(1));
  }
  EXPECT_EQ(lanes->all_in_flight(), 10);
}

TEST_F(RequestLanesTest, ARequestThatIsNotSentTakesNoPlace) {
  Make({.in_flight_max = 1});
  for (int i = 0; i < 3; ++i) lanes->Add("a", [](const RequestLanes::Ended&) { return false; });
  Add("a");
  EXPECT_EQ(UnderWay("a"), 1U);
  EXPECT_EQ(lanes->waiting(), 0U);
}

// Requests with a Refuse function are refused instead of kept waiting.
TEST_F(RequestLanesTest, ABlamedLaneRefusesWhatItWouldNotSendSoon) {
  Make({.in_flight_max = 2, .late_beside_max = 0});
  int refused = 0;
  std::string why;
  const auto add = [&] {
    lanes->Add(
        "a",
        [this](RequestLanes::Ended ended) {
          under_way["a"].push_back(std::move(ended));
          return true;
        },
        [&](const std::string& said) {
          ++refused;
          why = said;
        });
  };
  for (int i = 0; i < 5; ++i) add();
  loop.Advance(seconds(1));
  ASSERT_TRUE(lanes->IsSlow("a"));
  EXPECT_EQ(refused, 0) << "the server may be slow for all";
  AnswerQuickly("works", 7);
  EXPECT_EQ(refused, 0);
  AnswerQuickly("works", 1);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(why, "have had no answer for 1.24s, while the API server answers others within 30ms");
  add();
  EXPECT_EQ(refused, 4);
  Add("a");
  EXPECT_EQ(lanes->waiting(), 1U) << "this one waits all the same";
  Answer("a", 2);
  EXPECT_EQ(UnderWay("a"), 1U);
  Answer("a");
  add();
  EXPECT_EQ(refused, 4) << "it may be sent at once";
  EXPECT_EQ(UnderWay("a"), 1U);
}

// An API server that is short of time answers everybody late, and nobody is to blame. A request waits for as long as it
// takes.
TEST_F(RequestLanesTest, NobodyIsBlamedWhenAllAreLate) {
  Make({.in_flight_max = 8});
  int refused = 0;
  int sent = 0;
  std::deque<std::pair<Time, RequestLanes::Ended>> at_the_server;
  Random random(7);
  const auto add = [&](const std::string& lane) {
    lanes->Add(
        lane,
        [&](RequestLanes::Ended ended) {
          ++sent;
          const auto takes = milliseconds(300 + static_cast<std::int64_t>(random.Below(2700)));
          at_the_server.emplace_back(loop.Now() + takes, std::move(ended));
          return true;
        },
        [&refused](const std::string&) { ++refused; });
  };
  for (int i = 0; i < 300; ++i) add("a");
  for (int i = 0; i < 30; ++i) add("b");
  int most = 0;
  for (int tick = 0; tick < 20'000 && lanes->waiting() + at_the_server.size() > 0; ++tick) {
    loop.Advance(milliseconds(10));
    most = std::max(most, lanes->all_in_flight());
    for (std::size_t i = at_the_server.size(); i-- > 0;) {
      if (at_the_server[i].first > loop.Now()) continue;
      const RequestLanes::Ended ended = at_the_server[i].second;
      at_the_server.erase(at_the_server.begin() + static_cast<std::ptrdiff_t>(i));
      ended(RequestEnd::kAnswered);
    }
  }
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(sent, 330);
  EXPECT_LE(most, 32);
}

// A server that cannot be reached says so sooner than any webhook.
TEST_F(RequestLanesTest, WhatDidNotReachTheServerSaysNothing) {
  Make({.in_flight_max = 4});
  Add("a", 2);
  Add("away", 2);
  loop.Advance(milliseconds(1500));
  for (int i = 0; i < 10; ++i) {
    Add("away");
    for (const RequestLanes::Ended& ended : std::exchange(under_way["away"], {})) ended(RequestEnd::kNotReached);
    loop.Advance(milliseconds(200));
  }
  EXPECT_FALSE(lanes->IsBlamed("a"));
}

// As long as the webhook of some pods hangs, those of others are answered.
TEST_F(RequestLanesTest, ALaneIsBlamedForManyLateOnesThoughItIsAnswered) {
  Make({.in_flight_max = 16, .blamed_late_min = 8});
  Add("a", 16);
  Add("works", 3);
  loop.Advance(seconds(1));
  Answer("a", 1);
  Answer("works", 3);
  AnswerQuickly("works", 8);
  EXPECT_FALSE(lanes->IsBlamed("a")) << "the server may have become quick just now";
  loop.Advance(seconds(9));
  AnswerQuickly("works", 8);
  EXPECT_TRUE(lanes->IsBlamed("a"));
  Make({.in_flight_max = 16, .blamed_late_min = 8});
  under_way.clear();
  Add("a", 4);
  Add("works", 3);
  loop.Advance(milliseconds(500));
  Answer("a", 1);
  loop.Advance(milliseconds(500));
  Answer("works", 3);
  AnswerQuickly("works", 20);
  EXPECT_FALSE(lanes->IsBlamed("a")) << "answers are lost now and then";
}

TEST_F(RequestLanesTest, OneGoesFirst) {
  Make({.in_flight_max = 1});
  Add("a", 2);
  bool was_first = false;
  lanes->AddFirst("a", [&](const RequestLanes::Ended&) {
    was_first = order.size() == 1;
    return false;
  });
  Answer("a");
  EXPECT_TRUE(was_first);
}

TEST_F(RequestLanesTest, NothingIsSentAtZero) {
  Make({.in_flight_max = 4});
  Add("slow", 5);
  loop.Advance(seconds(1));
  lanes->SetInFlightMax(0);
  Add("a", 3);
  Answer("slow", 4);
  EXPECT_EQ(UnderWay("a"), 0U);
  EXPECT_EQ(UnderWay("slow"), 0U);
  lanes->SetInFlightMax(2);
  EXPECT_EQ(UnderWay("a"), 2U);
  EXPECT_EQ(UnderWay("slow"), 1U);
}

TEST_F(RequestLanesTest, SlowLanesAreForgottenWhenThereAreTooMany) {
  Make({.in_flight_max = 1, .idle_slow_max = 2});
  for (const char* lane : {"a", "b", "c"}) {
    Add(lane);
    loop.Advance(seconds(1));
    Answer(lane);
  }
  EXPECT_FALSE(lanes->IsSlow("a"));
  EXPECT_TRUE(lanes->IsSlow("b"));
  EXPECT_TRUE(lanes->IsSlow("c"));
}

TEST_F(RequestLanesTest, AnswersWithinTheCallAndAfterTheEnd) {
  Make({.in_flight_max = 1});
  for (int i = 0; i < 1000; ++i) {
    lanes->Add("a", [](const RequestLanes::Ended& ended) {
      ended(RequestEnd::kAnswered);
      return true;
    });
  }
  EXPECT_EQ(lanes->all_in_flight(), 0);
  Add("a", 2);
  lanes.reset();
  Answer("a");
  loop.Advance(seconds(2));
  EXPECT_EQ(UnderWay("a"), 0U);
}

}  // namespace
}  // namespace berth::client
