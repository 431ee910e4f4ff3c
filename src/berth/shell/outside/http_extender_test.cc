// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/outside/http_extender.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/api/decode.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/tracing/trace_exporter.h"
#include "berth/shell/tracing/tracer.h"

namespace berth::outside {
namespace {

using namespace std::chrono_literals;
using client::BorrowedTransport;
using client::FakeTransport;
using scheduler::AskExtender;
using scheduler::ExtenderVerb;

std::string PodJson(const std::string& name, const std::string& spec = "") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-)" +
         name + R"("},"spec":{)" + spec + R"("containers":[{"name":"c","image":"i"}]}})";
}

std::string NodeJson(const std::string& name) {
  return R"({"kind":"Node","apiVersion":"v1","metadata":{"name":")" + name + R"(","uid":"uid-)" + name +
         R"("},"status":{"capacity":{"cpu":"4"}}})";
}

class HttpExtenderTest : public ::testing::Test {
 protected:
  static config::Extender Extender() {
    config::Extender extender;
    extender.url_prefix = "http://extender:8888/scheduler/";
    extender.filter_verb = "filter";
    extender.prioritize_verb = "prioritize";
    extender.bind_verb = "bind";
    extender.weight = 1;
    extender.http_timeout = 3s;
    return extender;
  }

  Expected<void> Make(config::Extender extender) {
    auto made = HttpExtenders::Make(
        {std::move(extender)}, loop,
        [this](net::HttpClientOptions to) -> Expected<std::unique_ptr<net::Transport>> {
          options = std::move(to);
          return std::unique_ptr<net::Transport>(std::make_unique<BorrowedTransport>(server));
        },
        [](const std::function<void()>& work) { work(); }, metrics,
        [this](scheduler::ExtenderDone done) { said.push_back(std::move(done)); }, tracer.get());
    if (!made.ok()) return made.error();
    extenders = std::move(*made);
    return {};
  }
  std::string Problem(config::Extender extender) {
    const auto made = Make(std::move(extender));
    return made.ok() ? "" : made.error().message;
  }

  void SetPod(const std::string& json) {
    codec::JsonReader reader;
    const auto object = reader.Parse(json);
    ASSERT_TRUE(object.ok()) << object.error().message;
    extenders->SetPod(**api::DecodePod(*object), *object);
  }
  void SetNode(const std::string& json) {
    codec::JsonReader reader;
    const auto object = reader.Parse(json);
    ASSERT_TRUE(object.ok()) << object.error().message;
    extenders->SetNode(**api::DecodeNode(*object), *object);
  }

  void Ask(ExtenderVerb verb, std::vector<std::string> names, std::uint64_t operation = 1) {
    extenders->Ask(AskExtender{operation, 0, verb, {"default", "p", "uid-p", "1"}, std::move(names)});
  }
  // What came of the last question, in one line.
  std::string Said() {
    loop.Run();
    if (said.empty()) return "nothing";
    const scheduler::ExtenderDone done = std::move(said.back());
    said.clear();
    std::string text = std::to_string(done.operation) + ":";
    if (!done.answer.ok()) return text + " " + done.answer.error().message;
    for (const std::string& name : done.answer->node_names) text += " " + name;
    for (const auto& [name, reason] : done.answer->failed_nodes) text.append(" -").append(name + "=" + reason);
    for (const auto& [name, score] : done.answer->scores) text += " " + name + "=" + std::to_string(score);
    for (const auto& each : done.answer->victims) {
      text += " " + each.node_name + "[";
      for (const std::string& uid : each.pod_uids) text += uid;
      text += "]";
    }
    return text;
  }

  client::FakeLoop loop;
  FakeTransport server;
  metrics::PrometheusMetrics metrics;
  net::HttpClientOptions options;
  std::vector<scheduler::ExtenderDone> said;
  std::unique_ptr<tracing::Tracer> tracer;  // null: nothing is traced
  std::unique_ptr<HttpExtenders> extenders;
};

TEST_F(HttpExtenderTest, TracedQuestions) {
  FakeTransport collector;
  tracer = std::make_unique<tracing::Tracer>(
      1'000'000, 1, loop,
      std::make_unique<tracing::TraceExporter>(loop, std::make_unique<BorrowedTransport>(collector),
                                               tracing::TracingConfig{}, tracing::TraceExporterOptions{}, metrics));
  const instruments::Stopwatch stopwatch(&loop);
  tracer->pods().SetStopwatch(stopwatch);
  framework::PodInfo traced;
  traced.uid = "0af76519-16cd-43dd-8448-eb211c80319c";
  traced.pod_class = std::make_shared<framework::PodClass>();
  ASSERT_TRUE(tracer->pods().Begin(traced));
  tracer->pods().AddOperation(traced.uid, 1, false);
  tracer->TakeTurn();
  ASSERT_TRUE(Make(Extender()).ok());
  Ask(ExtenderVerb::kBind, {"n"}, 1);
  const auto call = server.Next();
  EXPECT_TRUE(client::FindHeader(call->request, "traceparent").starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
  call->Answer(200, "{}");
  loop.Run();
  Ask(ExtenderVerb::kBind, {"n"}, 2);
  EXPECT_EQ(client::FindHeader(server.Next()->request, "traceparent"), "");
  loop.Advance(5s);
  ASSERT_EQ(collector.Waiting(), 1u);
  const std::string sent = collector.Next()->request.body;
  EXPECT_NE(sent.find("extender bind"), std::string::npos);
  EXPECT_NE(sent.find("http://extender:8888/scheduler/bind"), std::string::npos);
}

TEST_F(HttpExtenderTest, AsksWithWholeObjects) {
  ASSERT_TRUE(Make(Extender()).ok());
  EXPECT_EQ(options.base_url, "http://extender:8888/scheduler/");
  EXPECT_EQ(options.connect_timeout, 3s);
  EXPECT_TRUE(extenders->wants_pods());
  EXPECT_TRUE(extenders->wants_nodes());
  SetPod(PodJson("p"));
  SetNode(NodeJson("a"));
  SetNode(NodeJson("b"));
  Ask(ExtenderVerb::kFilter, {"b", "gone", "a"});
  const auto call = server.Next();
  EXPECT_EQ(call->request.method, "POST");
  EXPECT_EQ(call->request.target, "/filter");
  ASSERT_FALSE(call->request.headers.empty());
  EXPECT_EQ(call->request.headers[0].name, "Content-Type");
  EXPECT_EQ(call->request.headers[0].value, "application/json");
  EXPECT_EQ(call->options.timeout, 3s);
  EXPECT_EQ(call->options.body_bytes_max, HttpExtenders::kAnswerBytesMax);
  EXPECT_EQ(call->request.body,
            R"({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"uid-p"},"spec":{"containers":[{"name":"c",)"
            R"("image":"i"}]}},"Nodes":{"metadata":{},"items":[{"metadata":{"name":"b","uid":"uid-b"},"status":)"
            R"({"capacity":{"cpu":"4"}}},{"metadata":{"name":"a","uid":"uid-a"},"status":{"capacity":{"cpu":"4"}}}]},)"
            R"("NodeNames":null})");
  call->Answer(200, R"({"Nodes":{"items":[{"metadata":{"name":"a"}}]},"FailedNodes":{"b":"no"}})");
  EXPECT_EQ(Said(), "1: a -b=no");
}

TEST_F(HttpExtenderTest, AsksWithNames) {
  config::Extender extender = Extender();
  extender.node_cache_capable = true;
  ASSERT_TRUE(Make(extender).ok());
  EXPECT_FALSE(extenders->wants_nodes());
  SetPod(PodJson("p"));
  Ask(ExtenderVerb::kPrioritize, {"a", "b"}, 7);
  const auto call = server.Next();
  EXPECT_EQ(call->request.target, "/prioritize");
  EXPECT_TRUE(call->request.body.ends_with(R"(,"Nodes":null,"NodeNames":["a","b"]})")) << call->request.body;
  call->Answer(200, R"([{"Host":"a","Score":3},{"Host":"b","Score":10}])");
  EXPECT_EQ(Said(), "7: a=3 b=10");
}

TEST_F(HttpExtenderTest, AsksAboutVictims) {
  const std::vector<scheduler::VictimsOnNode> victims = {{"a", {"uid-v"}, 1}};
  for (const bool is_capable : {false, true}) {
    config::Extender extender = Extender();
    extender.filter_verb.clear();
    extender.prioritize_verb.clear();
    extender.preempt_verb = "preempt";
    extender.node_cache_capable = is_capable;
    ASSERT_TRUE(Make(extender).ok());
    EXPECT_TRUE(extenders->wants_pods());
    EXPECT_FALSE(extenders->wants_nodes()) << "victims come without their nodes";
    SetPod(PodJson("p"));
    SetPod(R"({"metadata":{"name":"v","namespace":"default","uid":"uid-v"},"spec":{"nodeName":"a"}})");
    EXPECT_EQ(extenders->pod_count(), is_capable ? 1U : 2U) << "victims are kept only for one that sees them whole";
    extenders->Ask(AskExtender{7, 0, ExtenderVerb::kPreempt, {"default", "p", "uid-p", "1"}, {}, victims});
    const auto call = server.Next();
    EXPECT_EQ(call->request.target, "/preempt");
    EXPECT_TRUE(call->request.body.ends_with(
        is_capable ? R"(,"NodeNameToVictims":null,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"uid-v"}],)"
                     R"("NumPDBViolations":1}}})"
                   : R"(,"NodeNameToVictims":{"a":{"Pods":[{"metadata":{"name":"v","namespace":"default","uid":)"
                     R"("uid-v"},"spec":{"nodeName":"a"}}],"NumPDBViolations":1}},"NodeNameToMetaVictims":null})"))
        << call->request.body;
    call->Answer(200, R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"uid-v"}]}}})");
    EXPECT_EQ(Said(), "7: a[uid-v]");
    extenders->RemovePod("uid-v");
    EXPECT_EQ(extenders->pod_count(), 1U);
  }
}

TEST_F(HttpExtenderTest, Binds) {
  config::Extender extender = Extender();
  extender.filter_verb.clear();
  extender.prioritize_verb.clear();
  ASSERT_TRUE(Make(extender).ok());
  EXPECT_FALSE(extenders->wants_pods()) << "a binding names the pod alone";
  EXPECT_FALSE(extenders->wants_nodes());
  Ask(ExtenderVerb::kBind, {"a"});
  auto call = server.Next();
  EXPECT_EQ(call->request.target, "/bind");
  EXPECT_EQ(call->request.body, R"({"PodName":"p","PodNamespace":"default","PodUID":"uid-p","Node":"a"})");
  call->Answer(200, R"({"Error":""})");
  EXPECT_EQ(Said(), "1:");
  Ask(ExtenderVerb::kBind, {"a"});
  server.Next()->Answer(200, R"({"Error":"no license"})");
  EXPECT_EQ(Said(), "1: no license");
  Ask(ExtenderVerb::kBind, {"a"});
  server.Next()->Fail(ErrorCode::kUnavailable, true, "the connection was closed");
  EXPECT_EQ(Said(), "1: Post \"http://extender:8888/scheduler/bind\": the connection was closed");
  EXPECT_EQ(server.Waiting(), 0U) << "a binding is not tried again: it may have taken effect";
}

TEST_F(HttpExtenderTest, FailuresInOneLine) {
  ASSERT_TRUE(Make(Extender()).ok());
  SetPod(PodJson("p"));
  SetNode(NodeJson("a"));
  const std::string url = "http://extender:8888/scheduler/filter";
  const struct {
    const char* name;
    int status;
    std::string body;
    std::string want;
  } cases[] = {
      {"a status", 500, "oops", "1: failed filter with extender at URL " + url + ", code 500"},
      {"a redirect", 302, "", "1: failed filter with extender at URL " + url + ", code 302"},
      {"created is not ok", 201, "{}", "1: failed filter with extender at URL " + url + ", code 201"},
      {"an error of its own", 200, R"({"Error":"out of licenses"})", "1: out of licenses"},
      {"a node that is not known", 200, R"({"Nodes":{"items":[{"metadata":{"name":"x"}}]}})",
       "1: extender \"http://extender:8888/scheduler/\" claims a filtered node \"x\" which is not found in the input "
       "node list"},
      {"a wrong type", 200, R"({"Nodes":5})",
       "1: the answer of " + url + " cannot be used: the answer's Nodes must be an object"},
      {"nothing said", 200, "{}", "1:"},
      {"null", 200, "null", "1:"},
  };
  for (const auto& c : cases) {
    Ask(ExtenderVerb::kFilter, {"a"});
    server.Next()->Answer(c.status, c.body);
    EXPECT_EQ(Said(), c.want) << c.name;
  }
  Ask(ExtenderVerb::kFilter, {"a"});
  server.Next()->Answer(200, "<html>");
  EXPECT_TRUE(Said().starts_with("1: the answer of " + url + " cannot be used: no JSON: "));
  Ask(ExtenderVerb::kFilter, {"a"});
  server.Next()->Fail(ErrorCode::kTimeout, true, "no answer within 3s");
  EXPECT_EQ(Said(), "1: Post \"" + url + "\": no answer within 3s");
  EXPECT_EQ(server.Waiting(), 0U);
  const std::string text = metrics.Text();
  const auto counts = [&](const std::string& result, const std::string& count) {
    return text.find("berth_extender_requests_total{extender=\"http://extender:8888/scheduler/\",result=\"" + result +
                     "\",verb=\"filter\"} " + count + "\n") != std::string::npos;
  };
  EXPECT_TRUE(counts("error", "8")) << text;
  EXPECT_TRUE(counts("success", "2")) << text;
}

TEST_F(HttpExtenderTest, AClosedConnectionIsTriedOnceMore) {
  ASSERT_TRUE(Make(Extender()).ok());
  SetPod(PodJson("p"));
  SetNode(NodeJson("a"));
  Ask(ExtenderVerb::kFilter, {"a"});
  server.Next()->Fail(ErrorCode::kUnavailable, true, "closed");
  EXPECT_EQ(Said(), "nothing");
  server.Next()->Answer(200, R"({"Nodes":{"items":[{"metadata":{"name":"a"}}]}})");
  EXPECT_EQ(Said(), "1: a");
  Ask(ExtenderVerb::kFilter, {"a"});
  server.Next()->Fail(ErrorCode::kUnavailable, true, "closed");
  server.Next()->Fail(ErrorCode::kUnavailable, true, "closed again");
  EXPECT_EQ(Said(), "1: Post \"http://extender:8888/scheduler/filter\": closed again");
  Ask(ExtenderVerb::kFilter, {"a"});
  server.Next()->Fail(ErrorCode::kUnavailable, false, "refused");
  EXPECT_EQ(Said(), "1: Post \"http://extender:8888/scheduler/filter\": refused");
}

TEST_F(HttpExtenderTest, KeepsPodsThatItMayAskAbout) {
  config::Extender extender = Extender();
  extender.managed_resources = {{"example.com/gpu", false}};
  ASSERT_TRUE(Make(extender).ok());
  const std::string gpu =
      R"({"metadata":{"name":"p","namespace":"default","uid":"uid-p"},"spec":{"containers":[{"name":"c","resources":)"
      R"({"requests":{"example.com/gpu":"1"}}}]}})";
  SetPod(PodJson("plain"));
  EXPECT_EQ(extenders->pod_count(), 0U);
  SetPod(gpu);
  EXPECT_EQ(extenders->pod_count(), 1U);
  SetPod(PodJson("p", R"("nodeName":"a",)"));
  EXPECT_EQ(extenders->pod_count(), 0U) << "it has a node";
  SetPod(gpu);
  extenders->RemovePod("uid-p");
  EXPECT_EQ(extenders->pod_count(), 0U);
  Ask(ExtenderVerb::kFilter, {"a"});
  EXPECT_EQ(Said(), "1: pod \"default/p\" is gone");
}

TEST_F(HttpExtenderTest, ANodeThatIsRecreated) {
  ASSERT_TRUE(Make(Extender()).ok());
  SetPod(PodJson("p"));
  SetNode(NodeJson("a"));
  SetNode(R"({"metadata":{"name":"a","uid":"another"}})");
  extenders->RemoveNode("a", "uid-a");
  Ask(ExtenderVerb::kFilter, {"a"});
  EXPECT_NE(server.Next()->request.body.find(R"("items":[{"metadata":{"name":"a","uid":"another"}}])"),
            std::string::npos);
  extenders->RemoveNode("a", "another");
  Ask(ExtenderVerb::kFilter, {"a"});
  EXPECT_NE(server.Next()->request.body.find(R"("items":null)"), std::string::npos);
}

TEST_F(HttpExtenderTest, LargeAnswersAreParsedBesideTheLoop) {
  ASSERT_TRUE(Make(Extender()).ok());
  SetPod(PodJson("p"));
  SetNode(NodeJson("a"));
  Ask(ExtenderVerb::kFilter, {"a"});
  server.Next()->Answer(200, std::string(100'000, ' ') + R"({"Nodes":{"items":[{"metadata":{"name":"a"}}]}})");
  EXPECT_EQ(Said(), "1: a");
}

TEST_F(HttpExtenderTest, NothingIsDeliveredAfterTheEnd) {
  ASSERT_TRUE(Make(Extender()).ok());
  Ask(ExtenderVerb::kBind, {"a"});
  const auto call = server.Next();
  extenders->Stop();
  call->Answer(200, "{}");
  EXPECT_EQ(Said(), "nothing");
}

TEST_F(HttpExtenderTest, Tls) {
  config::Extender extender = Extender();
  extender.url_prefix = "https://extender";
  ASSERT_TRUE(Make(extender).ok());
  ASSERT_TRUE(options.tls);
  EXPECT_TRUE(options.tls->verify_peer) << "by the system's roots";

  extender.enable_https = true;
  ASSERT_TRUE(Make(extender).ok());
  EXPECT_FALSE(options.tls->verify_peer) << "as upstream: without a CA nothing is checked";

  extender.tls = config::ExtenderTls{.server_name = "name", .ca_data = "Y2E="};
  ASSERT_TRUE(Make(extender).ok());
  EXPECT_TRUE(options.tls->verify_peer);
  EXPECT_EQ(options.tls->ca_pem, "ca");
  EXPECT_EQ(options.tls->server_name, "name");
  EXPECT_FALSE(options.tls->client_certificate_pem);

  extender.tls->cert_data = "Y2VydA==";
  ASSERT_TRUE(Make(extender).ok());
  EXPECT_FALSE(options.tls->client_certificate_pem) << "as upstream: a certificate without its key is not used";
  extender.tls->key_data = "a2V5";
  ASSERT_TRUE(Make(extender).ok());
  ASSERT_TRUE(options.tls->client_certificate_pem);
  const auto pair = options.tls->client_certificate_pem();
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->first, "cert");
  EXPECT_EQ(pair->second, "key");

  extender.tls->insecure = true;
  EXPECT_EQ(Problem(extender),
            "extender \"https://extender\": specifying a root certificates file with the insecure flag is not allowed");
  extender.tls = config::ExtenderTls{.ca_data = "%"};
  EXPECT_TRUE(Problem(extender).starts_with("extender \"https://extender\": tlsConfig.caData: ")) << Problem(extender);
  extender.tls = config::ExtenderTls{.ca_file = "/nowhere/ca.crt"};
  EXPECT_TRUE(Problem(extender).starts_with("extender \"https://extender\": /nowhere/ca.crt: ")) << Problem(extender);
  extender.tls.reset();
  extender.url_prefix = "https://jane:hunter2@extender";
  EXPECT_EQ(Problem(extender).find("hunter2"), std::string::npos) << Problem(extender);
  EXPECT_EQ(Problem(extender).find("jane"), std::string::npos) << Problem(extender);
  extender.url_prefix = "ftp://x";
  EXPECT_TRUE(Problem(extender).starts_with("extender \"ftp://x\": ")) << Problem(extender);
}

}  // namespace
}  // namespace berth::outside
