// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/output_performer.h"

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "berth/framework/metrics.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/outside/http_extender.h"
#include "berth/shell/tracing/trace_exporter.h"
#include "berth/shell/tracing/tracer.h"

namespace berth::runner {
namespace {

using client::FakeTransport;

constexpr const char* kPodJson = R"({"metadata":{"namespace":"d","name":"p","uid":"u"},"spec":{"nodeName":"n"}})";

// An input in a line.
std::string Describe(const scheduler::Input& input) {
  const auto outcome = [](const std::optional<Error>& error) { return error ? "failed" : std::string("done"); };
  if (const auto* write = std::get_if<scheduler::WriteDone>(&input))
    return "write " + std::to_string(write->operation) + " " + outcome(write->error) + " " + write->body;
  if (const auto* read = std::get_if<scheduler::PodReadDone>(&input)) {
    return "read " + std::to_string(read->operation) + " " + outcome(read->error) + " " +
           (read->pod ? "on " + read->pod->spec.node_name : "gone");
  }
  if (const auto* work = std::get_if<scheduler::WorkDone>(&input))
    return "work " + std::to_string(work->operation) + " " + work->status.Message();
  return "something else";
}

class OutputPerformerTest : public ::testing::Test {
 protected:
  OutputPerformerTest() {
    const auto no_client = [](const net::HttpClientOptions&) -> Expected<std::unique_ptr<net::Transport>> {
      return InvalidError("not here");
    };
    auto made = outside::HttpExtenders::Make(
        {}, loop, no_client, [](std::function<void()> work) { work(); }, framework::Metrics::None(),
        [](scheduler::ExtenderDone) {});
    EXPECT_TRUE(made.ok());
    extenders = std::move(*made);
    performer =
        std::make_unique<OutputPerformer>(rest, events_rest, *extenders, workers, OutputPerformer::Options{7, "host"},
                                          [this](scheduler::Input input) { inputs.push_back(Describe(input)); });
  }

  client::FakeLoop loop;
  FakeTransport transport;
  FakeTransport events;
  client::RestClient rest{loop, transport, nullptr, 1};
  client::RestClient events_rest{loop, events, nullptr, 2};
  std::vector<std::string> inputs;
  std::unique_ptr<outside::HttpExtenders> extenders;
  std::unique_ptr<OutputPerformer> performer;
  WorkerPool workers{1};
};

TEST_F(OutputPerformerTest, AnswersOfTheApiServerBecomeInputs) {
  struct Case {
    const char* name;
    framework::ApiWrite write;
    const char* request;
    int status;
    const char* body;
    const char* want;
  };
  const framework::PodRef pod{"d", "p", "u", "1"};
  const framework::ObjectRef volume{"v1", "persistentvolumes", "", "v"};
  const Case cases[] = {
      {"a binding", framework::BindWrite{pod, "n"}, "POST /api/v1/namespaces/d/pods/p/binding", 201, "{}",
       "write 9 done "},
      {"a binding that is refused", framework::BindWrite{pod, "n"}, "POST /api/v1/namespaces/d/pods/p/binding", 409,
       "{}", "write 9 failed "},
      {"a pod that is bound", framework::PodRead{pod}, "GET /api/v1/namespaces/d/pods/p", 200, kPodJson,
       "read 9 done on n"},
      {"a pod that is gone", framework::PodRead{pod}, "GET /api/v1/namespaces/d/pods/p", 404,
       R"({"kind":"Status","reason":"NotFound"})", "read 9 done gone"},
      {"a proxy that does not know the API server", framework::PodRead{pod}, "GET /api/v1/namespaces/d/pods/p", 404,
       "404 page not found", "read 9 failed gone"},
      {"a pod that cannot be read", framework::PodRead{pod}, "GET /api/v1/namespaces/d/pods/p", 403, "{}",
       "read 9 failed gone"},
      {"a patch", framework::ObjectPatch{volume, "status", framework::PatchType::kMerge, "{}"},
       "PATCH /api/v1/persistentvolumes/v/status", 200, "{\"a\":1}", "write 9 done {\"a\":1}"},
      {"a creation", framework::ObjectCreate{volume, "{}"}, "POST /api/v1/persistentvolumes", 201, "{}",
       "write 9 done {}"},
      {"a deletion", framework::ObjectDelete{volume, "u"}, "DELETE /api/v1/persistentvolumes/v", 200, "{}",
       "write 9 done {}"},
      {"a read", framework::ObjectRead{volume}, "GET /api/v1/persistentvolumes/v", 200, "{}", "write 9 done {}"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    inputs.clear();
    performer->Perform(scheduler::Write{9, c.write});
    loop.Run();
    ASSERT_EQ(transport.Waiting(), 1u);
    const auto call = transport.Next();
    EXPECT_EQ(call->request.method + " " + call->request.target.substr(0, call->request.target.find('?')), c.request);
    EXPECT_TRUE(inputs.empty());
    call->Answer(c.status, c.body);
    loop.Run();
    EXPECT_EQ(inputs, std::vector<std::string>{c.want});
  }
}

// Requests of a traced pod carry its trace, and each is a span; those of other pods carry none.
TEST_F(OutputPerformerTest, TracedRequests) {
  FakeTransport collector;
  tracing::Tracer tracer(1'000'000, 1, loop,
                         std::make_unique<tracing::TraceExporter>(
                             loop, std::make_unique<client::BorrowedTransport>(collector), tracing::TracingConfig{},
                             tracing::TraceExporterOptions{}, framework::Metrics::None()));
  const instruments::Stopwatch stopwatch(&loop);
  tracer.pods().SetStopwatch(stopwatch);
  framework::PodInfo traced;
  traced.uid = "0af76519-16cd-43dd-8448-eb211c80319c";
  traced.pod_class = std::make_shared<framework::PodClass>();
  ASSERT_TRUE(tracer.pods().Begin(traced));
  for (std::uint64_t operation = 1; operation <= 7; ++operation)
    tracer.pods().AddOperation(traced.uid, operation, false);
  tracer.TakeTurn();
  OutputPerformer with_tracer(rest, events_rest, *extenders, workers,
                              OutputPerformer::Options{7, "host", &framework::Metrics::None(), &tracer},
                              [this](scheduler::Input input) { inputs.push_back(Describe(input)); });
  const framework::PodRef pod{"d", "p", "u", "1"};
  const framework::ObjectRef volume{"v1", "persistentvolumes", "", "v"};
  const framework::ApiWrite writes[] = {
      framework::BindWrite{pod, "n"},
      framework::PodRead{pod},
      framework::ObjectPatch{volume, "status", framework::PatchType::kMerge, "{}"},
      framework::ObjectCreate{volume, "{}"},
      framework::ObjectDelete{volume, "u"},
      framework::ObjectRead{volume},
  };
  std::uint64_t operation = 0;
  for (const framework::ApiWrite& write : writes) {
    with_tracer.Perform(scheduler::Write{++operation, write});
    loop.Run();
    ASSERT_EQ(transport.Waiting(), 1u) << operation;
    const auto call = transport.Next();
    EXPECT_TRUE(client::FindHeader(call->request, "traceparent").starts_with("00-0af7651916cd43dd8448eb211c80319c-"))
        << operation;
    call->Answer(200, kPodJson);
    loop.Run();
  }
  with_tracer.Perform(scheduler::Write{100, framework::BindWrite{pod, "n"}});
  loop.Run();
  const auto other = transport.Next();
  EXPECT_EQ(client::FindHeader(other->request, "traceparent"), "");
  other->Answer(201, "{}");
  loop.Advance(std::chrono::seconds(5));
  ASSERT_EQ(collector.Waiting(), 1u);
  const std::string sent = collector.Next()->request.body;
  for (const char* name : {"POST pods/binding", "GET pods", "PATCH persistentvolumes", "POST persistentvolumes",
                           "DELETE persistentvolumes", "GET persistentvolumes"}) {
    EXPECT_NE(sent.find(name), std::string::npos) << name;
  }
}

// The shell goes before the connection: a RestClient that ends answers the calls that wait for another try.
TEST_F(OutputPerformerTest, AnswersThatComeAfterItsEndAreNobodys) {
  auto late_rest = std::make_unique<client::RestClient>(loop, transport, nullptr, 3);
  const auto pushed = std::make_shared<int>(0);
  auto late = std::make_unique<OutputPerformer>(*late_rest, events_rest, *extenders, workers,
                                                OutputPerformer::Options{7, "host"},
                                                [pushed](const scheduler::Input&) { ++*pushed; });
  const framework::PodRef pod{"d", "p", "u", "1"};
  late->Perform(scheduler::Write{1, framework::BindWrite{pod, "n"}});
  late->Perform(scheduler::Write{2, framework::PodRead{pod}});
  late->Perform(scheduler::Write{3, framework::ObjectRead{{"v1", "persistentvolumes", "", "v"}}});
  loop.Run();
  ASSERT_EQ(transport.Waiting(), 3u);
  while (transport.Waiting() > 0) transport.Next()->Answer(429, "{}", {{"Retry-After", "5"}});
  loop.Run();
  ASSERT_EQ(*pushed, 0) << "they are to be tried again";
  late.reset();
  late_rest.reset();
  EXPECT_EQ(*pushed, 0);
}

TEST_F(OutputPerformerTest, ABindingWaitsForWhatIsBeingSaidOfItsPod) {
  framework::PodStatusWrite status;
  status.pod = {"d", "p", "u", "1"};
  status.has_nomination = true;
  performer->Perform(scheduler::Write{0, status});
  performer->Perform(scheduler::Write{9, framework::BindWrite{status.pod, "n"}});
  loop.Run();
  EXPECT_EQ(performer->pending_statuses(), 1u);
  ASSERT_EQ(transport.Waiting(), 1u);
  auto call = transport.Next();
  EXPECT_EQ(call->request.method, "PATCH");
  call->Answer(200, "{}");
  loop.Run();
  EXPECT_EQ(performer->pending_statuses(), 0u);
  ASSERT_EQ(transport.Waiting(), 1u);
  call = transport.Next();
  EXPECT_EQ(call->request.method, "POST");
  call->Answer(201, "{}");
  loop.Run();
  EXPECT_EQ(inputs, std::vector<std::string>{"write 9 done "});
}

TEST_F(OutputPerformerTest, EventsGoByTheirOwnClient) {
  scheduler::EmitEvent event;
  event.regarding = {"d", "p", "u", "1"};
  event.reporting_controller = "berth";
  event.reason = "Scheduled";
  event.note = "said";
  event.related = {"d", "other", "other-uid", "2"};
  performer->Perform(event);
  loop.Advance(std::chrono::seconds(1));
  EXPECT_EQ(transport.Waiting(), 0u);
  ASSERT_EQ(events.Waiting(), 1u);
  const auto call = events.Next();
  EXPECT_EQ(call->request.target.substr(0, call->request.target.find('?')),
            "/apis/events.k8s.io/v1/namespaces/d/events");
  for (const char* text : {"\"Scheduled\"", "\"said\"", "\"berth-host\"", "\"u\"", "\"related\":{", "\"other-uid\""})
    EXPECT_NE(call->request.body.find(text), std::string::npos) << text << " in " << call->request.body;
}

TEST_F(OutputPerformerTest, WorkRunsBesideTheLoop) {
  std::promise<std::string> received;
  performer =
      std::make_unique<OutputPerformer>(rest, events_rest, *extenders, workers, OutputPerformer::Options{7, "host"},
                                        [&](const scheduler::Input& input) { received.set_value(Describe(input)); });
  performer->Perform(scheduler::Work{4, [] { return framework::Status::Error("broken"); }});
  auto answer = received.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(answer.get(), "work 4 broken");
}

}  // namespace
}  // namespace berth::runner
