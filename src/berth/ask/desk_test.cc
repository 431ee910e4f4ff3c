// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/desk.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/ask/ask_service.h"
#include "berth/ask/ask_testing.h"
#include "berth/base/base64.h"
#include "berth/base/random.h"

namespace berth::ask {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeNode;

class SteppedClock final : public Clock {
 public:
  Time Now() const override { return now; }
  Time WallNow() const override { return now; }
  std::atomic<Time> now{whatif::kNow};
};

whatif::ClusterState Shop() {
  auto state = whatif::StateOf({MakeNode("a").Allocatable("cpu", "2").Allocatable("pods", "10")},
                               {whatif::RunningPod("web", "web-1", "a").Request("cpu", "1")});
  state.pod_details.push_back(std::make_shared<const api::PodDetails>());
  state.read_at = whatif::kNow;
  return state;
}

// A core that is made when the test says so: its question is being answered until then.
class Gate {
 public:
  CoreFor Wrapped() {
    return [this](const whatif::ClusterState& state, const Pods& added, OtherSchedulers others,
                  std::string_view configuration) {
      if (!has_begun_.exchange(true)) began_.set_value();
      opened_.wait();
      return DefaultCore(state, added, others, configuration);
    };
  }
  void AwaitBegin() { began_.get_future().wait(); }
  void Open() { open_.set_value(); }

 private:
  std::atomic<bool> has_begun_{false};
  std::promise<void> began_;
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
};

class DeskTest : public ::testing::Test {
 protected:
  Desk& Make(CoreFor core_for, DeskOptions options = {}) {
    options.is_live = false;
    options.workers = 1;
    desk_ = std::make_unique<Desk>(options, log_, std::move(core_for), clock_, metrics_);
    return *desk_;
  }
  static Desk::Question Drain(const std::string& client) {
    return {client, FindQuestion("can-drain"), R"({"nodes":["a"]})"};
  }
  // The answer, when it has come.
  std::future<Expected<Reply>> Ask(Desk::Question question) {
    const auto promise = std::make_shared<std::promise<Expected<Reply>>>();
    const auto ticket =
        desk_->Ask(std::move(question), [promise](Expected<Reply> reply) { promise->set_value(std::move(reply)); });
    if (!ticket.ok()) promise->set_value(ticket.error());
    return promise->get_future();
  }
  double Count(const std::string& family, std::initializer_list<std::string_view> values) {
    const bool is_of_questions = family == "berth_ask_questions_total";
    return metrics_
        .AddCounter(
            {family, "",
             is_of_questions ? std::vector<std::string>{"question", "outcome"} : std::vector<std::string>{"reason"}})
        .With(values)
        .value();
  }

  SteppedClock clock_;
  ChangeLog log_{Shop()};
  MetricRegistry metrics_;
  std::unique_ptr<Desk> desk_;
};

TEST_F(DeskTest, AnswersAndCounts) {
  Make(DefaultCore);
  const auto reply = Ask(Drain("jane")).get();
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->verdict, Verdict::kNo) << "web-1 has no other node";
  EXPECT_FALSE(Ask({"jane", FindQuestion("can-drain"), "{"}).get().ok());
  EXPECT_THAT(Ask({"jane", FindQuestion("can-drain"), "[]"}).get().error().message, HasSubstr("JSON object"));
  EXPECT_EQ(Count("berth_ask_questions_total", {"can-drain", "no"}), 1);
  EXPECT_EQ(Count("berth_ask_questions_total", {"can-drain", "invalid"}), 2);
}

TEST_F(DeskTest, RefusesWhatIsTooMuch) {
  Gate gate;
  Make(gate.Wrapped(), {.waiting_max = 3, .of_client_max = 2});
  auto first = Ask(Drain("jane"));
  gate.AwaitBegin();
  auto second = Ask(Drain("jane"));
  auto third = Ask(Drain("jane"));
  EXPECT_EQ(third.get().error().code, ErrorCode::kTooManyRequests) << "jane has two";
  auto fourth = Ask(Drain("john"));
  auto fifth = Ask(Drain("jack"));
  EXPECT_THAT(Ask(Drain("joan")).get().error().message, HasSubstr("too many questions wait"));
  gate.Open();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_TRUE(fourth.get().ok());
  EXPECT_TRUE(fifth.get().ok());
  EXPECT_TRUE(Ask(Drain("jane")).get().ok());
  EXPECT_EQ(Count("berth_ask_refused_total", {"client"}), 1);
  EXPECT_EQ(Count("berth_ask_refused_total", {"waiting"}), 1);
}

TEST_F(DeskTest, EndsWhatNobodyWaitsForAndWhatTakesTooLong) {
  Gate gate;
  Make(gate.Wrapped(), {.time_max = std::chrono::seconds(5)});
  auto slow = Ask(Drain("jane"));
  gate.AwaitBegin();
  bool is_called = false;
  const auto gone = desk_->Ask(Drain("john"), [&](const Expected<Reply>&) { is_called = true; });
  ASSERT_TRUE(gone.ok());
  (*gone)->Cancel();
  clock_.now = whatif::kNow + std::chrono::seconds(6);
  gate.Open();
  EXPECT_EQ(slow.get().error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(Ask(Drain("jane")).get().ok());
  EXPECT_FALSE(is_called);
  EXPECT_EQ(Count("berth_ask_questions_total", {"can-drain", "timeout"}), 1);
  EXPECT_EQ(Count("berth_ask_questions_total", {"can-drain", "cancelled"}), 1);
}

// On a core of its own: the next question is answered by the one that is kept.
TEST_F(DeskTest, AQuestionMayBringItsOwnConfiguration) {
  std::vector<std::string> given;
  Make([&](const whatif::ClusterState& state, const Pods& added, OtherSchedulers others,
           std::string_view configuration) -> Expected<CoreToMake> {
    given.emplace_back(configuration);
    if (configuration == "wrong") return InvalidError("configuration: wrong");
    return DefaultCore(state, added, others, configuration);
  });
  EXPECT_TRUE(Ask(Drain("jane")).get().ok());
  const auto by = [this](const std::string& configuration) {
    return Ask({"jane", FindQuestion("can-drain"), R"({"nodes":["a"],"configuration":")" + configuration + "\"}"})
        .get();
  };
  EXPECT_TRUE(by("mine").ok());
  EXPECT_EQ(by("wrong").error().message, "configuration: wrong");
  EXPECT_THAT(by("").error().message, HasSubstr("configuration should be a KubeSchedulerConfiguration"));
  EXPECT_EQ(by(std::string(2 << 20, 'x')).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(Ask(Drain("jane")).get().ok());
  EXPECT_THAT(given, ElementsAre("", "mine", "wrong"));
  // The pods that wait are a question by another configuration alone.
  const auto waiting = Ask({"jane", FindQuestion("simulate"), R"({"configuration":"mine"})"}).get();
  ASSERT_TRUE(waiting.ok());
  EXPECT_EQ(waiting->verdict, Verdict::kYes) << "none waits";
  EXPECT_THAT(Ask({"jane", FindQuestion("simulate"), "{}"}).get().error().message, HasSubstr("nothing to simulate"));
}

TEST_F(DeskTest, ASnapshotThatIsNone) {
  Make(DefaultCore);
  const auto with = [this](const std::string& snapshot) {
    return Ask({"jane", FindQuestion("can-drain"), R"({"nodes":["a"],"snapshot":")" + snapshot + "\"}"}).get();
  };
  EXPECT_THAT(with("***").error().message, HasSubstr("in base64"));
  const auto wrong = with(EncodeBase64("not compressed"));
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(wrong.error().message, HasSubstr("snapshot: "));
}

// Keeps what is sent, and what wants to know when the peer goes.
class KeptAnswer final : public net::ResponseWriter {
 public:
  void Send(net::Response response) override { answer_.set_value(std::move(response)); }
  void StartStream(net::Response) override {}
  bool Write(std::string_view) override { return false; }
  void End() override {}
  void OnClosed(std::function<void()> closed) override { closed_ = std::move(closed); }
  net::Response Get() { return answer_.get_future().get(); }
  void GoAway() { closed_(); }

 private:
  std::promise<net::Response> answer_;
  std::function<void()> closed_;
};

class AskServiceTest : public DeskTest {
 protected:
  std::shared_ptr<KeptAnswer> Send(const std::string& method, const std::string& path, const std::string& body = "",
                                   const std::string& accept = "") {
    AskService service({"berth test", [this] { return problem_; }}, *desk_);
    net::Request request;
    request.method = method;
    request.target = path;
    request.body = body;
    if (!accept.empty()) request.headers.push_back({"Accept", accept});
    const auto target = net::ParseTarget(request.target);
    const auto writer = std::make_shared<KeptAnswer>();
    serving::User user;
    user.name = "jane";
    service.Handle(user, std::move(request), *target, target->path, writer);
    return writer;
  }
  std::optional<std::string> problem_;
};

TEST_F(AskServiceTest, Answers) {
  Make(DefaultCore);
  const net::Response json = Send("POST", "/ask/v1/can-drain", R"({"nodes":["a"]})")->Get();
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(json.Get("Content-Type"), "application/json");
  EXPECT_EQ(json.Get("Berth-Verdict"), "no");
  EXPECT_TRUE(codec::ParseJson(json.body).ok());
  const net::Response text = Send("POST", "/ask/v1/can-drain?wide=true", R"({"nodes":["a"]})", "text/plain")->Get();
  EXPECT_THAT(text.body, HasSubstr("cannot be drained"));
  const net::Response index = Send("GET", "/ask/v1")->Get();
  EXPECT_THAT(index.body, HasSubstr(R"("questions":["explain","simulate")"));
}

TEST_F(AskServiceTest, Refuses) {
  Make(DefaultCore);
  EXPECT_EQ(Send("POST", "/ask/v1/nothing", "{}")->Get().status, 404);
  EXPECT_EQ(Send("POST", "/ask/v2/can-drain", "{}")->Get().status, 404);
  EXPECT_EQ(Send("GET", "/ask/v1/can-drain")->Get().status, 405);
  EXPECT_EQ(Send("POST", "/ask/v1/can-drain", "{}")->Get().status, 422);
  EXPECT_EQ(Send("POST", "/ask/v1/can-drain?columns=x", "{}")->Get().status, 422);
  problem_ = "the cluster has not been read";
  const net::Response early = Send("POST", "/ask/v1/can-drain", R"({"nodes":["a"]})")->Get();
  EXPECT_EQ(early.status, 503);
  EXPECT_EQ(early.Get("Retry-After"), "1");
}

TEST_F(AskServiceTest, AClientThatHangsUpEndsItsQuestion) {
  Gate gate;
  Make(gate.Wrapped(), {.waiting_max = 2});
  auto first = Ask(Drain("john"));
  gate.AwaitBegin();
  const auto writer = Send("POST", "/ask/v1/can-drain", R"({"nodes":["a"]})");
  auto last = Ask(Drain("jack"));
  const net::Response full = Send("POST", "/ask/v1/can-drain", R"({"nodes":["a"]})")->Get();
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.Get("Retry-After"), "1");
  writer->GoAway();
  gate.Open();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(last.get().ok());
  EXPECT_EQ(Count("berth_ask_questions_total", {"can-drain", "cancelled"}), 1);
}

}  // namespace
}  // namespace berth::ask
