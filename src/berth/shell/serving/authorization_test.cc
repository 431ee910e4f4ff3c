// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/authorization.h"

#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::serving {
namespace {

class AuthorizerTest : public ::testing::Test {
 protected:
  void Make(const AuthorizationOptions& options, bool has_server = true) {
    auto made = Authorizer::Make(options, loop_, has_server ? &reviews_ : nullptr);
    ASSERT_TRUE(made.ok()) << made.error().message;
    authorizer_ = *std::move(made);
  }

  using Verdict = std::shared_ptr<std::optional<Expected<AuthorizationVerdict>>>;
  Verdict Ask(const User& user, const std::string& path, const std::string& verb = "get") {
    auto verdict = std::make_shared<std::optional<Expected<AuthorizationVerdict>>>();
    authorizer_->Authorize(user, verb, path,
                           [verdict](Expected<AuthorizationVerdict> each) { verdict->emplace(std::move(each)); });
    loop_.Run();
    return verdict;
  }
  void AnswerNext(const std::string& status) {
    transport_.Next()->Answer(201, R"({"kind":"SubjectAccessReview","status":)" + status + "}");
    loop_.Run();
  }

  client::FakeLoop loop_;
  client::FakeTransport transport_;
  client::RestClient rest_{loop_, transport_, nullptr, 1};
  ReviewClient reviews_{rest_, "/apis/authorization.k8s.io/v1/subjectaccessreviews", {}};
  std::unique_ptr<Authorizer> authorizer_;
  const User jane_{"jane", "7", {"a", "b"}, {{"k", {"v"}}}};
};

TEST_F(AuthorizerTest, MastersAndOpenPathsNeedNoQuestion) {
  Make({});
  EXPECT_TRUE((**Ask({"x", {}, {"system:masters"}, {}}, "/metrics"))->is_allowed);
  for (const char* path : {"/healthz", "/livez", "/readyz"}) EXPECT_TRUE((**Ask(jane_, path))->is_allowed) << path;
  EXPECT_EQ(transport_.Waiting(), 0U);
  // Only these, and nothing below.
  for (const char* path : {"/healthz/ping", "//healthz", "/healthz/", "/"})
    EXPECT_FALSE(Ask(jane_, path)->has_value()) << path;
}

TEST_F(AuthorizerTest, PathsMayEndInAStar) {
  AuthorizationOptions options;
  options.always_allow_paths = {"metrics", "/debug/*", "/"};
  Make(options, false);
  for (const char* path : {"/metrics", "/debug/flags", "/debug/", "/"})
    EXPECT_TRUE((**Ask(jane_, path))->is_allowed) << path;
  for (const char* path : {"/metrics/slis", "/debug", "/healthz"})
    EXPECT_FALSE((**Ask(jane_, path))->is_allowed) << path;
  options.always_allow_paths = {"/a*b"};
  const auto refused = Authorizer::Make(options, loop_, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, R"(--authorization-always-allow-paths: only trailing * allowed in "a*b")");
}

TEST_F(AuthorizerTest, VerdictsAreAskedForOnceAndKeptForTheirTimes) {
  AuthorizationOptions options;
  options.authorized_ttl = std::chrono::seconds(20);
  Make(options);
  const Verdict first = Ask(jane_, "/metrics");
  const Verdict second = Ask(jane_, "/metrics");
  const Verdict other = Ask(jane_, "/configz");
  ASSERT_EQ(transport_.Waiting(), 2U);
  const auto call = transport_.Next();
  EXPECT_EQ(call->request.body,
            R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{)"
            R"("nonResourceAttributes":{"path":"/metrics","verb":"get"},"user":"jane","groups":["a","b"],)"
            R"("extra":{"k":["v"]},"uid":"7"},"status":{"allowed":false}})");
  call->Answer(201, R"({"status":{"allowed":true,"reason":"RBAC: allowed"}})");
  loop_.Run();
  EXPECT_TRUE((**first)->is_allowed);
  EXPECT_TRUE((**second)->is_allowed);
  AnswerNext(R"({"allowed":false,"reason":"no"})");
  EXPECT_FALSE((**other)->is_allowed);
  EXPECT_EQ((**other)->reason, "no");

  loop_.Advance(std::chrono::milliseconds(9'999));
  EXPECT_FALSE((**Ask(jane_, "/configz"))->is_allowed);
  EXPECT_EQ(transport_.Waiting(), 0U);
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(Ask(jane_, "/configz")->has_value());
  EXPECT_TRUE((**Ask(jane_, "/metrics"))->is_allowed);
  loop_.Advance(std::chrono::seconds(10));
  EXPECT_FALSE(Ask(jane_, "/metrics")->has_value());
  // Each verb needs its own review.
  EXPECT_EQ(transport_.Waiting(), 2U);
  EXPECT_FALSE(Ask(jane_, "/metrics", "delete")->has_value());
  EXPECT_EQ(transport_.Waiting(), 3U);
}

TEST_F(AuthorizerTest, FailuresAreErrorsAndNotKept) {
  Make({});
  const Verdict first = Ask(jane_, "/metrics");
  transport_.Next()->Fail(ErrorCode::kTimeout, true, "no answer");
  loop_.Run();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((**first).error().code, ErrorCode::kTimeout);
  const Verdict second = Ask(jane_, "/metrics");
  AnswerNext(R"({"allowed":true,"denied":true})");
  EXPECT_FALSE((**second).ok());
  EXPECT_FALSE(Ask(jane_, "/metrics")->has_value());
}

TEST_F(AuthorizerTest, LongPathsAreNotKept) {
  Make({});
  const std::string path = "/" + std::string(Authorizer::kKeptPathBytesMax, 'x');
  const Verdict first = Ask(jane_, path);
  AnswerNext(R"({"allowed":true})");
  EXPECT_TRUE((**first)->is_allowed);
  EXPECT_FALSE(Ask(jane_, path)->has_value());
}

TEST_F(AuthorizerTest, WhoWaitsIsBounded) {
  Make({});
  for (std::size_t i = 0; i < Authorizer::kWaitingMax; ++i) Ask(jane_, "/metrics");
  const Verdict refused = Ask(jane_, "/metrics");
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((**refused).error().code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(transport_.Waiting(), 1U);
}

}  // namespace
}  // namespace berth::serving
