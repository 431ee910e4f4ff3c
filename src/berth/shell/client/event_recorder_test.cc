// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_recorder.h"

#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/api/encode_protobuf.h"
#include "berth/codec/json.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

Event Scheduled(const std::string& pod, const std::string& version = "7") {
  Event event;
  event.reason = "Scheduled";
  event.action = "Binding";
  event.note = "Successfully assigned default/" + pod + " to n1";
  event.regarding = {"v1", "Pod", "default", pod, "uid-" + pod, version};
  event.scheduler_name = "default-scheduler";
  return event;
}

class EventRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override { Make({}); }
  void Make(EventRecorderOptions options) {
    options.hostname = "host-1";
    recorder = std::make_unique<EventRecorder>(rest, options);
  }
  void Record(Event event) {
    recorder->Record(std::move(event));
    loop.Run();
  }
  // Answers all waiting requests, and those that follow from the answers.
  std::vector<std::string> AnswerAll(int status = 201) {
    std::vector<std::string> targets;
    while (transport.Waiting() > 0) {
      const auto call = transport.Next();
      targets.push_back(call->request.method + ' ' + call->request.target);
      call->Answer(status, "{}");
      loop.Run();
    }
    return targets;
  }

  FakeLoop loop;
  FakeTransport transport;
  RestClient rest{loop, transport, nullptr, 1};
  std::unique_ptr<EventRecorder> recorder;
};

TEST_F(EventRecorderTest, WritesTheEvent) {
  Event event = Scheduled("web-1");
  event.related = ObjectReference{"v1", "Node", "", "n1", "uid-n1", ""};
  Record(event);
  const auto call = transport.Next();
  EXPECT_EQ(call->request.method + ' ' + call->request.target, "POST /apis/events.k8s.io/v1/namespaces/default/events");
  const auto body = codec::ParseJson(call->request.body);
  ASSERT_TRUE(body.ok());
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(loop.Now().time_since_epoch()).count();
  char name[64];
  std::snprintf(name, sizeof name, "web-1.%llx", static_cast<unsigned long long>(ns));
  const auto want =
      codec::ParseJson(R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"namespace":"default","name":")" +
                       std::string(name) + R"("},"eventTime":")" + FormatRfc3339Micro(loop.Now()) +
                       R"(","reportingController":"default-scheduler",
      "reportingInstance":"default-scheduler-host-1","action":"Binding","reason":"Scheduled",
      "regarding":{"kind":"Pod","namespace":"default","name":"web-1","uid":"uid-web-1","apiVersion":"v1","resourceVersion":"7"},
      "related":{"kind":"Node","name":"n1","uid":"uid-n1","apiVersion":"v1"},
      "note":"Successfully assigned default/web-1 to n1","type":"Normal"})");
  ASSERT_TRUE(want.ok()) << want.error().message;
  EXPECT_EQ(*body, *want) << call->request.body;
  call->Answer(201, "{}");
  loop.Run();
  EXPECT_EQ(recorder->Stats().sent, 1U);
  EXPECT_EQ(recorder->Flush(Duration(0)), 0U);
}

TEST_F(EventRecorderTest, WritesTheTimeOfDay) {
  loop.StepWall(-std::chrono::hours(1));
  Record(Scheduled("web-1"));
  const auto call = transport.Next();
  EXPECT_NE(call->request.body.find(R"("eventTime":")" + FormatRfc3339Micro(loop.Now() - std::chrono::hours(1))),
            std::string::npos)
      << call->request.body;
}

// A webhook of one namespace hangs, and that of another fails.
TEST_F(EventRecorderTest, ANamespaceThatIsNotAnsweredHoldsNoOther) {
  for (int i = 0; i < 50; ++i) {
    Event event = Scheduled("stuck-" + std::to_string(i));
    event.regarding.namespace_name = i % 2 == 0 ? "stuck" : "failing";
    recorder->Record(std::move(event));
  }
  const auto answer = [this] {
    std::size_t ours = 0;
    for (std::size_t i = transport.Waiting(); i > 0; --i) {
      const auto call = transport.Next();
      if (call->request.target.find("/failing/") != std::string::npos) call->Answer(500, "{}");
      if (call->request.target.find("/default/") == std::string::npos) continue;
      call->Answer(201, "{}");
      ++ours;
    }
    loop.Run();
    return ours;
  };
  loop.Run();
  answer();
  loop.Advance(std::chrono::seconds(1));
  for (int i = 0; i < 50; ++i) recorder->Record(Scheduled("web-" + std::to_string(i)));
  std::size_t ours = 0;
  for (int i = 0; i < 60; ++i) {
    loop.Advance(std::chrono::milliseconds(10));
    ours += answer();
  }
  EXPECT_EQ(ours, 50U);
}

TEST_F(EventRecorderTest, FitsWhatTheServerAccepts) {
  struct Case {
    const char* name;
    std::string note;
    std::string want;
  };
  const Case cases[] = {
      {"fits", std::string(1024, 'x'), std::string(1024, 'x')},
      {"too long", std::string(1025, 'x'), std::string(1020, 'x') + " ..."},
      {"cut before half a character", std::string(1019, 'x') + "\xc3\xa4\xc3\xa4\xc3\xa4",
       std::string(1019, 'x') + " ..."},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Event event = Scheduled(std::string("pod-") + c.name);
    event.note = c.note;
    Record(std::move(event));
    const auto call = transport.Next();
    EXPECT_EQ(codec::ParseJson(call->request.body)->at("note").as_string(), c.want);
    call->Answer(201, "{}");
    loop.Run();
  }
  // A name with the time behind it would be too long.
  Event event = Scheduled(std::string(253, 'p'));
  event.regarding.uid = "0b5c-1";
  Record(std::move(event));
  const auto name =
      std::string(codec::ParseJson(transport.Next()->request.body)->at("metadata").at("name").as_string());
  EXPECT_THAT(name, ::testing::StartsWith("0b5c-1."));
}

TEST_F(EventRecorderTest, NamesEventsOfTheSameMomentApart) {
  std::set<std::string> names;
  for (const char* version : {"1", "2", "3"}) Record(Scheduled("web-1", version));
  for (int i = 0; i < 3; ++i) {
    names.insert(std::string(codec::ParseJson(transport.Next()->request.body)->at("metadata").at("name").as_string()));
  }
  EXPECT_EQ(names.size(), 3U);
}

TEST_F(EventRecorderTest, CountsRepetitions) {
  Record(Scheduled("web-1"));
  const auto created = transport.Next();
  const std::string name(codec::ParseJson(created->request.body)->at("metadata").at("name").as_string());
  created->Answer(201, "{}");
  loop.Run();

  // The first repetition is written at once. The note does not matter for whether two events are equal.
  Event again = Scheduled("web-1");
  again.note = "other words";
  loop.Advance(seconds(1));
  Record(again);
  auto patch = transport.Next();
  EXPECT_EQ(patch->request.method + ' ' + patch->request.target,
            "PATCH /apis/events.k8s.io/v1/namespaces/default/events/" + name);
  EXPECT_EQ(FindHeader(patch->request, "Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(patch->request.body,
            R"({"series":{"count":2,"lastObservedTime":")" + FormatRfc3339Micro(loop.Now()) + "\"}}");
  patch->Answer(200, "{}");
  loop.Run();

  // Further repetitions only raise the count, until the series ends or half an hour has passed.
  for (int i = 0; i < 10; ++i) {
    loop.Advance(minutes(3));
    Record(again);
    EXPECT_EQ(transport.Waiting(), 0U) << i;
  }
  loop.Advance(minutes(4));
  Record(again);
  loop.Advance(minutes(5));
  patch = transport.Next();
  EXPECT_THAT(patch->request.body, HasSubstr(R"("count":13)"));
  patch->Answer(200, "{}");
  loop.Run();
  Record(again);
  loop.Advance(minutes(13));
  patch = transport.Next();
  EXPECT_THAT(patch->request.body, HasSubstr(R"("count":14)"));
  patch->Answer(200, "{}");
  loop.Run();

  // The series is forgotten, so the next event is new. No timer runs once the last minute's latency has been reported.
  loop.Advance(minutes(2));
  EXPECT_EQ(loop.TimerCount(), 0U);
  Record(again);
  EXPECT_EQ(transport.Next()->request.method, "POST");
}

TEST_F(EventRecorderTest, ReportsRepetitionsOfAnEventThatIsStillOnItsWay) {
  Record(Scheduled("web-1"));
  const auto created = transport.Next();
  for (int i = 0; i < 4; ++i) Record(Scheduled("web-1"));
  EXPECT_EQ(transport.Waiting(), 0U) << "a patch of what is not there yet would fail";
  created->Answer(201, "{}");
  loop.Run();
  EXPECT_THAT(transport.Next()->request.body, HasSubstr(R"("count":5)"));
}

TEST_F(EventRecorderTest, TakesOtherObjectsAndVersionsForOtherEvents) {
  Record(Scheduled("web-1"));
  Record(Scheduled("web-1", "8"));
  Record(Scheduled("web-2"));
  Event warning = Scheduled("web-1");
  warning.is_warning = true;
  Record(warning);
  EXPECT_EQ(AnswerAll().size(), 4U);
  EXPECT_EQ(recorder->Stats().counted, 0U);
}

TEST_F(EventRecorderTest, SendsOnlySoManyAtOnce) {
  for (int i = 0; i < 20; ++i) Record(Scheduled("web-" + std::to_string(i)));
  EXPECT_EQ(transport.Waiting(), 8U);
  EXPECT_EQ(AnswerAll().size(), 20U);
}

TEST_F(EventRecorderTest, GathersWhatComesOneByOne) {
  Make({.gather = 100ms});
  Record(Scheduled("web-1"));
  loop.Advance(60ms);
  Record(Scheduled("web-2"));
  EXPECT_EQ(transport.Waiting(), 0U);
  loop.Advance(40ms);
  EXPECT_EQ(transport.Waiting(), 2U) << "the first has waited long enough";
  Record(Scheduled("web-3"));
  EXPECT_EQ(transport.Waiting(), 3U) << "while some are under way nothing waits";
  AnswerAll();
  Record(Scheduled("web-4"));
  EXPECT_EQ(transport.Waiting(), 0U);
  EXPECT_EQ(recorder->Flush(Duration(0)), 1U);
  loop.Run();
  EXPECT_EQ(transport.Waiting(), 1U) << "whoever waits for the last is not kept waiting";
  AnswerAll();
  loop.Advance(200ms);
  for (int i = 0; i < 64; ++i) Record(Scheduled("many-" + std::to_string(i)));
  EXPECT_GT(transport.Waiting(), 0U) << "enough have come";
}

TEST_F(EventRecorderTest, KeepsEverythingWhileTheServerIsAway) {
  struct Case {
    const char* name;
    std::function<void(FakeTransport::Call&)> fail;
  };
  const Case cases[] = {
      {"refused", [](FakeTransport::Call& c) { c.Fail(ErrorCode::kUnavailable, false); }},
      {"answer lost", [](FakeTransport::Call& c) { c.Fail(ErrorCode::kTimeout, true); }},
      {"503", [](FakeTransport::Call& c) { c.Answer(503, ""); }},
      {"429", [](FakeTransport::Call& c) { c.Answer(429, "", {{"Retry-After", "1"}}); }},
      {"credentials not there yet", [](FakeTransport::Call& c) { c.Answer(401, ""); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Make({});
    std::multiset<std::string> created;
    for (int i = 0; i < 20; ++i) Record(Scheduled("web-" + std::to_string(i)));
    while (transport.Waiting() > 0) c.fail(*transport.Next());
    loop.Run();
    // After that one event at a time is tried, never more often than the back-off allows.
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(transport.Waiting(), 0U);
      loop.Advance(seconds(10));
      ASSERT_GE(transport.Waiting(), 1U);
      ASSERT_LE(transport.Waiting(), 3U) << "one, and another when that is late";
      while (transport.Waiting() > 0) c.fail(*transport.Next());
      loop.Run();
    }
    loop.Advance(seconds(10));
    while (transport.Waiting() > 0) {
      const auto call = transport.Next();
      created.insert(std::string(codec::ParseJson(call->request.body)->at("regarding").at("name").as_string()));
      call->Answer(201, "{}");
      loop.Run();
    }
    EXPECT_EQ(created.size(), 20U);
    EXPECT_EQ(std::set<std::string>(created.begin(), created.end()).size(), 20U);
    EXPECT_EQ(recorder->Stats().sent, 20U);
    EXPECT_EQ(recorder->Stats().queued, 0U);
  }
}

// A webhook of one namespace must not count as the server, whatever status code it chooses.
TEST_F(EventRecorderTest, ADenialHoldsUpNoOtherEvent) {
  for (const int status : {401, 429, 503}) {
    SCOPED_TRACE(status);
    Make({});
    for (int i = 0; i < 20; ++i) Record(Scheduled("web-" + std::to_string(i)));
    for (int answered = 0; transport.Waiting() > 0; ++answered) {
      const bool is_denied = answered < 10;
      transport.Next()->Answer(
          is_denied ? status : 201,
          is_denied ? R"({"kind":"Status","message":"admission webhook \"w\" denied the request: no"})" : "{}");
      loop.Run();
    }
    EXPECT_EQ(recorder->Stats().sent, 10U) << "at once";
  }
}

// An API server of many that is overloaded, or a proxy that has lost one.
TEST_F(EventRecorderTest, AFailureNowAndThenHoldsUpNoOtherEvent) {
  for (const int status : {429, 503}) {
    SCOPED_TRACE(status);
    Make({});
    for (int i = 0; i < 300; ++i) Record(Scheduled("web-" + std::to_string(i)));
    int failed = 0;
    int answered = 0;
    for (; transport.Waiting() > 0; ++answered) {
      const bool fails = answered % 10 == 5;
      failed += fails ? 1 : 0;
      transport.Next()->Answer(fails ? status : 201, "{}", {{"Retry-After", "1"}});
      loop.Run();
    }
    EXPECT_EQ(answered, 300) << "nothing waits for those that were sent back";
    EXPECT_EQ(recorder->Stats().queued, static_cast<std::size_t>(failed));
    loop.Advance(900ms);
    EXPECT_EQ(transport.Waiting(), 0U) << "the server asked for a second";
    loop.Advance(seconds(1));
    AnswerAll();
    EXPECT_EQ(recorder->Stats().sent, 300U);
  }
}

TEST_F(EventRecorderTest, KeepsOnlySoManyBytes) {
  Make({.queue_bytes_max = 20'000});
  Event event = Scheduled("web");
  event.note = std::string(1000, 'x');
  for (int i = 0; i < 100; ++i) {
    event.regarding.name = "web-" + std::to_string(i);
    Record(event);
  }
  EXPECT_LT(recorder->Stats().queued, 20U);
  EXPECT_GT(recorder->Stats().queued, 5U);
  EXPECT_EQ(recorder->Stats().dropped + recorder->Stats().queued, 100U);
  AnswerAll();
  EXPECT_EQ(recorder->Stats().queued, 0U);
  Record(event);
  EXPECT_EQ(AnswerAll().size(), 1U) << "there is room again";
}

TEST_F(EventRecorderTest, CreatesUnderTheSameNameWhenTheAnswerWasLost) {
  Record(Scheduled("web-1"));
  const auto first = transport.Next();
  first->Fail(ErrorCode::kUnavailable, true);
  loop.Advance(seconds(10));
  const auto second = transport.Next();
  EXPECT_EQ(second->request.body, first->request.body);
  second->Answer(409, R"({"kind":"Status","reason":"AlreadyExists","message":"it is there"})");
  loop.Run();
  EXPECT_EQ(recorder->Stats().sent, 1U);
  EXPECT_EQ(recorder->Stats().queued, 0U);
}

TEST_F(EventRecorderTest, GivesUpWhatTheServerWillNotHave) {
  for (const int status : {404, 422, 400, 413}) {
    SCOPED_TRACE(status);
    Make({});
    Record(Scheduled("web-1"));
    EXPECT_EQ(AnswerAll(status).size(), 1U);
    EXPECT_EQ(recorder->Stats().refused, 1U);
    EXPECT_EQ(recorder->Stats().queued, 0U);
    // Its repetition is a new event.
    Record(Scheduled("web-1"));
    EXPECT_THAT(AnswerAll(), ElementsAre(HasSubstr("POST")));
  }
}

// A kube-apiserver that has just started forbids what it has not read the rules for yet. A namespace that is being
// deleted forbids for good.
TEST_F(EventRecorderTest, TriesWhatIsForbiddenAFewTimes) {
  struct Case {
    const char* name;
    int times;
    std::string body;
    int want_tries;
    std::uint64_t want_sent;
  };
  const Case cases[] = {
      {"for a moment", 3, R"({"kind":"Status","message":"cannot create resource"})", 4, 1},
      {"for good", 1000, R"({"kind":"Status","message":"cannot create resource"})", 6, 0},
      {"namespace terminating", 1000, R"({"kind":"Status","message":"namespace x is being terminated"})", 1, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Make({});
    Record(Scheduled("web-1"));
    int tries = 0;
    for (int i = 0; i < 20; ++i) {
      while (transport.Waiting() > 0) {
        const bool is_forbidden = tries++ < c.times;
        transport.Next()->Answer(is_forbidden ? 403 : 201, is_forbidden ? c.body : "{}");
        loop.Run();
      }
      loop.Advance(seconds(10));
    }
    EXPECT_EQ(tries, c.want_tries);
    EXPECT_EQ(recorder->Stats().sent, c.want_sent);
    EXPECT_EQ(recorder->Stats().refused, 1 - c.want_sent);
    EXPECT_EQ(recorder->Stats().queued, 0U);
  }
}

TEST_F(EventRecorderTest, DoesNotLetOneBadEventHoldUpTheOthers) {
  Make({.in_flight_max = 1, .tries_max = 3});
  Record(Scheduled("bad"));
  for (int i = 0; i < 5; ++i) Record(Scheduled("web-" + std::to_string(i)));
  int tries = 0;
  for (int i = 0; i < 50; ++i) {
    while (transport.Waiting() > 0) {
      const auto call = transport.Next();
      const bool is_bad = call->request.body.find("uid-bad") != std::string::npos;
      tries += is_bad ? 1 : 0;
      call->Answer(is_bad ? 500 : 201, "{}");
      loop.Run();
    }
    loop.Advance(seconds(10));
  }
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(recorder->Stats().sent, 5U);
  EXPECT_EQ(recorder->Stats().refused, 1U);
}

TEST_F(EventRecorderTest, DropsTheNewestBeyondItsBound) {
  Make({.queue_max = 3, .in_flight_max = 1});
  for (int i = 0; i < 5; ++i) Record(Scheduled("web-" + std::to_string(i)));
  EXPECT_EQ(recorder->Stats().dropped, 2U);
  AnswerAll();
  EXPECT_EQ(recorder->Stats().sent, 3U);
  Record(Scheduled("web-4"));  // was dropped, so this is no repetition
  EXPECT_THAT(AnswerAll(), ElementsAre(HasSubstr("POST")));
}

// A webhook that never answers leaves room for the events of others.
TEST_F(EventRecorderTest, ANamespaceThatIsNotAnsweredDoesNotTakeTheRoomOfOthers) {
  Make({.queue_max = 80});
  for (int i = 0; i < 200; ++i) {
    Event event = Scheduled("stuck-" + std::to_string(i));
    event.regarding.namespace_name = "stuck";
    Record(std::move(event));
  }
  const std::uint64_t dropped = recorder->Stats().dropped;
  EXPECT_EQ(recorder->Stats().queued, 70U);
  std::size_t ours = 0;
  for (int i = 0; i < 100; ++i) {
    Record(Scheduled("web-" + std::to_string(i)));
    for (int j = 0; j < 10; ++j) {
      for (std::size_t waiting = transport.Waiting(); waiting > 0; --waiting) {
        const auto call = transport.Next();
        if (call->request.target.find("/stuck/") != std::string::npos) {
          call->Fail(ErrorCode::kTimeout, true);
        } else {
          call->Answer(201, "{}");
          ++ours;
        }
      }
      loop.Advance(std::chrono::milliseconds(100));
    }
  }
  EXPECT_EQ(ours, 100U);
  EXPECT_EQ(recorder->Stats().dropped, dropped);
}

TEST_F(EventRecorderTest, ForgetsTheOldestSeriesBeyondItsBound) {
  Make({.series_max = 2});
  for (const char* pod : {"a", "b", "c"}) Record(Scheduled(pod));
  AnswerAll();
  Record(Scheduled("a"));
  EXPECT_THAT(AnswerAll(), ElementsAre(HasSubstr("POST")));
  Record(Scheduled("c"));
  EXPECT_THAT(AnswerAll(200), ElementsAre(HasSubstr("PATCH")));
}

TEST_F(EventRecorderTest, SaysWhatIsLeftAfterFlush) {
  Record(Scheduled("a"));
  Record(Scheduled("b"));
  EXPECT_EQ(recorder->Flush(Duration(1)), 2U);
  AnswerAll();
  EXPECT_EQ(recorder->Flush(seconds(60)), 0U);
}

TEST_F(EventRecorderTest, DiesWithEventsInFlight) {
  Record(Scheduled("a"));
  recorder.reset();
  AnswerAll();
  EXPECT_EQ(loop.TimerCount(), 0U);
}

// A real loop: many threads record, and Flush sees the end.
TEST(EventRecorderThreadTest, FlushWaitsForTheLast) {
  class Instant final : public net::Transport {
   public:
    void Send(net::Request, net::SendOptions, Done done) override { done(net::Response{201, {}, "{}"}); }
    std::unique_ptr<net::StreamHandle> Stream(net::Request, net::StreamOptions, net::StreamCallbacks) override {
      return nullptr;
    }
  };
  const SystemClock clock;
  net::IoContext io;
  IoEventLoop loop(io, clock);
  Instant transport;
  RestClient rest(loop, transport, nullptr, 1);
  EventRecorder recorder(rest, {.hostname = "h"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&recorder, t] {
      for (int i = 0; i < 500; ++i) recorder.Record(Scheduled(std::to_string(t) + '-' + std::to_string(i)));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(recorder.Flush(seconds(60)), 0U);
  EXPECT_EQ(recorder.Stats().sent, 2000U);
  io.Stop();
}

TEST_F(EventRecorderTest, SendsProtobufUntilTheServerRefusesIt) {
  RestClientOptions options;
  SetContentTypes(options, api::kProtobufMediaType, "");
  RestClient protobuf_rest(loop, transport, nullptr, 1, options);
  recorder = std::make_unique<EventRecorder>(protobuf_rest, EventRecorderOptions{.hostname = "host-1"});
  Event event = Scheduled("web-1");
  event.related = ObjectReference{"v1", "Node", "", "n1", "uid-n1", ""};
  Record(event);
  auto call = transport.Next();
  EXPECT_EQ(call->request.target, "/apis/events.k8s.io/v1/namespaces/default/events");
  EXPECT_EQ(FindHeader(call->request, "Content-Type"), api::kProtobufMediaType);
  EXPECT_THAT(std::string(FindHeader(call->request, "Accept")), HasSubstr("protobuf"));
  api::EventFields want;
  want.namespace_name = "default";
  char name[64];
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(loop.Now().time_since_epoch()).count();
  std::snprintf(name, sizeof name, "web-1.%llx", static_cast<unsigned long long>(ns));
  want.name = name;
  want.event_time = loop.Now();
  want.reporting_controller = "default-scheduler";
  want.reporting_instance = "default-scheduler-host-1";
  want.action = "Binding";
  want.reason = "Scheduled";
  want.regarding = {"v1", "Pod", "default", "web-1", "uid-web-1", "7"};
  want.related = api::ObjectReferenceFields{"v1", "Node", "", "n1", "uid-n1", ""};
  want.note = "Successfully assigned default/web-1 to n1";
  want.type = "Normal";
  EXPECT_EQ(call->request.body, api::EncodeEvent(want));
  Record(Scheduled("web-2"));
  const auto other = transport.Next();
  for (const auto& refused : {call, other}) refused->Answer(415, "");
  loop.Run();
  for (int i = 0; i < 2; ++i) {
    call = transport.Next();
    EXPECT_EQ(FindHeader(call->request, "Content-Type"), "application/json");
    EXPECT_TRUE(codec::ParseJson(call->request.body).ok());
    call->Answer(201, "{}");
  }
  loop.Run();
  EXPECT_EQ(recorder->Stats().sent, 2U);
  EXPECT_EQ(recorder->Stats().refused, 0U);
}

TEST_F(EventRecorderTest, SendsMoreThanItIsRestrainedToWhenItLags) {
  Make({.in_flight_max = 4, .in_flight_restrained_max = 1});
  recorder->Restrain(true);
  for (int i = 0; i < 100; ++i) Record(Scheduled("web-" + std::to_string(i)));
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(transport.Waiting(), i < 31 ? 1U : 4U) << i;
    loop.Advance(100ms);
    transport.Next()->Answer(201, "{}");
    loop.Run();
  }
  AnswerAll();
  Record(Scheduled("one"));
  Record(Scheduled("another"));
  transport.Next()->Answer(201, "{}");
  loop.Run();
  Record(Scheduled("a third"));
  EXPECT_EQ(transport.Waiting(), 1U) << "it has caught up";
}

TEST_F(EventRecorderTest, SendsFewerWhileItIsRestrained) {
  Make({.queue_max = 40, .in_flight_max = 4, .in_flight_restrained_max = 1});
  recorder->Restrain(true);
  for (int i = 0; i < 6; ++i) Record(Scheduled("web-" + std::to_string(i)));
  EXPECT_EQ(transport.Waiting(), 1U);
  transport.Next()->Answer(201, "{}");
  loop.Run();
  EXPECT_EQ(transport.Waiting(), 1U);
  recorder->Restrain(false);
  loop.Run();
  EXPECT_EQ(transport.Waiting(), 4U);
  recorder->Restrain(true);
  for (int i = 6; i < 20; ++i) Record(Scheduled("web-" + std::to_string(i)));
  EXPECT_EQ(transport.Waiting(), 4U) << "a queue that fills up is emptied";
  for (int i = 0; i < 12; ++i) {
    transport.Next()->Answer(201, "{}");
    loop.Run();
  }
  EXPECT_EQ(transport.Waiting(), 1U);
  AnswerAll();
  EXPECT_EQ(recorder->Stats().sent, 20U) << "every one is there in the end";
}

}  // namespace
}  // namespace berth::client
