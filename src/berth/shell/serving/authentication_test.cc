// SPDX-License-Identifier: Apache-2.0
// Authentication: each way, their order, what is cached and what is bounded.
#include "berth/shell/serving/authentication.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/shell/net/test_certificates.h"
#include "berth/shell/serving/ttl_cache.h"

namespace berth::serving {
namespace {

using net::Certificate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Valid at the fake clock's time, far from the machine's.
struct ServingPki {
  Certificate authority{{.common_name = "authority", .is_authority = true}};
  Certificate stranger{{.common_name = "stranger", .is_authority = true}};
  Certificate admin{{.common_name = "admin"}, &authority};
  Certificate nameless{{.common_name = ""}, &authority};
  Certificate proxy{{.common_name = "front-proxy"}, &authority};
  Certificate foreign{{.common_name = "admin"}, &stranger};
};

const ServingPki& Pki() {
  static const ServingPki pki;
  return pki;
}

std::string Der(const Certificate& certificate) {
  const std::string pem = certificate.pem();
  // Between the lines that begin and end it, base64.
  std::string der;
  std::uint32_t bits = 0;
  int count = 0;
  for (std::size_t i = pem.find('\n') + 1; pem[i] != '-'; ++i) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t digit = kDigits.find(pem[i]);
    if (digit == std::string_view::npos) continue;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    der += static_cast<char>(bits >> count & 0xff);
  }
  return der;
}

ShownCertificates Shown(const Certificate& certificate) {
  return std::make_shared<const std::vector<std::string>>(1, Der(certificate));
}

// A clock whose wall time is the machine's: certificates are made by that.
class WallClock final : public Clock {
 public:
  explicit WallClock(const Clock& steady) : steady_(steady) {}
  Time Now() const override { return steady_.Now(); }
  Time WallNow() const override { return system_.WallNow(); }

 private:
  const Clock& steady_;
  const SystemClock system_;
};

class AuthenticatorTest : public ::testing::Test {
 protected:
  static constexpr const char* kPath = "/apis/authentication.k8s.io/v1/tokenreviews";

  void Make(const AuthenticationOptions& options, bool has_server = true) {
    auto trust = TrustSource::Make(options, has_server ? &rest_ : nullptr, [this] { ++changes_; });
    ASSERT_TRUE(trust.ok()) << trust.error().message;
    trust_ = *std::move(trust);
    trust_->Start([this](Expected<void> result) { looked_up_ = result.ok(); });
    loop_.Run();
    authenticator_.emplace(*trust_, clock_, has_server ? &reviews_ : nullptr, options.token_cache_ttl);
  }

  // Files of this test's own.
  std::string File(const std::string& name, const std::string& content) {
    const std::string path = std::filesystem::path(::testing::TempDir()) / ("serving_authentication_" + name);
    std::ofstream(path) << content;
    return path;
  }

  // The place of the result; empty until there is one.
  std::shared_ptr<std::optional<Expected<User>>> Ask(std::vector<net::Header> headers, ShownCertificates shown = {}) {
    auto result = std::make_shared<std::optional<Expected<User>>>();
    authenticator_->Authenticate({"GET", "/metrics", std::move(headers), {}}, shown,
                                 [result](Expected<User> user) { result->emplace(std::move(user)); });
    loop_.Run();
    return result;
  }
  std::shared_ptr<std::optional<Expected<User>>> AskWithToken(const std::string& token) {
    return Ask({{"Authorization", "Bearer " + token}});
  }

  static void AnswerReview(client::FakeTransport::Call& call, const std::string& status) {
    call.Answer(201, R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":)" + status + "}",
                {{"Content-Type", "application/json"}});
  }

  client::FakeLoop loop_;
  WallClock clock_{loop_};
  client::FakeTransport transport_;
  client::RestClient rest_{loop_, transport_, nullptr, 1};
  ReviewClient reviews_{rest_, kPath, {std::chrono::seconds(10), std::chrono::seconds(10)}};
  std::unique_ptr<TrustSource> trust_;
  std::optional<Authenticator> authenticator_;
  int changes_ = 0;
  std::optional<bool> looked_up_;
};

AuthenticationOptions WithoutLookup() {
  AuthenticationOptions options;
  options.skip_lookup = true;
  return options;
}

TEST_F(AuthenticatorTest, NobodyKnown) {
  Make(WithoutLookup());
  for (const std::vector<net::Header>& headers : std::vector<std::vector<net::Header>>{
           {},
           {{"Authorization", "Basic YWJj"}},
           {{"Authorization", "Bearer"}},
           {{"Authorization", "Bearer "}},
           {{"X-Remote-User", "admin"}, {"X-Remote-Group", "system:masters"}},
       }) {
    const auto user = Ask(headers);
    ASSERT_TRUE(user->has_value() && (**user).ok());
    EXPECT_EQ(***user, (User{"system:anonymous", {}, {"system:unauthenticated"}, {}}));
  }
  EXPECT_EQ(transport_.Waiting(), 0U);
}

TEST_F(AuthenticatorTest, WithoutServerTokensSayNothing) {
  Make({}, false);
  EXPECT_TRUE(*looked_up_);
  EXPECT_EQ((***AskWithToken("abc")).name, "system:anonymous");
}

TEST_F(AuthenticatorTest, TokenIsAskedAboutOnceAndKeptForItsTime) {
  Make(WithoutLookup());
  const auto first = AskWithToken("abc");
  const auto second = AskWithToken("abc");
  ASSERT_EQ(transport_.Waiting(), 1U);
  const auto call = transport_.Next();
  EXPECT_EQ(call->request.target, kPath);
  EXPECT_EQ(
      call->request.body,
      R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"abc"},"status":{"user":{}}})");
  AnswerReview(*call,
               R"({"authenticated":true,"user":{"username":"jane","uid":"7","groups":["a"],"extra":{"k":["v","w"]}}})");
  loop_.Run();
  const User jane{"jane", "7", {"a", "system:authenticated"}, {{"k", {"v", "w"}}}};
  for (const auto& each : {first, second}) {
    ASSERT_TRUE(each->has_value());
    ASSERT_TRUE((**each).ok());
    EXPECT_EQ(***each, jane);
  }
  loop_.Advance(std::chrono::milliseconds(9'999));
  EXPECT_EQ(***AskWithToken("abc"), jane);
  EXPECT_EQ(transport_.Waiting(), 0U);
  loop_.Advance(std::chrono::milliseconds(1));
  const auto later = AskWithToken("abc");
  EXPECT_FALSE(later->has_value());
  EXPECT_EQ(transport_.Waiting(), 1U);
}

TEST_F(AuthenticatorTest, UnknownTokenIsKeptToo) {
  Make(WithoutLookup());
  const auto first = AskWithToken("abc");
  AnswerReview(*transport_.Next(), "{}");
  loop_.Run();
  ASSERT_FALSE((**first).ok());
  EXPECT_EQ((**first).error().message, "invalid bearer token");
  EXPECT_FALSE((**AskWithToken("abc")).ok());
  EXPECT_EQ(transport_.Waiting(), 0U);
}

TEST_F(AuthenticatorTest, WhatCouldNotBeFoundOutIsAskedAgain) {
  Make(WithoutLookup());
  const auto first = AskWithToken("abc");
  AnswerReview(*transport_.Next(), R"({"authenticated":false,"error":"[invalid bearer token, no such account]"})");
  loop_.Run();
  EXPECT_THAT((**first).error().message, HasSubstr("no such account"));
  const auto second = AskWithToken("abc");
  ASSERT_EQ(transport_.Waiting(), 1U);
  transport_.Next()->Fail(ErrorCode::kUnavailable, false, "connection refused");
  loop_.Run();
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((**second).error().code, ErrorCode::kUnauthorized);
  const auto third = AskWithToken("abc");
  EXPECT_EQ(transport_.Waiting(), 1U);
}

TEST_F(AuthenticatorTest, ReviewIsTriedAgainAndHasTenSeconds) {
  Make(WithoutLookup());
  const auto user = AskWithToken("abc");
  const int statuses[] = {500, 504, 429, 500};
  Duration waited{0};
  for (const int status : statuses) {
    transport_.Next()->Answer(status, "{}");
    loop_.Run();
    EXPECT_FALSE(user->has_value());
    waited += loop_.UntilTimer();
    loop_.Advance(loop_.UntilTimer());
  }
  EXPECT_EQ(waited, std::chrono::microseconds(500'000 + 750'000 + 1'125'000 + 1'687'500));
  const auto last = transport_.Next();
  EXPECT_EQ(last->options.timeout, std::chrono::seconds(10) - waited);
  last->Answer(500, "{}");
  loop_.Run();
  ASSERT_TRUE(user->has_value());
  EXPECT_FALSE((**user).ok());
  EXPECT_EQ(transport_.Waiting(), 0U);
}

TEST_F(AuthenticatorTest, AServerThatHangsIsLoggedOnceAMinute) {
  Make(WithoutLookup());
  const auto logged = [this](int requests, Duration apart) {
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < requests; ++i) {
      const auto user = AskWithToken("abc");
      transport_.Next()->Fail(ErrorCode::kTimeout, true, "no answer within 10s");
      loop_.Run();
      EXPECT_TRUE(user->has_value());
      EXPECT_FALSE((**user).ok());
      loop_.Advance(apart);
    }
    const std::string log = ::testing::internal::GetCapturedStderr();
    int lines = 0;
    for (std::size_t at = log.find("tokenreviews"); at != std::string::npos; at = log.find("tokenreviews", at + 1))
      ++lines;
    EXPECT_EQ(log.find("no answer within 10s") != std::string::npos, lines > 0) << log;
    return lines;
  };
  EXPECT_EQ(logged(5, std::chrono::seconds(11)), 1);
  EXPECT_EQ(logged(1, std::chrono::seconds(5)), 0);
  EXPECT_EQ(logged(1, std::chrono::seconds(0)), 1);

  // An unknown token is not an error of the review.
  ::testing::internal::CaptureStderr();
  loop_.Advance(std::chrono::minutes(2));
  const auto user = AskWithToken("unknown");
  AnswerReview(*transport_.Next(), R"({"authenticated":false})");
  loop_.Run();
  EXPECT_FALSE((**user).ok());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(AuthenticatorTest, QuestionsUnderWayAreBounded) {
  Make(WithoutLookup());
  std::vector<std::shared_ptr<std::optional<Expected<User>>>> users;
  for (int i = 0; i < ReviewClient::kUnderWayMax; ++i) users.push_back(AskWithToken("token-" + std::to_string(i)));
  const auto refused = AskWithToken("one-more");
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((**refused).error().code, ErrorCode::kTooManyRequests);
  EXPECT_FALSE(users.front()->has_value());
  // Nobody else waits for them.
  EXPECT_EQ((***Ask({})).name, "system:anonymous");
}

TEST_F(AuthenticatorTest, ClientCertificate) {
  AuthenticationOptions options = WithoutLookup();
  options.client_ca_file = File("client.crt", Pki().authority.pem());
  Make(options);
  const auto admin = Ask({}, Shown(Pki().admin));
  ASSERT_TRUE((**admin).ok()) << (**admin).error().message;
  EXPECT_EQ((***admin).name, "admin");
  EXPECT_THAT((***admin).groups, ElementsAre("system:authenticated"));
  EXPECT_THAT((***admin).extra.at("authentication.kubernetes.io/credential-id"), ElementsAre(HasSubstr("X509SHA256=")));
  EXPECT_EQ((***Ask({}, Shown(Pki().nameless))).name, "system:anonymous");
  const auto foreign = Ask({}, Shown(Pki().foreign));
  ASSERT_FALSE((**foreign).ok());
  EXPECT_EQ((**foreign).error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT((**foreign).error().message, HasSubstr("unable to get local issuer certificate"));
  const auto garbage = Ask({}, std::make_shared<const std::vector<std::string>>(1, "no certificate"));
  EXPECT_FALSE((**garbage).ok());
  // A token may still say who it is.
  const auto with_token = Ask({{"authorization", "bearer abc"}}, Shown(Pki().foreign));
  AnswerReview(*transport_.Next(), R"({"authenticated":true,"user":{"username":"jane"}})");
  loop_.Run();
  EXPECT_EQ((***with_token).name, "jane");
}

TEST_F(AuthenticatorTest, FrontProxysWord) {
  AuthenticationOptions options = WithoutLookup();
  options.request_header.client_ca_file = File("proxy.crt", Pki().authority.pem());
  options.request_header.allowed_names = {"front-proxy"};
  options.request_header.uid_headers = {"X-Remote-Uid"};
  Make(options);
  const std::vector<net::Header> headers = {{"x-remote-user", "jane"},
                                            {"X-Remote-Uid", "9"},
                                            {"X-REMOTE-GROUP", "a"},
                                            {"X-Remote-Group", "b"},
                                            {"X-Remote-Extra-Some%2fKey", "v"}};
  const auto jane = Ask(headers, Shown(Pki().proxy));
  ASSERT_TRUE((**jane).ok()) << (**jane).error().message;
  EXPECT_EQ(***jane, (User{"jane", "9", {"a", "b", "system:authenticated"}, {{"some/key", {"v"}}}}));
  const auto not_allowed = Ask(headers, Shown(Pki().admin));
  ASSERT_FALSE((**not_allowed).ok());
  EXPECT_THAT((**not_allowed).error().message, HasSubstr("cn=admin is not in the allowed list"));
  EXPECT_FALSE((**Ask(headers, Shown(Pki().foreign))).ok());
  EXPECT_EQ((***Ask(headers)).name, "system:anonymous");
  EXPECT_EQ((***Ask({}, Shown(Pki().proxy))).name, "system:anonymous");
}

TEST_F(AuthenticatorTest, AuthoritiesOfTheClusterAreWatched) {
  Make({});
  EXPECT_FALSE(looked_up_.has_value());
  EXPECT_EQ((***Ask({}, Shown(Pki().admin))).name, "system:anonymous");
  const auto list = transport_.Next();
  EXPECT_THAT(list->request.target, HasSubstr("/api/v1/namespaces/kube-system/configmaps?"));
  EXPECT_THAT(list->request.target, HasSubstr("fieldSelector=metadata.name%3Dextension-apiserver-authentication"));
  const auto config_map = [](int version, const std::string& ca) {
    codec::json::object data;
    data["client-ca-file"] = ca;
    data["requestheader-client-ca-file"] = Pki().stranger.pem();
    data["requestheader-username-headers"] = R"(["X-User"])";
    data["requestheader-allowed-names"] = "[]";
    codec::json::object object;
    object["metadata"] = {{"namespace", "kube-system"},
                          {"name", "extension-apiserver-authentication"},
                          {"uid", "1"},
                          {"resourceVersion", std::to_string(version)}};
    object["data"] = data;
    return codec::json::value(object);
  };
  codec::json::object page;
  page["metadata"] = codec::ParseJson(R"({"resourceVersion":"5"})").value();
  page["items"] = codec::json::array{config_map(5, Pki().authority.pem())};
  list->Answer(200, codec::WriteJson(page), {{"Content-Type", "application/json"}});
  loop_.Run();
  EXPECT_TRUE(looked_up_.value_or(false));
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ((***Ask({}, Shown(Pki().admin))).name, "admin");
  EXPECT_EQ((***Ask({{"X-User", "jane"}}, Shown(Pki().foreign))).name, "jane");
  EXPECT_THAT(trust_->now().Hint(), HasSubstr(Pki().authority.pem()));
  // The ConfigMap gets another authority, and then one that does not parse, which changes nothing.
  const auto stream = transport_.LastStream();
  ASSERT_NE(stream, nullptr);
  stream->Open("application/json");
  const auto modified = [&](const codec::json::value& object) {
    stream->Bytes(codec::WriteJson(codec::json::object{{"type", "MODIFIED"}, {"object", object}}) + "\n");
    loop_.Run();
  };
  modified(config_map(6, Pki().stranger.pem()));
  EXPECT_EQ((***Ask({}, Shown(Pki().foreign))).name, "admin");
  EXPECT_FALSE((**Ask({}, Shown(Pki().admin))).ok());
  modified(config_map(7, "-----BEGIN CERTIFICATE-----\nnone"));
  EXPECT_EQ((***Ask({}, Shown(Pki().foreign))).name, "admin");
}

TEST_F(AuthenticatorTest, FilesAreReadAgainWhenTheyChange) {
  AuthenticationOptions options = WithoutLookup();
  options.client_ca_file = File("changing.crt", Pki().authority.pem());
  Make(options);
  EXPECT_TRUE((**Ask({}, Shown(Pki().admin))).ok());
  File("changing.crt", "half a certif");
  trust_->CheckFiles();
  EXPECT_TRUE((**Ask({}, Shown(Pki().admin))).ok());
  EXPECT_EQ(changes_, 0);
  File("changing.crt", Pki().stranger.pem());
  trust_->CheckFiles();
  EXPECT_EQ(changes_, 1);
  EXPECT_FALSE((**Ask({}, Shown(Pki().admin))).ok());
  EXPECT_TRUE((**Ask({}, Shown(Pki().foreign))).ok());
}

TEST_F(AuthenticatorTest, FilesThatDoNotLoadAreRefused) {
  AuthenticationOptions options = WithoutLookup();
  options.client_ca_file = "/nonexistent/ca.crt";
  auto missing = TrustSource::Make(options, nullptr, [] {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "--client-ca-file: /nonexistent/ca.crt: no such file or directory");
  options.client_ca_file = File("garbage.crt", "garbage");
  auto garbage = TrustSource::Make(options, nullptr, [] {});
  ASSERT_FALSE(garbage.ok());
  EXPECT_THAT(garbage.error().message, HasSubstr("should hold PEM certificates"));
}

TEST(TtlCacheTest, TheLeastRecentlyUsedGoFirst) {
  TtlCache<int> cache(2);
  const Time now = Time(std::chrono::hours(1));
  cache.Set("a", 1, now + std::chrono::seconds(1));
  cache.Set("b", 2, now + std::chrono::seconds(5));
  ASSERT_NE(cache.Find("a", now), nullptr);
  cache.Set("c", 3, now + std::chrono::seconds(5));
  EXPECT_EQ(cache.Find("b", now), nullptr);
  ASSERT_NE(cache.Find("a", now), nullptr);
  EXPECT_EQ(cache.Find("a", now + std::chrono::seconds(1)), nullptr);
  EXPECT_EQ(cache.size(), 1U);
}

}  // namespace
}  // namespace berth::serving
