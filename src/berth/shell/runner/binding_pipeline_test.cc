// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/binding_pipeline.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::runner {
namespace {

using client::FakeTransport;
using std::chrono::milliseconds;

// Windows of answers that all take `latency`, with as many under way as the limit allows.
void Answer(ConcurrencyLimit& limit, Duration latency, int windows) {
  for (int window = 0; window < windows; ++window) {
    const int in_flight = limit.limit();
    for (int i = 0; i < std::max(16, in_flight); ++i) limit.Answered(latency, in_flight);
  }
}

TEST(ConcurrencyLimitTest, FollowsTheLatency) {
  ConcurrencyLimit limit(4, 64);
  EXPECT_EQ(limit.limit(), 4);
  Answer(limit, milliseconds(2), 40);
  EXPECT_EQ(limit.limit(), 64) << "answers come as fast as ever, so there may be more of them";
  Answer(limit, milliseconds(20), 10);
  const int slowed = limit.limit();
  EXPECT_LT(slowed, 16) << "ten times as slow: the server does them one after the other";
  EXPECT_GE(slowed, 4);
  Answer(limit, milliseconds(2), 40);
  EXPECT_EQ(limit.limit(), 64) << "and up again";
}

TEST(ConcurrencyLimitTest, TakesAServerThatStaysSlowForWhatItIs) {
  ConcurrencyLimit limit(4, 64);
  Answer(limit, milliseconds(1), 40);
  Answer(limit, milliseconds(10), 4000);
  EXPECT_EQ(limit.limit(), 64);
}

TEST(ConcurrencyLimitTest, DoesNotGrowBeyondWhatIsUsed) {
  ConcurrencyLimit limit(4, 64);
  for (int i = 0; i < 10'000; ++i) limit.Answered(milliseconds(2), 2);
  EXPECT_EQ(limit.limit(), 4);
}

TEST(ConcurrencyLimitTest, GivesWayOnceAWindowWhenItIsPushedBack) {
  ConcurrencyLimit limit(4, 64);
  Answer(limit, milliseconds(2), 40);
  for (int i = 0; i < 10; ++i) limit.PushedBack();
  EXPECT_EQ(limit.limit(), 48);
  Answer(limit, milliseconds(2), 1);
  EXPECT_EQ(limit.limit(), 48);
  limit.PushedBack();
  EXPECT_EQ(limit.limit(), 36);
}

TEST(ConcurrencyLimitTest, StaysWithinItsBounds) {
  ConcurrencyLimit limit(3, 2);
  Answer(limit, milliseconds(2), 10);
  EXPECT_EQ(limit.limit(), 3);
  for (int i = 0; i < 10; ++i) {
    limit.PushedBack();
    Answer(limit, milliseconds(500), 1);
    Answer(limit, Duration::zero(), 1);
  }
  EXPECT_EQ(limit.limit(), 3);
}

class BindingPipelineTest : public ::testing::Test {
 protected:
  void Bind(int count, const std::string& namespace_name = "default") {
    for (int i = 0; i < count; ++i) {
      const std::string name = "p" + std::to_string(next_++);
      pipeline->Bind({namespace_name, name, "uid-" + name}, "n1", [this, name](const Expected<void>& result) {
        done.push_back(name + (result.ok() ? "" : " " + result.error().message));
      });
    }
  }

  client::FakeLoop loop;
  FakeTransport transport;
  client::RestClient rest{loop, transport, nullptr, 1};
  client::ApiWriter api{rest};
  std::vector<bool> busy;
  std::unique_ptr<BindingPipeline> pipeline =
      std::make_unique<BindingPipeline>(api, loop, BindingPipeline::Options{.in_flight_min = 2, .in_flight_max = 32},
                                        [this](bool is_busy) { busy.push_back(is_busy); });
  std::vector<std::string> done;
  int next_ = 0;
};

TEST_F(BindingPipelineTest, SendsSoManyAtOnceAndTheOthersInTheirOrder) {
  Bind(5);
  EXPECT_EQ(transport.Waiting(), 2U);
  EXPECT_EQ(pipeline->waiting(), 3U);
  const auto first = transport.Next();
  const auto second = transport.Next();
  EXPECT_EQ(first->request.target, "/api/v1/namespaces/default/pods/p0/binding");
  second->Answer(201, "{}");
  EXPECT_EQ(done, std::vector<std::string>{"p1"});
  EXPECT_EQ(transport.Next()->request.target, "/api/v1/namespaces/default/pods/p2/binding");
  first->Answer(409, R"({"kind":"Status","message":"taken"})");
  EXPECT_EQ(done, (std::vector<std::string>{"p1", "p0 taken"}));
  EXPECT_EQ(pipeline->waiting(), 1U);
}

TEST_F(BindingPipelineTest, ReportsWhenItIsBusy) {
  Bind(1);
  EXPECT_EQ(busy, std::vector<bool>{true});
  transport.Next()->Answer(201, "{}");
  EXPECT_EQ(busy, (std::vector<bool>{true, false}));
}

TEST_F(BindingPipelineTest, SendsMoreWhileAnswersComeFast) {
  Bind(400);
  for (int i = 0; i < 399; ++i) {
    loop.Advance(milliseconds(1));
    transport.Next()->Answer(201, "{}");
  }
  // A server that does one after the other: with more under way each takes longer, and no more are sent.
  EXPECT_LT(pipeline->limit(), 16);
  EXPECT_GE(pipeline->limit(), 2);
  Bind(2000);
  for (int i = 0; i < 40; ++i) {
    loop.Advance(milliseconds(1));
    for (std::size_t j = transport.Waiting(); j > 0; --j) transport.Next()->Answer(201, "{}");
  }
  EXPECT_EQ(pipeline->limit(), 32) << "a server that does all at once";
}

TEST_F(BindingPipelineTest, LearnsNothingFromAServerThatIsAway) {
  Bind(200);
  for (int i = 0; i < 4 * 200; ++i) {
    while (transport.Waiting() == 0) loop.Advance(milliseconds(10));
    transport.Next()->Fail(ErrorCode::kUnavailable, false);
  }
  EXPECT_EQ(pipeline->limit(), 2);
  EXPECT_EQ(done.size(), 200U);
  EXPECT_FALSE(busy.back());
}

TEST_F(BindingPipelineTest, AnswersThatComeAtOnceAreNoRecursion) {
  transport.on_send = [](FakeTransport::Call& call) { call.Answer(201, "{}"); };
  Bind(100'000);
  EXPECT_EQ(done.size(), 100'000U);
}

// A webhook of one namespace hangs.
TEST_F(BindingPipelineTest, ANamespaceThatIsNotAnsweredHoldsNoOther) {
  Bind(200, "stuck");
  std::vector<std::shared_ptr<FakeTransport::Call>> stuck;
  while (transport.Waiting() > 0) stuck.push_back(transport.Next());
  loop.Advance(std::chrono::seconds(1));
  Bind(100, "other");
  for (int i = 0; i < 100; ++i) {
    loop.Advance(milliseconds(1));
    auto call = transport.Next();
    if (i == 0) {
      // One beside the late ones, as an answer may have been lost.
      ASSERT_NE(call->request.target.find("/stuck/"), std::string::npos) << call->request.target;
      stuck.push_back(call);
      call = transport.Next();
    }
    ASSERT_NE(call->request.target.find("/other/"), std::string::npos) << call->request.target;
    call->Answer(201, "{}");
  }
  EXPECT_EQ(
      std::count_if(done.begin(), done.end(), [](const std::string& d) { return d.find(' ') == std::string::npos; }),
      100);
  EXPECT_EQ(std::count_if(done.begin(), done.end(), [](const std::string& d) { return d.ends_with("not sent"); }), 197);
  EXPECT_FALSE(busy.back()) << "events need not stand back for what hangs";
  EXPECT_TRUE(std::any_of(done.begin(), done.end(), [](const std::string& d) {
    return d.find(" bindings of namespace \"stuck\" have had no answer for 1.") != std::string::npos &&
           d.ends_with("ms (an admission webhook of pods/binding?): not sent");
  })) << done.back();
  const int limit = pipeline->limit();
  for (const auto& call : stuck) call->Fail(ErrorCode::kTimeout, true);
  EXPECT_EQ(pipeline->limit(), limit) << "the server is not slower for the others";
}

// What waits for a server that is slow for all waits, however long it takes.
TEST_F(BindingPipelineTest, NothingIsRefusedByASlowServer) {
  Bind(200);
  for (int i = 0; i < 200; ++i) {
    loop.Advance(milliseconds(1500));
    ASSERT_GT(transport.Waiting(), 0U) << i;
    transport.Next()->Answer(201, "{}");
  }
  EXPECT_EQ(done.size(), 200U);
  EXPECT_TRUE(std::none_of(done.begin(), done.end(), [](const std::string& d) { return d.ends_with("not sent"); }));
}

// As an overloaded kube-apiserver does it (API priority and fairness).
TEST_F(BindingPipelineTest, WhatTheServerPutsOffHoldsNothingUp) {
  constexpr std::string_view kBusy = R"({"kind":"Status","reason":"TooManyRequests","message":"try again later"})";
  Bind(1);
  transport.Next()->Answer(429, std::string(kBusy), {{"Retry-After", "2"}});
  Bind(100);
  for (int i = 0; i < 100; ++i) {
    loop.Advance(milliseconds(15));
    transport.Next()->Answer(201, "{}");
  }
  EXPECT_EQ(done.size(), 100U) << "nothing was refused";
  EXPECT_EQ(transport.Waiting(), 0U) << "the server asked for two seconds";
  loop.Advance(std::chrono::seconds(1));
  EXPECT_EQ(transport.Next()->request.target, "/api/v1/namespaces/default/pods/p0/binding");
}

TEST_F(BindingPipelineTest, GivesUpWhatIsPutOffAgainAndAgain) {
  Bind(1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(done.empty());
    while (transport.Waiting() == 0) loop.Advance(milliseconds(10));
    transport.Next()->Answer(429, R"({"kind":"Status","reason":"TooManyRequests","message":"busy"})");
  }
  EXPECT_EQ(done, std::vector<std::string>{"p0 busy"});
}

// A proxy's 504, say, where the server is well.
TEST_F(BindingPipelineTest, ATimeOutThatIsReportedAtOnceHoldsNothingUp) {
  Bind(100);
  for (int i = 0; i < 100; ++i) {
    loop.Advance(milliseconds(1));
    ASSERT_GT(transport.Waiting(), 0U) << i;
    transport.Next()->Fail(ErrorCode::kTimeout, true);
  }
  EXPECT_EQ(done.size(), 100U);
}

TEST_F(BindingPipelineTest, DiesWithBindingsUnderWay) {
  Bind(5);
  pipeline.reset();
  transport.Next()->Answer(201, "{}");
  EXPECT_EQ(done.size(), 1U);
}

}  // namespace
}  // namespace berth::runner
