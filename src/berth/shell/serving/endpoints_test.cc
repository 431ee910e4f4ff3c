// SPDX-License-Identifier: Apache-2.0
// Paths, statuses and bodies; those of upstream were taken down from kube-scheduler 1.36.3.
#include "berth/shell/serving/endpoints.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/shell/serving/answers.h"
#include "berth/shell/serving/heartbeat.h"

namespace berth::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class EndpointsTest : public ::testing::Test {
 protected:
  EndpointsTest() {
    state_.readyz = {Check("shutdown"), Check("sched-handler-sync")};
    state_.started = loop_.WallNow() - std::chrono::seconds(3 * 3600 + 62);
  }

  HealthCheck Check(const std::string& name) {
    return {name, [this, name]() -> std::optional<std::string> {
              if (failing_ == name) return "it is " + name;
              return std::nullopt;
            }};
  }

  net::Response Ask(const std::string& target, const std::string& method = "GET", std::vector<net::Header> headers = {},
                    const std::string& body = {}) {
    if (!endpoints_) endpoints_.emplace(state_, loop_);
    const auto parsed = net::ParseTarget(target);
    BERTH_CHECK(parsed.ok());
    std::optional<net::Response> response;
    endpoints_->Answer({method, target, std::move(headers), body}, *parsed, *net::PercentDecode(parsed->path, false),
                       [&response](net::Response each) { response = std::move(each); });
    BERTH_CHECK(response.has_value());
    return *std::move(response);
  }

  client::FakeLoop loop_;
  ServedState state_;
  std::string failing_;
  std::optional<Endpoints> endpoints_;
};

TEST_F(EndpointsTest, Health) {
  struct Case {
    std::string target;
    std::string failing;
    int status;
    std::string body;
  };
  const Case cases[] = {
      {"/healthz", "", 200, "ok"},
      {"/healthz?verbose", "", 200, "[+]ping ok\nhealthz check passed\n"},
      {"/healthz/ping", "", 200, "ok"},
      {"/livez?verbose", "", 200, "[+]ping ok\nlivez check passed\n"},
      {"/readyz?verbose", "", 200, "[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n"},
      {"/readyz?verbose=0&exclude=shutdown&exclude=z&exclude=a", "", 200,
       "[+]shutdown excluded: ok\n[+]sched-handler-sync ok\nwarn: some health checks cannot be excluded: no matches "
       "for "
       "\"a\",\"z\"\nreadyz check passed\n"},
      {"/readyz", "shutdown", 500,
       "[-]shutdown failed: reason withheld\n[+]sched-handler-sync ok\nreadyz check failed\n"},
      {"/readyz?exclude=shutdown", "shutdown", 200, "ok"},
      {"/readyz/shutdown", "shutdown", 500, "internal server error: it is shutdown\n"},
      {"/readyz/shutdown", "", 200, "ok"},
      {"/readyz/ping", "", 404, "404 page not found\n"},
      {"/readyz/", "", 404, "404 page not found\n"},
      {"/readyzz", "", 404, "404 page not found\n"},
      {"/", "", 404, "404 page not found\n"},
  };
  for (const Case& c : cases) {
    failing_ = c.failing;
    const net::Response response = Ask(c.target);
    EXPECT_EQ(response.status, c.status) << c.target;
    EXPECT_EQ(response.body, c.body) << c.target;
    EXPECT_EQ(response.Get("Content-Type"), "text/plain; charset=utf-8") << c.target;
  }
}

TEST_F(EndpointsTest, WhatAnybodyMayKnowOfAFailure) {
  state_.readyz[1].public_failure = [] { return std::optional<std::string>("not listed: nodes"); };
  failing_ = "sched-handler-sync";
  EXPECT_EQ(Ask("/readyz").body,
            "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n");
  EXPECT_EQ(Ask("/readyz?verbose").body,
            "[+]shutdown ok\n[-]sched-handler-sync failed: not listed: nodes\nreadyz check failed\n");
  EXPECT_EQ(Ask("/readyz/sched-handler-sync").body, "internal server error: it is sched-handler-sync\n");
  failing_ = "shutdown";
  EXPECT_EQ(Ask("/readyz?verbose").body,
            "[-]shutdown failed: reason withheld\n[+]sched-handler-sync ok\nreadyz check failed\n");
}

TEST_F(EndpointsTest, QuestionsAreHandedOn) {
  EXPECT_EQ(Ask("/explain").status, 404) << "nobody answers them";
  endpoints_.reset();
  state_.explain = [](const net::Request& request, const net::Target& target, const std::string& path,
                      const std::function<void(net::Response)>& done) {
    done(Text(request.method + " " + path + " " + std::string(target.Query("nodes"))));
  };
  EXPECT_EQ(Ask("/explain").body, "GET /explain ");
  EXPECT_EQ(Ask("/explain/pods/a/b?nodes=false").body, "GET /explain/pods/a/b false");
  EXPECT_EQ(Ask("/explained").status, 404);
  const net::Response refused = Ask("/explain/pods", "DELETE");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.Get("Allow"), "GET, HEAD");
  EXPECT_THAT(refused.body, HasSubstr("/explain/pods is for GET"));
}

TEST_F(EndpointsTest, HealthMetrics) {
  EXPECT_THAT(Ask("/metrics/slis").body, StartsWith("# HELP process_start_time_seconds "));
  Ask("/readyz");
  failing_ = "shutdown";
  Ask("/readyz");
  Ask("/readyz/shutdown");                    // counts nothing
  Ask("/readyz?exclude=sched-handler-sync");  // counts only what was asked
  const net::Response response = Ask("/metrics/slis");
  EXPECT_EQ(response.Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
  EXPECT_THAT(
      response.body,
      StartsWith("# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"
                 "# TYPE kubernetes_healthcheck gauge\n"
                 "kubernetes_healthcheck{name=\"sched-handler-sync\",type=\"readyz\"} 1\n"
                 "kubernetes_healthcheck{name=\"shutdown\",type=\"readyz\"} 0\n"
                 "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n"
                 "# TYPE kubernetes_healthchecks_total counter\n"
                 "kubernetes_healthchecks_total{name=\"sched-handler-sync\",status=\"success\",type=\"readyz\"} 2\n"
                 "kubernetes_healthchecks_total{name=\"shutdown\",status=\"error\",type=\"readyz\"} 2\n"
                 "kubernetes_healthchecks_total{name=\"shutdown\",status=\"success\",type=\"readyz\"} 1\n"));
  EXPECT_EQ(Ask("/metrics/slis", "DELETE").body, "metrics reset\n");
  EXPECT_THAT(Ask("/metrics/slis").body, Not(HasSubstr("kubernetes_healthcheck")));
}

TEST_F(EndpointsTest, WhatIsHandedIn) {
  for (const char* path : {"/metrics", "/metrics/resources", "/configz", "/flagz", "/debug/pprof/none"})
    EXPECT_EQ(Ask(path).status, 404) << path;
  endpoints_.reset();
  bool is_leader = false;
  int resets = 0;
  state_.metrics_text = [] { return "a 1\n"; };
  state_.reset_metrics = [&] { ++resets; };
  state_.pod_resources = [](const std::function<void(Expected<std::string>)>& done) { done(std::string("r 1\n")); };
  state_.is_leader = [&] { return is_leader; };
  state_.config_json = [] { return R"({"kind":"KubeSchedulerConfiguration"})"; };
  EXPECT_EQ(Ask("/metrics").body, "a 1\n");
  EXPECT_EQ(Ask("/metrics").Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
  const net::Response reset = Ask("/metrics", "DELETE");
  EXPECT_EQ(reset.body, "metrics reset\n");
  EXPECT_EQ(reset.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(resets, 1);
  EXPECT_EQ(Ask("/metrics/resources").status, 200);
  EXPECT_EQ(Ask("/metrics/resources").body, "");
  EXPECT_EQ(Ask("/metrics/resources", "DELETE").body, "");
  is_leader = true;
  EXPECT_EQ(Ask("/metrics/resources", "DELETE").body, "metrics reset\n");
  EXPECT_EQ(Ask("/metrics/resources").body, "r 1\n");
  EXPECT_EQ(Ask("/configz").body, R"({"componentconfig":{"kind":"KubeSchedulerConfiguration"}})");
  EXPECT_EQ(Ask("/configz").Get("Content-Type"), "application/json");
}

TEST_F(EndpointsTest, Flagz) {
  state_.flags = [] { return std::map<std::string, std::string>{{"v", "2"}, {"config", "a\"b"}}; };
  EXPECT_EQ(Ask("/flagz").body,
            "\nkube-scheduler flagz\nWarning: This endpoint is not meant to be machine parseable, has no formatting "
            "compatibility guarantees and is for debugging purposes only.\nconfig=a\"b\nv=2\n");
  const net::Response json = Ask("/flagz", "GET", {{"Accept", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"}});
  EXPECT_EQ(json.Get("Content-Type"), "application/json;g=config.k8s.io;v=v1beta1;as=Flagz");
  EXPECT_EQ(json.body, R"({"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"kube-scheduler"},)"
                       R"("flags":{"config":"a\"b","v":"2"}})"
                       "\n");
  EXPECT_THAT(
      Ask("/flagz", "GET", {{"Accept", "application/json; as=Flagz; g=config.k8s.io; v=v1alpha1"}}).Get("Warning"),
      HasSubstr("deprecated"));
  const net::Response refused = Ask("/flagz", "GET", {{"Accept", "application/json"}});
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(
      refused.body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"only the following media )"
      R"(types are accepted: application/json, application/yaml, text/plain","reason":"NotAcceptable","code":406})"
      "\n");
}

TEST_F(EndpointsTest, Statusz) {
  state_.program_version = "berth/0.1.0";
  const std::string text = Ask("/statusz", "GET", {{"Accept", "*/*"}}).body;
  EXPECT_THAT(text, StartsWith("\nkube-scheduler statusz\nWarning: "));
  EXPECT_THAT(text, HasSubstr("\n\nStarted: "));
  EXPECT_THAT(text, HasSubstr("\nUp: 3 hr 01 min 02 sec\nGo version: none (berth/0.1.0, C++)\nBinary version: 1.36.3\n"
                              "Emulation version: 1.36\nPaths: /healthz /livez /metrics /readyz\n"));
  EXPECT_THAT(Ask("/statusz", "GET", {{"Accept", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"}}).body,
              HasSubstr(R"("uptimeSeconds":10862,)"));
  endpoints_.reset();
  state_.has_status_page = false;
  EXPECT_EQ(Ask("/statusz").status, 404);
  EXPECT_EQ(Ask("/statusz").body, "404 page not found\n");
}

TEST_F(EndpointsTest, DebugFlags) {
  std::string verbosity;
  state_.set_verbosity = [&](std::string_view text) -> Expected<std::string> {
    if (text == "x") return InvalidError("not x");
    verbosity = text;
    return "set to " + std::string(text);
  };
  EXPECT_EQ(Ask("/debug/flags/v").status, 406);
  EXPECT_EQ(Ask("/debug/flags/v").body, "unsupported http method\n");
  EXPECT_EQ(Ask("/debug/flags/v", "PUT", {}, "5").body, "set to 5\n");
  EXPECT_EQ(verbosity, "5");
  EXPECT_EQ(Ask("/debug/flags/v", "PUT", {}, "x").status, 400);
  EXPECT_EQ(Ask("/debug/flags/v", "PUT", {}, "x").body, "not x\n");
  EXPECT_THAT(Ask("/debug/flags").body, HasSubstr("<tr>v<br>"));
  EXPECT_EQ(Ask("/debug/pprof/profile").status, 404);
  EXPECT_THAT(Ask("/debug/pprof/profile").body, HasSubstr("perf record"));
  endpoints_.reset();
  state_.is_profiling_enabled = false;
  EXPECT_EQ(Ask("/debug/flags/v", "PUT", {}, "6").body, "404 page not found\n");
  EXPECT_EQ(verbosity, "5");
}

TEST(AnswersTest, Refusals) {
  const User user{"a<b>", {}, {}, {}};
  EXPECT_EQ(
      Unauthorized({}).body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401})"
      "\n");
  const net::Response forbidden = Forbidden({}, user, "get", "/m\"x", "no reason");
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_EQ(forbidden.Get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(
      forbidden.body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"a\u0026lt;b\u0026gt;\" cannot get path \"/m\\\"x\": no reason","reason":"Forbidden","details":{},"code":403})"
      "\n");
  const std::string pretty =
      "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \"status\": \"Failure\",\n"
      "  \"message\": \"Unauthorized\",\n  \"reason\": \"Unauthorized\",\n  \"code\": 401\n}";
  EXPECT_EQ(Unauthorized({"GET", "/", {{"User-Agent", "curl/7.88"}}, {}}).body, pretty);
  EXPECT_EQ(Unauthorized({"GET", "/?pretty=1", {}, {}}).body, pretty);
  EXPECT_EQ(Unauthorized({"GET", "/", {{"Accept", "text/html"}}, {}}).body, pretty);
  EXPECT_EQ(Unauthorized({"GET", "/", {{"Accept", "application/json; as=Table"}}, {}}).body, pretty);
  EXPECT_NE(Unauthorized({"GET", "/", {{"Accept", "text/html, application/json;q=0.5"}}, {}}).body, pretty);
  EXPECT_NE(Unauthorized({"GET", "/?pretty=0", {{"User-Agent", "curl/7.88"}}, {}}).body, pretty);
  EXPECT_EQ(InternalFailure({"GET", "/a?b", {}, {}}, "x < y").body, "Internal Server Error: \"/a?b\": x &lt; y\n");
  EXPECT_EQ(TooManyRequests({}).Get("Retry-After"), "1");
}

TEST(HeartbeatTest, ReportsHowLongTheLoopHasOwedAnAnswer) {
  client::FakeLoop watched;
  client::FakeLoop time;
  Heartbeat heartbeat(watched, time);
  EXPECT_EQ(heartbeat.Look(), Duration{0});
  time.Advance(std::chrono::seconds(10));
  EXPECT_EQ(heartbeat.Look(), std::chrono::seconds(10));
  time.Advance(std::chrono::seconds(60));
  EXPECT_EQ(heartbeat.Look(), std::chrono::seconds(70));
  watched.Run();
  EXPECT_EQ(heartbeat.Look(), Duration{0});
  watched.Run();
  time.Advance(std::chrono::seconds(60));
  EXPECT_EQ(heartbeat.Look(), Duration{0});
}

}  // namespace
}  // namespace berth::serving
