// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/status_writer.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/codec/json.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::runner {
namespace {

using client::FakeTransport;
using framework::PodStatusWrite;

PodStatusWrite Unschedulable(const std::string& pod, std::string message) {
  PodStatusWrite write;
  write.pod = {"default", pod, "uid-" + pod, "7"};
  write.has_condition = true;
  write.condition_type = "PodScheduled";
  write.condition_status = "False";
  write.condition_reason = "Unschedulable";
  write.condition_message = std::move(message);
  return write;
}

PodStatusWrite Nomination(const std::string& pod, std::string node) {
  PodStatusWrite write;
  write.pod = {"default", pod, "uid-" + pod, "7"};
  write.has_nomination = true;
  write.nominated_node_name = std::move(node);
  return write;
}

class StatusWriterTest : public ::testing::Test {
 protected:
  // The message of the condition in a patch; empty when it has none.
  static std::string Message(const FakeTransport::Call& call) {
    const auto document = codec::ParseJson(call.request.body);
    if (!document.ok()) return "no JSON: " + call.request.body;
    const auto* conditions = document->at("status").as_object().if_contains("conditions");
    return conditions == nullptr ? "" : std::string(conditions->as_array().at(0).at("message").as_string());
  }
  static std::string Nominated(const FakeTransport::Call& call) {
    const auto document = codec::ParseJson(call.request.body);
    const auto* name = document->at("status").as_object().if_contains("nominatedNodeName");
    if (name == nullptr) return "not there";
    return name->is_null() ? "null" : std::string(name->as_string());
  }
  std::function<void()> Count() {
    return [this] { ++settled; };
  }

  client::FakeLoop loop;
  FakeTransport transport;
  client::RestClient rest{loop, transport, nullptr, 1};
  // One try: what is tried again here is the status writer's own doing.
  client::ApiWriter api{rest, {.timeout = std::chrono::seconds(30), .tries = 1}};
  std::unique_ptr<StatusWriter> writer = std::make_unique<StatusWriter>(api, loop);
  int settled = 0;
};

TEST(StatusPatchTest, WritesWhatIsToBeSaid) {
  const Time now = *ParseRfc3339("2026-01-02T03:04:05Z");
  PodStatusWrite both = Unschedulable("a", "0/1 nodes are available");
  both.has_nomination = true;
  both.nominated_node_name = "n1";
  both.observed_generation = 3;
  PodStatusWrite same = Unschedulable("a", "still");
  same.is_transition = false;
  struct Case {
    const char* name;
    PodStatusWrite write;
    const char* want;
  };
  const Case cases[] = {
      {"condition that changed", Unschedulable("a", "no \"room\""),
       R"({"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no \"room\"",)"
       R"("lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"}]}})"},
      {"condition that was false before keeps its time", same,
       R"({"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"still",)"
       R"("lastProbeTime":null}]}})"},
      {"both, with the generation that was looked at", both,
       R"({"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
       R"("message":"0/1 nodes are available","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z",)"
       R"("observedGeneration":3}],"nominatedNodeName":"n1"}})"},
      {"nomination", Nomination("a", "n1"), R"({"status":{"nominatedNodeName":"n1"}})"},
      {"nomination withdrawn", Nomination("a", ""), R"({"status":{"nominatedNodeName":null}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(StatusPatch(c.write, now), c.want) << c.name;
}

TEST_F(StatusWriterTest, SendsAPatchWithThePodsUid) {
  writer->Write(Unschedulable("web", "no room"));
  EXPECT_EQ(writer->pending(), 1u);
  const auto call = transport.Next();
  EXPECT_EQ(call->request.method, "PATCH");
  EXPECT_EQ(call->request.target, "/api/v1/namespaces/default/pods/web/status");
  EXPECT_EQ(client::FindHeader(call->request, "Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_NE(call->request.body.find(R"("uid":"uid-web")"), std::string::npos) << call->request.body;
  call->Answer(200, "{}");
  loop.Run();
  EXPECT_EQ(writer->pending(), 0u);
  EXPECT_EQ(transport.Waiting(), 0u);
}

TEST_F(StatusWriterTest, TheNewestWins) {
  writer->Write(Unschedulable("web", "first"));
  writer->Write(Unschedulable("web", "second"));
  writer->Write(Unschedulable("web", "third"));
  EXPECT_EQ(writer->pending(), 1u);
  ASSERT_EQ(transport.Waiting(), 1u) << "one patch of a pod is under way at a time";
  const auto first = transport.Next();
  EXPECT_EQ(Message(*first), "first");
  first->Answer(200, "{}");
  loop.Run();
  const auto last = transport.Next();
  EXPECT_EQ(Message(*last), "third") << "the one between was never sent";
  last->Answer(200, "{}");
  loop.Run();
  EXPECT_EQ(writer->pending(), 0u);
  EXPECT_EQ(transport.all_targets.size(), 2u);
}

TEST_F(StatusWriterTest, ANewerPatchTakesOverWhatItDoesNotSay) {
  writer->Write(Unschedulable("web", "in flight"));
  writer->Write(Nomination("web", "n1"));
  PodStatusWrite unchanged = Unschedulable("web", "newest");
  unchanged.is_transition = false;
  writer->Write(unchanged);
  transport.Next()->Answer(200, "{}");
  loop.Run();
  const auto merged = transport.Next();
  EXPECT_EQ(Message(*merged), "newest");
  EXPECT_EQ(Nominated(*merged), "n1");
  merged->Fail(ErrorCode::kUnavailable, true);
  // A patch that failed is written with the newer one, apart from fields that the newer one sets.
  writer->Write(Nomination("web", ""));
  loop.Advance(std::chrono::seconds(1));
  const auto again = transport.Next();
  EXPECT_EQ(Message(*again), "newest");
  EXPECT_EQ(Nominated(*again), "null");
}

TEST_F(StatusWriterTest, ATransitionThatWasNotWrittenIsNotLost) {
  writer->Write(Unschedulable("web", "in flight"));
  transport.Next()->Fail(ErrorCode::kUnavailable, true);
  PodStatusWrite unchanged = Unschedulable("web", "newer");
  unchanged.is_transition = false;
  writer->Write(unchanged);
  loop.Advance(std::chrono::seconds(1));
  const auto call = transport.Next();
  EXPECT_EQ(Message(*call), "newer");
  EXPECT_NE(call->request.body.find("lastTransitionTime"), std::string::npos) << call->request.body;
}

TEST_F(StatusWriterTest, WritesTheTimeOfDayAndWaitsByAnother) {
  loop.StepWall(-std::chrono::hours(1));
  const std::string hour = FormatRfc3339(loop.WallNow()).substr(0, 14);
  writer->Write(Unschedulable("web", "late"));
  transport.Next()->Fail(ErrorCode::kUnavailable, true);
  loop.Advance(std::chrono::seconds(1));
  const auto again = transport.Next();
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again->request.body.find(hour), std::string::npos) << again->request.body;
}

// A webhook of one namespace hangs.
TEST_F(StatusWriterTest, ANamespaceThatIsNotAnsweredHoldsNoOther) {
  for (int i = 0; i < 100; ++i) {
    PodStatusWrite write = Unschedulable("stuck-" + std::to_string(i), "no room");
    write.pod.namespace_name = "stuck";
    writer->Write(write);
  }
  while (transport.Waiting() > 0) transport.Next();
  loop.Advance(std::chrono::seconds(1));
  writer->Write(Unschedulable("web", "no room"));
  const auto call = transport.Next();
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->request.target, "/api/v1/namespaces/default/pods/web/status");
}

TEST_F(StatusWriterTest, TriesAgainLaterAndLater) {
  writer->Write(Unschedulable("web", "no room"));
  std::vector<int> waits;
  for (int i = 0; i < 9; ++i) {
    transport.Next()->Fail(ErrorCode::kUnavailable, true);
    loop.Run();
    ASSERT_EQ(transport.Waiting(), 0u) << "not at once";
    EXPECT_EQ(writer->pending(), 1u);
    const Duration wait = loop.UntilTimer();
    waits.push_back(static_cast<int>(wait / std::chrono::milliseconds(1)));
    loop.Advance(wait);
    ASSERT_EQ(transport.Waiting(), 1u);
  }
  EXPECT_EQ(waits, (std::vector<int>{200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000}));
  transport.Next()->Answer(200, "{}");
  loop.Run();
  EXPECT_EQ(writer->pending(), 0u);
  loop.Advance(std::chrono::minutes(2));  // the last minute's latency has been reported
  EXPECT_EQ(loop.TimerCount(), 0u);
  // Success starts the waits over.
  writer->Write(Unschedulable("web", "again"));
  transport.Next()->Fail(ErrorCode::kUnavailable, true);
  loop.Run();
  EXPECT_EQ(loop.UntilTimer(), std::chrono::milliseconds(200));
}

TEST_F(StatusWriterTest, WaitsForAsLongAsTheServerSays) {
  writer->Write(Unschedulable("web", "no room"));
  transport.Next()->Answer(429, R"({"kind":"Status","reason":"TooManyRequests"})", {{"Retry-After", "3"}});
  loop.Run();
  EXPECT_EQ(loop.UntilTimer(), std::chrono::seconds(3));
  loop.Advance(std::chrono::seconds(3));
  EXPECT_EQ(transport.Waiting(), 1u);
}

TEST_F(StatusWriterTest, ANewerPatchDoesNotJumpTheWait) {
  writer->Write(Unschedulable("web", "first"));
  transport.Next()->Fail(ErrorCode::kUnavailable, true);
  writer->Write(Unschedulable("web", "second"));
  loop.Run();
  EXPECT_EQ(transport.Waiting(), 0u);
  loop.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Message(*transport.Next()), "second");
}

TEST_F(StatusWriterTest, DistinguishesPassingErrorsFromLastingOnes) {
  struct Case {
    const char* name;
    int status;
    const char* reason;
    bool is_retried;
    const char* message = "";
  };
  const Case cases[] = {
      {"too many requests", 429, "TooManyRequests", true},
      {"server in trouble", 500, "InternalError", true},
      {"unavailable", 503, "ServiceUnavailable", true},
      {"gateway timeout", 504, "Timeout", true},
      {"the pod is gone", 404, "NotFound", false},
      {"another pod of its name, or a write between", 409, "Conflict", true},
      {"rules not read yet", 403, "Forbidden", true},
      {"not known yet", 401, "Unauthorized", true},
      {"refused", 422, "Invalid", false},
      {"no such request", 400, "BadRequest", false},
      {"denied by admission", 400, "BadRequest", true, R"(admission webhook \"w\" denied the request: no)"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    writer = std::make_unique<StatusWriter>(api, loop);
    writer->Write(Unschedulable("web", "no room"));
    transport.Next()->Answer(
        c.status, std::string(R"({"kind":"Status","reason":")") + c.reason + R"(","message":")" + c.message + R"("})");
    loop.Run();
    EXPECT_EQ(writer->pending(), c.is_retried ? 1u : 0u);
    loop.Advance(std::chrono::seconds(60));
    EXPECT_EQ(transport.Waiting(), c.is_retried ? 1u : 0u);
    if (transport.Waiting() > 0) transport.Next()->Answer(200, "{}");
    loop.Run();
  }
}

TEST_F(StatusWriterTest, WhatIsForbiddenForGoodIsGivenUp) {
  const auto tries_until_given_up = [this](int status, const std::string& body) {
    writer->Write(Unschedulable("web", "no room"));
    int tries = 0;
    while (transport.Waiting() > 0 && tries < 100) {
      ++tries;
      transport.Next()->Answer(status, body);
      loop.Advance(std::chrono::seconds(60));
    }
    return tries;
  };
  EXPECT_EQ(tries_until_given_up(403, R"({"kind":"Status","reason":"Forbidden"})"), 12);
  EXPECT_EQ(writer->pending(), 0u);
  EXPECT_EQ(
      tries_until_given_up(
          400, R"({"kind":"Status","reason":"BadRequest","message":"admission webhook \"w\" denied the request: no"})"),
      12);
  EXPECT_EQ(writer->pending(), 0u);
  // A later patch gets tries of its own.
  writer->Write(Unschedulable("web", "still no room"));
  EXPECT_EQ(transport.Waiting(), 1u);
  transport.Next()->Answer(200, "{}");
  loop.Run();
  // A webhook that is away may come back at any time.
  EXPECT_EQ(
      tries_until_given_up(
          500,
          R"({"kind":"Status","reason":"InternalError","message":"Internal error occurred: failed calling webhook"})"),
      100);
}

TEST_F(StatusWriterTest, WhatFollowsAboutAPodThatIsGoneIsDropped) {
  writer->Write(Unschedulable("web", "first"));
  writer->Write(Unschedulable("web", "second"));
  transport.Next()->Answer(404, R"({"kind":"Status","reason":"NotFound"})");
  loop.Advance(std::chrono::seconds(60));
  EXPECT_EQ(transport.Waiting(), 0u);
  EXPECT_EQ(writer->pending(), 0u);
}

TEST_F(StatusWriterTest, ARefusedPatchDoesNotStopTheNextOne) {
  writer->Write(Unschedulable("web", "refused"));
  writer->Write(Unschedulable("web", "second"));
  transport.Next()->Answer(422, R"({"kind":"Status","reason":"Invalid"})");
  loop.Run();
  EXPECT_EQ(Message(*transport.Next()), "second");
}

TEST_F(StatusWriterTest, SettlesAtOnceWhenNothingIsUnderWay) {
  writer->Settle("uid-web", Count());
  EXPECT_EQ(settled, 1);
  // Backing off is not under way: the patch is dropped.
  writer->Write(Unschedulable("web", "no room"));
  transport.Next()->Fail(ErrorCode::kUnavailable, true);
  loop.Run();
  writer->Settle("uid-web", Count());
  EXPECT_EQ(settled, 2);
  EXPECT_EQ(writer->pending(), 0u);
  loop.Advance(std::chrono::seconds(60));
  EXPECT_EQ(transport.Waiting(), 0u) << "a late patch would follow the binding";
}

TEST_F(StatusWriterTest, SettlesOnceWhatIsUnderWayHasEnded) {
  struct Case {
    const char* name;
    int status;
  };
  for (const Case& c : {Case{"written", 200}, Case{"failed for a passing reason", 503}, Case{"gone", 404}}) {
    SCOPED_TRACE(c.name);
    settled = 0;
    writer->Write(Unschedulable("web", "under way"));
    writer->Write(Unschedulable("web", "waits"));
    writer->Settle("uid-web", Count());
    loop.Run();
    EXPECT_EQ(settled, 0);
    transport.Next()->Answer(c.status, "{}");
    loop.Run();
    EXPECT_EQ(settled, 1);
    loop.Advance(std::chrono::seconds(60));
    EXPECT_EQ(settled, 1);
    EXPECT_EQ(transport.Waiting(), 0u) << "neither the one that waited nor another try";
    EXPECT_EQ(writer->pending(), 0u);
  }
}

TEST_F(StatusWriterTest, SettlingOnePodLeavesTheOthers) {
  writer->Write(Unschedulable("a", "a"));
  writer->Write(Unschedulable("b", "b"));
  writer->Settle("uid-a", Count());
  transport.Next()->Answer(200, "{}");
  EXPECT_EQ(settled, 1);
  EXPECT_EQ(writer->pending(), 1u);
  EXPECT_EQ(Message(*transport.Next()), "b");
}

TEST_F(StatusWriterTest, AnewPatchAfterSettlingIsSent) {
  writer->Write(Unschedulable("web", "dropped"));
  transport.Next()->Fail(ErrorCode::kUnavailable, true);
  writer->Settle("uid-web", Count());
  // The binding failed, and the pod does not fit any more.
  writer->Write(Unschedulable("web", "after"));
  loop.Run();
  ASSERT_EQ(transport.Waiting(), 1u);
  EXPECT_EQ(Message(*transport.Next()), "after");
}

TEST_F(StatusWriterTest, OnlySoManyAreUnderWayAtOnce) {
  const std::size_t pods = StatusWriter::kInFlightMax * 2 + 3;
  for (std::size_t i = 0; i < pods; ++i) writer->Write(Unschedulable("p" + std::to_string(i), std::to_string(i)));
  EXPECT_EQ(transport.Waiting(), StatusWriter::kInFlightMax);
  EXPECT_EQ(writer->pending(), pods);
  // A dropped patch gives its place in the lane to the next one. Patches are sent in the order of the writes.
  writer->Settle("uid-p16", Count());
  for (std::size_t i = 0; i < pods; ++i) {
    if (i == 16) continue;
    const auto call = transport.Next();
    EXPECT_EQ(Message(*call), std::to_string(i));
    call->Answer(200, "{}");
    loop.Run();
    EXPECT_LE(transport.Waiting(), StatusWriter::kInFlightMax);
  }
  EXPECT_EQ(writer->pending(), 0u);
}

TEST_F(StatusWriterTest, OnesThatBackOffTakeNoPlace) {
  for (std::size_t i = 0; i <= StatusWriter::kInFlightMax; ++i)
    writer->Write(Unschedulable("p" + std::to_string(i), "m"));
  for (std::size_t i = 0; i < StatusWriter::kInFlightMax; ++i) transport.Next()->Fail(ErrorCode::kUnavailable, true);
  loop.Run();
  EXPECT_EQ(transport.Waiting(), 1u);
}

TEST_F(StatusWriterTest, AnswersAndTimersAfterItsEndDoNothing) {
  writer->Write(Unschedulable("a", "under way"));
  writer->Write(Unschedulable("b", "backs off"));
  const auto under_way = transport.Next();
  transport.Next()->Fail(ErrorCode::kUnavailable, true);
  writer.reset();
  under_way->Answer(503, "{}");
  loop.Advance(std::chrono::seconds(60));
  EXPECT_EQ(transport.Waiting(), 0u);
}

}  // namespace
}  // namespace berth::runner
