// SPDX-License-Identifier: Apache-2.0
// /explain of the secure port over a core with a fake clock. Who may ask is the port's business (shell/serving).
#include "berth/app/run/explain_endpoint.h"

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/explanation_json.h"
#include "berth/base/base64.h"
#include "berth/codec/json.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/shell/serving/client_certificate.h"
#include "berth/whatif/live_explanation.h"

namespace berth::app {
namespace {

using scheduler::Harness;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;
using ::testing::Not;

// Goes on by `step` with each look at it.
class SteppingClock final : public Clock {
 public:
  Time Now() const override { return now_.load(); }
  void Set(Time now) { now_ = now; }
  void SetStep(Duration step) { step_ = step; }
  Time Look() const {
    now_ = now_.load() + step_.load();
    return now_;
  }

 private:
  mutable std::atomic<Time> now_{Time(std::chrono::hours(1000))};
  std::atomic<Duration> step_{Duration{0}};
};

class LookedAtClock final : public Clock {
 public:
  explicit LookedAtClock(const SteppingClock& clock) : clock_(clock) {}
  Time Now() const override { return clock_.Look(); }

 private:
  const SteppingClock& clock_;
};

class ExplainEndpointTest : public ::testing::Test {
 protected:
  ExplainEndpointTest() {
    harness_.Set(MakeNode("a").Allocatable("cpu", "1"));
    harness_.Set(MakePod("large").Request("cpu", "2"));
    harness_.Set(MakePod("other").Namespace("shop").Request("cpu", "3"));
    harness_.Set(MakePod("third").Namespace("shop").Request("cpu", "3"));
    harness_.Run();
    endpoint_ = std::make_unique<ExplainEndpoint>(ExplainEndpoint::Sources{[this](const auto& question) {
                                                                             if (in_question_) in_question_();
                                                                             question(harness_.core, harness_.now,
                                                                                      std::chrono::hours(1));
                                                                           },
                                                                           [this] { return why_not_; },
                                                                           {"extender https://e is not asked"}},
                                                  looked_at_);
  }

  std::future<net::Response> Begin(const std::string& path) {
    const auto target = net::ParseTarget(path);
    BERTH_CHECK(target.ok(), path);
    const auto answer = std::make_shared<std::promise<net::Response>>();
    // As the port does, which authorizes the decoded path.
    const auto decoded = net::PercentDecode(target->path, false);
    BERTH_CHECK(decoded.ok(), path);
    endpoint_->Answer({"GET", path, {}, ""}, *target, *decoded,
                      [answer](net::Response response) { answer->set_value(std::move(response)); });
    return answer->get_future();
  }
  // After the rest that the last question gave the core.
  net::Response Ask(const std::string& path) {
    clock_.Set(clock_.Now() + std::chrono::seconds(10));
    return Begin(path).get();
  }
  codec::json::value AskJson(const std::string& path) {
    const net::Response response = Ask(path);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.Get("Content-Type"), "application/json");
    const auto json = codec::ParseJson(response.body);
    EXPECT_TRUE(json.ok()) << response.body;
    return *json;
  }

  Harness harness_;
  SteppingClock clock_;
  LookedAtClock looked_at_{clock_};
  std::optional<std::string> why_not_;
  std::function<void()> in_question_;
  std::unique_ptr<ExplainEndpoint> endpoint_;  // the last: its thread uses the others
};

TEST_F(ExplainEndpointTest, APodIsExplainedAsTheLibraryExplainsIt) {
  auto said = whatif::ExplainLive(harness_.core, {"default", "large", harness_.now, std::chrono::hours(1)}, {});
  ASSERT_TRUE(said.ok());
  said->live->not_asked = {"extender https://e is not asked"};
  EXPECT_EQ(codec::WriteJson(AskJson("/explain/pods/default/large")),
            codec::WriteJson(answers::ExplanationJson(*said)));
  EXPECT_EQ(codec::WriteJson(AskJson("/explain/pods/default/large?nodes=false")),
            codec::WriteJson(answers::ExplanationJson(*said, answers::NodesInJson::kNone)));
}

TEST_F(ExplainEndpointTest, ThePendingPodsAreListedInParts) {
  const auto names = [&](const std::string& path, std::string& next) {
    std::string text;
    const codec::json::value list = AskJson(path);
    for (const auto& pod : list.at("pods").as_array()) {
      text += std::string(pod.at("pod").as_string()) + " ";
      EXPECT_THAT(std::string(pod.at("why").as_string()), HasSubstr("0/1 nodes are available"));
    }
    next = list.as_object().contains("continue") ? std::string(list.at("continue").as_string()) : "";
    return text;
  };
  std::string next;
  EXPECT_EQ(names("/explain/pods", next), "default/large shop/other shop/third ");
  EXPECT_EQ(next, "");
  EXPECT_EQ(names("/explain/pods?limit=2", next), "default/large shop/other ");
  EXPECT_EQ(next, "shop/other");
  EXPECT_EQ(names("/explain/pods?limit=2&continue=shop%2Fother", next), "shop/third ");
  EXPECT_EQ(next, "");
  EXPECT_EQ(names("/explain/pods?limit=3", next), "default/large shop/other shop/third ");
  EXPECT_EQ(next, "");
}

TEST_F(ExplainEndpointTest, AListIsBounded) {
  for (std::size_t i = 0; i < ExplainEndpoint::kListedMax; ++i)
    harness_.Set(MakePod("many-" + std::to_string(i)).Gate(std::string(3000, 'g')));
  const codec::json::value list = AskJson("/explain/pods?limit=100000");
  ASSERT_EQ(list.at("pods").as_array().size(), ExplainEndpoint::kListedMax);
  EXPECT_TRUE(list.as_object().contains("continue"));
  for (const auto& pod : list.at("pods").as_array())
    EXPECT_LE(pod.at("why").as_string().size(), ExplainEndpoint::kWhyBytesMax);
}

TEST_F(ExplainEndpointTest, WhatIsWrongIsAStatusObject) {
  struct Case {
    std::string path;
    int status;
    std::string reason;
    std::string message;
  };
  const Case cases[] = {
      {"/explain/pods/default/lagre", 404, "NotFound",
       R"(there is no pod "lagre" in namespace "default"; did you mean "large"?)"},
      {"/explain/pods/default/other", 404, "NotFound",
       R"(there is no pod "other" in namespace "default"; there is one in namespace "shop")"},
      {"/explain/nodes", 404, "NotFound", "the paths are /explain, /explain/pods and /explain/pods/NAMESPACE/NAME"},
      {"/explain/pods/default", 404, "NotFound",
       "the paths are /explain, /explain/pods and /explain/pods/NAMESPACE/NAME"},
      {"/explain/pods/default/", 404, "NotFound",
       "the paths are /explain, /explain/pods and /explain/pods/NAMESPACE/NAME"},
      {"/explain/pods//large", 404, "NotFound",
       "the paths are /explain, /explain/pods and /explain/pods/NAMESPACE/NAME"},
      {"/explain/pods/", 404, "NotFound", "the paths are /explain, /explain/pods and /explain/pods/NAMESPACE/NAME"},
      {"/explain/pods?limit=0", 400, "BadRequest", "limit should be a number from 1 to 500"},
      {"/explain/pods?limit=many", 400, "BadRequest", "limit should be a number from 1 to 500"},
      {"/explain/pods?continue=x", 400, "BadRequest", "continue should be what the list before ended with"},
      {"/explain/pods/default/large?nodes=no", 400, "BadRequest", "nodes should be true or false"},
  };
  for (const Case& c : cases) {
    const net::Response response = Ask(c.path);
    EXPECT_EQ(response.status, c.status) << c.path;
    const auto status = codec::ParseJson(response.body);
    ASSERT_TRUE(status.ok()) << response.body;
    EXPECT_EQ(status->at("kind").as_string(), "Status");
    EXPECT_EQ(status->at("reason").as_string(), c.reason) << c.path;
    EXPECT_EQ(status->at("message").as_string(), c.message) << c.path;
  }
}

// Or a role that may get /explain/pods/shop/* could ask about other namespaces.
TEST_F(ExplainEndpointTest, WhatIsExplainedIsWhatWasAuthorized) {
  const codec::json::value said = AskJson("/explain/pods%2Fshop/other");
  EXPECT_EQ(codec::WriteJson(said), codec::WriteJson(AskJson("/explain/pods/shop/other")));

  const net::Response list = Ask("/explain%2Fpods%2Fshop/pods");
  EXPECT_EQ(list.status, 404);
  EXPECT_THAT(list.body, HasSubstr(R"(there is no pod \"pods\" in namespace \"shop\")"));
  const net::Response one = Ask("/explain%2Fpods%2Fshop/pods/default/large");
  EXPECT_EQ(one.status, 404);
  EXPECT_THAT(one.body, HasSubstr("the paths are /explain"));
}

TEST_F(ExplainEndpointTest, OneQuestionAtATimeAndATenthOfTheTime) {
  std::promise<void> asking;
  std::promise<void> go_on;
  in_question_ = [&] {
    asking.set_value();
    go_on.get_future().wait();
  };
  clock_.Set(clock_.Now() + std::chrono::seconds(10));
  std::future<net::Response> first = Begin("/explain/pods/default/large");
  asking.get_future().wait();
  const net::Response refused = Begin("/explain/pods").get();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.Get("Retry-After"), "1");
  EXPECT_THAT(refused.body, HasSubstr("a tenth of the scheduler's time"));
  EXPECT_EQ(Begin("/explain").get().status, 200) << "the page asks nobody";
  go_on.set_value();
  EXPECT_EQ(first.get().status, 200);
  in_question_ = nullptr;

  // It took no time, and so the least rest follows.
  EXPECT_EQ(Begin("/explain/pods").get().status, 429);
  clock_.Set(clock_.Now() + ExplainEndpoint::kRestMin);
  EXPECT_EQ(Begin("/explain/pods").get().status, 200);

  // One that takes longer is followed by a longer rest.
  clock_.SetStep(std::chrono::milliseconds(1));
  Ask("/explain/pods/default/large");
  clock_.SetStep(Duration{0});
  const Time ended_at = clock_.Now();
  clock_.Set(ended_at + ExplainEndpoint::kRestMin + std::chrono::milliseconds(5));
  EXPECT_EQ(Begin("/explain/pods").get().status, 429);
  clock_.Set(ended_at + ExplainEndpoint::kRestFactor * (ExplainEndpoint::kTurnTimeMax + std::chrono::milliseconds(40)));
  EXPECT_EQ(Begin("/explain/pods").get().status, 200);
}

TEST_F(ExplainEndpointTest, ALongAnswerIsEndedAndSaysSo) {
  EXPECT_FALSE(AskJson("/explain/pods/default/large").as_object().contains("leftOut"));
  clock_.SetStep(ExplainEndpoint::kTurnTimeMax / 4);
  const codec::json::value said = AskJson("/explain/pods/default/large");
  ASSERT_TRUE(said.as_object().contains("leftOut")) << codec::WriteJson(said);
  EXPECT_EQ(said.at("changesComplete").as_bool(), false);
  EXPECT_EQ(said.at("state").as_string(), "Refused");
}

TEST_F(ExplainEndpointTest, WhoDecidesNothingIsNotAsked) {
  why_not_ = "this process stands by";
  in_question_ = [] { ADD_FAILURE() << "the core was asked"; };
  for (const char* const path : {"/explain/pods", "/explain/pods/default/large"}) {
    const net::Response response = Ask(path);
    EXPECT_EQ(response.status, 503) << path;
    EXPECT_THAT(response.body, HasSubstr("this process stands by"));
  }
  EXPECT_EQ(Ask("/explain").status, 200);
}

TEST_F(ExplainEndpointTest, ThePageLoadsNothingFromElsewhere) {
  const net::Response response = Ask("/explain");
  EXPECT_EQ(response.Get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(response.body, ExplainPage());
  EXPECT_THAT(response.body, Not(HasSubstr("http://")));
  EXPECT_THAT(response.body, Not(HasSubstr("https://")));
  EXPECT_THAT(response.body, Not(HasSubstr("innerHTML")));
  EXPECT_THAT(response.body, Not(HasSubstr("style=")));
  const std::string policy(response.Get("Content-Security-Policy"));
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; connect-src 'self'; script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  // The script as a browser hashes it: all between its tags.
  const std::string_view page = ExplainPage();
  const std::size_t begin = page.find("<script>") + 8;
  const std::string_view script = page.substr(begin, page.find("</script>") - begin);
  EXPECT_THAT(policy, HasSubstr("script-src 'sha256-" + EncodeBase64(serving::Sha256(script)) + "'"));
  EXPECT_EQ(response.Get("X-Content-Type-Options"), "nosniff");
}

}  // namespace
}  // namespace berth::app
