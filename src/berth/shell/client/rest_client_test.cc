// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/rest_client.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/shell/net/write_fence.h"

namespace berth::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConflict =
    R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"pod web-1 is already assigned to node \"n1\"",)"
    R"("reason":"Conflict","code":409})";

class RestClientTest : public ::testing::Test {
 protected:
  net::Request Make(std::string method, std::string target = "/api/v1/pods", std::string body = {}) {
    return {std::move(method), std::move(target), {}, std::move(body)};
  }
  void Do(net::Request request, RestOptions options = {}) {
    rest.Do(std::move(request), options, [this](Expected<net::Response> r) {
      EXPECT_FALSE(result.has_value()) << "answered twice";
      result = std::move(r);
    });
    loop.Run();
  }

  FakeLoop loop;
  FakeTransport transport;
  std::optional<Expected<net::Response>> result;
  RestClient rest{loop, transport, MakeStaticCredentials("Bearer t"), 1};
};

TEST_F(RestClientTest, SendsWhoWeAreAndWhatWeSpeak) {
  Do(Make("POST", "/api/v1/pods", "{}"));
  const auto call = transport.Next();
  EXPECT_EQ(FindHeader(call->request, "Authorization"), "Bearer t");
  EXPECT_EQ(FindHeader(call->request, "Accept"), "application/json");
  EXPECT_EQ(FindHeader(call->request, "Content-Type"), "application/json");
  EXPECT_THAT(std::string(FindHeader(call->request, "User-Agent")), ::testing::StartsWith("berth/"));
  call->Answer(201, R"({"kind":"Pod"})");
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ((*result)->body, R"({"kind":"Pod"})");
}

TEST_F(RestClientTest, AnOutageIsLoggedOnceUntilTheServerAnswers) {
  EXPECT_TRUE(rest.BeginOutage());
  EXPECT_FALSE(rest.BeginOutage());
  Do(Make("GET"));
  transport.Next()->Answer(200, "{}");
  loop.Run();
  EXPECT_TRUE(rest.BeginOutage());
  const auto stream = rest.Stream(Make("GET"), {}, {});
  loop.Run();
  transport.LastStream()->Open();
  loop.Run();
  EXPECT_TRUE(rest.BeginOutage());
}

TEST_F(RestClientTest, ListsShareABoundAndWaitForTheirTurn) {
  std::vector<std::string> ended;
  auto client = std::make_unique<RestClient>(loop, transport, nullptr, 1, RestClientOptions{.lists_bytes_max = 100});
  const auto list = [&](const std::string& name, std::size_t bytes_max, bool is_list = true) {
    client->Do(Make("GET", "/" + name), {.tries = 1, .body_bytes_max = bytes_max, .is_list = is_list},
               [&ended, name](Expected<net::Response> r) { ended.push_back(name + (r.ok() ? "" : " failed")); });
    loop.Run();
  };
  list("a", 60);
  list("b", 40);
  list("larger than all", 1000);
  list("d", 10);
  list("no list", 1000, false);
  auto a = transport.Next();
  auto b = transport.Next();
  EXPECT_EQ(a->request.target, "/a");
  EXPECT_EQ(b->request.target, "/b");
  EXPECT_EQ(transport.Next()->request.target, "/no list") << "waits for nobody";
  EXPECT_EQ(transport.Waiting(), 0U) << "the others would go beyond the bound";
  a->Answer(200, "{}");
  loop.Run();
  EXPECT_EQ(transport.Waiting(), 0U) << "in their order, so that a large one is not overtaken for ever";
  b->Fail(ErrorCode::kTooLarge, false);
  loop.Run();
  auto large = transport.Next();
  EXPECT_EQ(large->request.target, "/larger than all");
  EXPECT_EQ(transport.Waiting(), 0U) << "it goes alone";
  EXPECT_THAT(ended, ElementsAre("a", "b failed"));
  large->Answer(200, "{}");
  loop.Run();
  auto d = transport.Next();
  EXPECT_EQ(d->request.target, "/d");
  list("e", 100);
  EXPECT_EQ(transport.Waiting(), 0U);
  client.reset();
  EXPECT_THAT(ended, ElementsAre("a", "b failed", "larger than all", "e failed")) << "none is forgotten";
  d->Answer(200, "{}");
  loop.Run();
}

TEST_F(RestClientTest, KeepsTheCallersContentType) {
  net::Request request = Make("PATCH", "/x", "{}");
  request.headers.push_back({"content-type", "application/merge-patch+json"});
  Do(std::move(request));
  EXPECT_EQ(FindHeader(transport.Next()->request, "Content-Type"), "");
}

TEST_F(RestClientTest, WritesCarryTheFenceAndReadsDoNot) {
  const auto fence = std::make_shared<net::WriteFence>(loop);
  fence->HoldUntil(loop.Now() + seconds(10));
  const auto own = std::make_shared<net::WriteFence>(loop);
  own->HoldUntil(loop.Now() + seconds(10));
  RestClientOptions options;
  options.fence = fence;
  RestClient fenced(loop, transport, nullptr, 1, options);
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"}) {
    fenced.Do(Make(method), {}, [](const Expected<net::Response>&) {});
    loop.Run();
    EXPECT_EQ(transport.Next()->request.fence,
              method == std::string("GET") || method == std::string("HEAD") ? nullptr : fence);
  }
  net::Request request = Make("POST");
  request.fence = own;
  fenced.Do(std::move(request), {}, [](const Expected<net::Response>&) {});
  loop.Run();
  EXPECT_EQ(transport.Next()->request.fence, own);
}

TEST_F(RestClientTest, AWriteIsNotTriedAgainOnceItsFenceHasClosed) {
  const auto fence = std::make_shared<net::WriteFence>(loop);
  fence->HoldUntil(loop.Now() + seconds(10));
  net::Request request = Make("POST");
  request.fence = fence;
  Do(request);
  transport.Next()->Answer(429, "", {{"Retry-After", "20"}});
  loop.Advance(seconds(60));
  ASSERT_TRUE(result && !result->ok());
  EXPECT_EQ(result->error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(result->error().outcome_unknown);
  EXPECT_THAT(result->error().message, HasSubstr("not sent"));
  EXPECT_EQ(transport.all_targets.size(), 1U);
  result.reset();
  Do(request);
  EXPECT_TRUE(result && !result->ok());
  EXPECT_EQ(transport.all_targets.size(), 1U);
}

TEST(ErrorFromResponseTest, FollowsStatusAndReason) {
  struct Case {
    const char* name;
    const char* method;
    int status;
    std::string body;
    ErrorCode code;
    const char* message;
    bool outcome_unknown;
  };
  const auto status = [](const char* reason, const char* message) {
    return std::string(R"({"kind":"Status","reason":")") + reason + R"(","message":")" + message + "\"}";
  };
  const Case cases[] = {
      {"conflict", "POST", 409, kConflict, ErrorCode::kConflict, "pod web-1 is already assigned to node \"n1\"", false},
      {"already exists", "POST", 409, status("AlreadyExists", "it is there"), ErrorCode::kAlreadyExists, "it is there",
       false},
      {"gone", "GET", 410, status("Expired", "too old"), ErrorCode::kGone, "too old", false},
      {"not found", "GET", 404, status("NotFound", "pods \\\"x\\\" not found"), ErrorCode::kNotFound,
       "pods \"x\" not found", false},
      {"unauthorized", "GET", 401, status("Unauthorized", "Unauthorized"), ErrorCode::kUnauthorized, "Unauthorized",
       false},
      {"forbidden", "GET", 403, status("Forbidden", "no"), ErrorCode::kForbidden, "no", false},
      {"invalid", "POST", 422, status("Invalid", "bad field"), ErrorCode::kInvalid, "bad field", false},
      {"too large", "POST", 413, status("RequestEntityTooLarge", "big"), ErrorCode::kTooLarge, "big", false},
      {"write, internal error", "POST", 500, status("InternalError", "etcd"), ErrorCode::kUnavailable, "etcd", true},
      {"write, an admission webhook that cannot be called", "POST", 500,
       status("InternalError", "Internal error occurred: failed calling webhook \\\"w\\\": no route to host"),
       ErrorCode::kDeniedByAdmission, "failed calling webhook", false},
      {"an admission webhook denies with a code of its own, conflict", "POST", 409,
       status("Conflict", "admission webhook \\\"w\\\" denied the request: no"), ErrorCode::kDeniedByAdmission,
       "denied", false},
      {"likewise, unavailable", "POST", 503,
       status("", "admission webhook \\\"w\\\" denied the request without explanation"), ErrorCode::kDeniedByAdmission,
       "denied", false},
      {"an admission policy denies", "POST", 403,
       status("Forbidden",
              "pods \\\"p\\\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no"),
       ErrorCode::kDeniedByAdmission, "denied", false},
      {"read, internal error", "GET", 500, status("InternalError", "etcd"), ErrorCode::kUnavailable, "etcd", false},
      {"server timeout", "POST", 504, status("Timeout", "slow"), ErrorCode::kTimeout, "slow", true},
      {"line break in the message", "GET", 400, status("BadRequest", "a\\nb"), ErrorCode::kInvalid, "a b", false},
      {"garbage", "GET", 502, "<html>\nBad Gateway", ErrorCode::kUnavailable,
       "GET /api/v1/pods was answered with HTTP 502 and a body that is no Kubernetes Status: \"<html> Bad Gateway\"",
       false},
      {"nothing", "GET", 503, "", ErrorCode::kUnavailable, "GET /api/v1/pods was answered with HTTP 503", false},
      {"another object", "GET", 404, R"({"kind":"Pod","message":"x"})", ErrorCode::kUnavailable, "no Kubernetes Status",
       false},
      {"a 404 of something in between", "GET", 404, "default backend - 404", ErrorCode::kUnavailable,
       "no Kubernetes Status", false},
      {"the same in the words of API servers", "GET", 404, "404 page not found\n", ErrorCode::kUnavailable,
       "no Kubernetes Status", false},
      {"a write", "POST", 404, "", ErrorCode::kUnavailable, "was answered with HTTP 404", false},
      {"redirect", "GET", 302, "", ErrorCode::kInvalid, "is the server's address that of an API server?", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Error error = ErrorFromResponse({c.method, "/api/v1/pods", {}, {}}, {c.status, {}, c.body});
    EXPECT_EQ(error.code, c.code) << ToString(error.code);
    EXPECT_THAT(error.message, HasSubstr(c.message));
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    EXPECT_EQ(error.outcome_unknown, c.outcome_unknown);
  }
}

TEST(ErrorFromResponseTest, AGroupThatIsNotServedIsNotFound) {
  for (const char* const body : {"404 page not found\n", R"({"kind":"Status","reason":"NotFound"})"})
    EXPECT_EQ(ErrorFromResponse({"GET", "/apis/a/v1/things", {}, {}}, {404, {}, body}).code, ErrorCode::kNotFound);
  for (const char* const body : {"", "default backend - 404", R"({"kind":"Status","reason":"Unknown"})"})
    EXPECT_EQ(ErrorFromResponse({"GET", "/apis/a/v1/things", {}, {}}, {404, {}, body}).code, ErrorCode::kUnavailable);
  EXPECT_EQ(ErrorFromResponse({"GET", "/version", {}, {}}, {404, {}, "{}"}).code, ErrorCode::kNotFound);
}

TEST(ErrorFromResponseTest, ReadsRetryAfter) {
  struct Case {
    const char* name;
    std::vector<net::Header> headers;
    std::string body;
    std::int64_t want_ms;
  };
  const Case cases[] = {
      {"header", {{"Retry-After", "7"}}, "", 7000},
      {"status details", {}, R"({"kind":"Status","message":"m","details":{"retryAfterSeconds":3}})", 3000},
      {"none", {}, "", 0},
      {"a date is not obeyed", {{"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"}}, "", 0},
      {"negative", {{"Retry-After", "-5"}}, "", 0},
      {"absurd", {{"Retry-After", "999999999999"}}, "", 24LL * 3600 * 1000},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ErrorFromResponse({}, {429, c.headers, c.body}).retry_after_ms, c.want_ms) << c.name;
  }
}

// Which failures are tried again, and which are not since the request may have taken effect.
TEST_F(RestClientTest, TriesAgainOnlyWhatIsSafe) {
  struct Case {
    const char* name;
    const char* method;
    std::function<void(FakeTransport::Call&)> answer;
    bool is_retried;
    bool outcome_unknown;
  };
  constexpr const char* kDenied = R"({"kind":"Status","message":"admission webhook \"w\" denied the request: no"})";
  const auto refused = [](FakeTransport::Call& c) { c.Fail(ErrorCode::kUnavailable, false); };
  const auto lost = [](FakeTransport::Call& c) { c.Fail(ErrorCode::kUnavailable, true); };
  const auto status = [](int code) { return [code](FakeTransport::Call& c) { c.Answer(code, ""); }; };
  const Case cases[] = {
      {"read, refused", "GET", refused, true, false},
      {"read, answer lost", "GET", lost, true, true},
      {"read, 503", "GET", status(503), true, false},
      {"read, 500", "GET", status(500), true, false},
      {"read, 404", "GET", status(404), false, false},
      {"write, refused", "POST", refused, true, false},
      {"write, answer lost", "POST", lost, false, true},
      {"write, 429", "POST", status(429), true, false},
      {"write, denied by a webhook with 429", "POST", [](FakeTransport::Call& c) { c.Answer(429, kDenied); }, false,
       false},
      {"write, 503", "POST", status(503), false, true},
      {"write, 409", "POST", status(409), false, false},
      {"delete, answer lost", "DELETE", lost, false, true},
      {"patch, 500", "PATCH", status(500), false, true},
      {"shutdown", "GET", [](FakeTransport::Call& c) { c.Fail(ErrorCode::kCancelled, false); }, false, false},
      {"answer too long", "GET", [](FakeTransport::Call& c) { c.Fail(ErrorCode::kTooLarge, false); }, false, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    result.reset();
    Do(Make(c.method), {.tries = 2});
    c.answer(*transport.Next());
    loop.Run();
    EXPECT_EQ(!result.has_value(), c.is_retried);
    if (c.is_retried) {
      loop.Advance(seconds(40));
      ASSERT_EQ(transport.Waiting(), 1U);
      c.answer(*transport.Next());
      loop.Run();
    }
    // Two tries were allowed, so now it is over.
    ASSERT_TRUE(result.has_value());
    ASSERT_FALSE(result->ok());
    EXPECT_EQ(result->error().outcome_unknown, c.outcome_unknown);
    EXPECT_EQ(loop.TimerCount(), 0U);
  }
}

TEST_F(RestClientTest, ObeysRetryAfter) {
  Do(Make("POST"), {.tries = 2});
  transport.Next()->Answer(429, "", {{"Retry-After", "4"}});
  EXPECT_GE(loop.UntilTimer(), seconds(4));
  EXPECT_LE(loop.UntilTimer(), seconds(5));
  loop.Advance(milliseconds(3999));
  EXPECT_EQ(transport.Waiting(), 0U);
  loop.Advance(milliseconds(1001));
  transport.Next()->Answer(201, "{}");
  ASSERT_TRUE(result && result->ok());
}

TEST_F(RestClientTest, WaitsNoLongerThanItsBoundForRetryAfter) {
  Do(Make("GET"), {.tries = 2});
  transport.Next()->Answer(429, "", {{"Retry-After", "86400"}});
  EXPECT_LE(loop.UntilTimer(), kRetryAfterMax * 5 / 4);
}

TEST_F(RestClientTest, BacksOffLongerEachTime) {
  Do(Make("GET"), {.tries = 20});
  Duration total{};
  for (int i = 0; i < 19; ++i) {
    transport.Next()->Fail(ErrorCode::kUnavailable, false);
    const Duration wait = loop.UntilTimer();
    EXPECT_GE(wait, milliseconds(100));
    EXPECT_LE(wait, seconds(5));
    if (i > 6) {
      EXPECT_GE(wait, milliseconds(2500));
    }
    total += wait;
    loop.Advance(wait);
  }
  transport.Next()->Fail(ErrorCode::kUnavailable, false, "connecting to 127.0.0.1:1: connection refused");
  ASSERT_TRUE(result && !result->ok());
  EXPECT_THAT(result->error().message, HasSubstr("connection refused"));
}

TEST_F(RestClientTest, HandsOverAnyStatusWhenAsked) {
  Do(Make("POST"), {.tries = 1, .any_status = true});
  transport.Next()->Answer(409, kConflict);
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ((*result)->status, 409);
}

class RotatingCredentials final : public Credentials {
 public:
  void Get(Done done) override { done("Bearer " + std::to_string(number)); }
  bool Invalidate(std::string_view authorization) override {
    invalidated.emplace_back(authorization);
    ++number;
    return true;
  }
  int number = 1;
  std::vector<std::string> invalidated;
};

// A denial comes after the credentials have been accepted, whatever its code.
TEST_F(RestClientTest, ReportsToTheTransportWhichRefusalsAreAboutTheCertificate) {
  Do(Make("POST"), {.tries = 1});
  const auto call = transport.Next();
  ASSERT_NE(call->options.is_about_certificate, nullptr);
  const auto is_about_it = [&](const char* body) { return call->options.is_about_certificate({401, {}, body}); };
  EXPECT_TRUE(is_about_it(R"({"kind":"Status","message":"Unauthorized","reason":"Unauthorized"})"));
  EXPECT_TRUE(is_about_it(""));
  EXPECT_FALSE(is_about_it(R"({"kind":"Status","message":"admission webhook \"w\" denied the request: no"})"));
  call->Answer(401, "");
}

TEST_F(RestClientTest, RefreshesCredentialsOnceAfter401) {
  const auto credentials = std::make_shared<RotatingCredentials>();
  RestClient client(loop, transport, credentials, 1);
  std::optional<Expected<net::Response>> answer;
  client.Do(Make("POST"), {}, [&](Expected<net::Response> r) { answer = std::move(r); });
  transport.Next()->Answer(401, "");
  // A refused request was not carried out, so even a write goes again.
  auto second = transport.Next();
  EXPECT_EQ(FindHeader(second->request, "Authorization"), "Bearer 2");
  second->Answer(401, "");
  ASSERT_TRUE(answer && !answer->ok());
  EXPECT_EQ(answer->error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT(credentials->invalidated, ::testing::ElementsAre("Bearer 1"));
}

TEST_F(RestClientTest, SaysWhoseCredentialIsRefused) {
  const std::string status = R"({"kind":"Status","message":"Unauthorized","reason":"Unauthorized"})";
  RestClient client(loop, transport, MakeStaticCredentials("Bearer t"), 1,
                    {.when_refused = "the token of jane is wrong"});
  std::vector<Error> errors;
  client.Do(Make("GET"), {}, [&](Expected<net::Response> r) { errors.push_back(r.error()); });
  transport.Next()->Answer(401, status);
  RestStreamCallbacks callbacks;
  callbacks.on_end = [&](Expected<void> r) { errors.push_back(r.error()); };
  const auto stream = client.Stream(Make("GET"), {}, std::move(callbacks));
  loop.Run();
  transport.LastStream()->Head(401, status);
  transport.LastStream()->End();
  loop.Run();
  ASSERT_EQ(errors.size(), 2U);
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, ErrorCode::kUnauthorized);
    EXPECT_EQ(error.message, "the API server answers 401 Unauthorized: the token of jane is wrong");
  }
}

TEST_F(RestClientTest, ARefusedCredentialIsLoggedByOneOfThoseWhoShareIt) {
  const auto refusals = MakeRefusals();
  RestClient one(loop, transport, nullptr, 1, {.refusals = refusals});
  RestClient other(loop, transport, nullptr, 2, {.refusals = refusals});
  EXPECT_EQ(one.RecordRefusedCredential(), 1U);
  EXPECT_EQ(other.RecordRefusedCredential(), std::nullopt);
  EXPECT_EQ(one.RecordRefusedCredential(), std::nullopt);
  loop.Advance(std::chrono::minutes(1));
  EXPECT_EQ(other.RecordRefusedCredential(), 4U) << "all of them are counted";
  // A 502 comes from a proxy. A 403 shows that the credential was accepted.
  for (const int status : {502, 403}) {
    ::testing::internal::CaptureStderr();
    other.Do(Make("GET"), {.tries = 1}, [](const Expected<net::Response>&) {});
    transport.Next()->Answer(status, "");
    loop.Run();
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("accepts our credential again") != std::string::npos, status == 403) << log;
  }
  EXPECT_EQ(one.RecordRefusedCredential(), 1U);
}

TEST_F(RestClientTest, KeepsItsRate) {
  int answered = 0;
  RestClient client(loop, transport, nullptr, 1, {.qps = 10, .burst = 2});
  transport.on_send = [](FakeTransport::Call& call) { call.Answer(200, "{}"); };
  for (int i = 0; i < 12; ++i) client.Do(Make("GET"), {}, [&](Expected<net::Response>) { ++answered; });
  loop.Run();
  EXPECT_EQ(answered, 2);
  loop.Advance(milliseconds(501));
  EXPECT_EQ(answered, 7);
  loop.Advance(milliseconds(600));
  EXPECT_EQ(answered, 12);
  // A pause fills the bucket, but not beyond the burst.
  loop.Advance(seconds(60));
  for (int i = 0; i < 3; ++i) client.Do(Make("GET"), {}, [&](Expected<net::Response>) { ++answered; });
  EXPECT_EQ(answered, 14);
}

// As client-go: the burst is ignored then.
TEST_F(RestClientTest, ANegativeRateIsNoLimitWhateverTheBurst) {
  for (const double qps : {-1.0, 0.0}) {
    int answered = 0;
    RestClient client(loop, transport, nullptr, 1, {.qps = qps, .burst = 1, .waiting_max = 0});
    transport.on_send = [](FakeTransport::Call& call) { call.Answer(200, "{}"); };
    for (int i = 0; i < 20; ++i) client.Do(Make("GET"), {}, [&](Expected<net::Response>) { ++answered; });
    loop.Run();
    EXPECT_EQ(answered, 20) << qps;
  }
}

TEST_F(RestClientTest, RefusesMoreThanMayWait) {
  std::vector<ErrorCode> refused;
  RestClient client(loop, transport, nullptr, 1, {.qps = 1, .burst = 1, .waiting_max = 1});
  for (int i = 0; i < 3; ++i) {
    client.Do(Make("GET"), {}, [&](Expected<net::Response> r) {
      if (!r.ok()) refused.push_back(r.error().code);
    });
  }
  EXPECT_THAT(refused, ::testing::ElementsAre(ErrorCode::kTooManyRequests));
}

TEST_F(RestClientTest, EndsWaitingCallsWhenItGoes) {
  std::optional<Expected<net::Response>> answer;
  {
    RestClient client(loop, transport, nullptr, 1);
    client.Do(Make("GET"), {}, [&](Expected<net::Response> r) { answer = std::move(r); });
    transport.Next()->Fail(ErrorCode::kUnavailable, false);
    EXPECT_FALSE(answer);
  }
  ASSERT_TRUE(answer && !answer->ok());
  EXPECT_EQ(loop.TimerCount(), 0U);
}

TEST_F(RestClientTest, StreamsAndEndsOnce) {
  std::vector<std::string> seen;
  RestStreamCallbacks callbacks;
  callbacks.on_open = [&] { seen.push_back("open"); };
  callbacks.on_bytes = [&](std::string_view bytes) { seen.emplace_back(bytes); };
  callbacks.on_end = [&](Expected<void> r) { seen.push_back(r.ok() ? "end" : r.error().message); };
  auto handle = rest.Stream(Make("GET"), {}, callbacks);
  auto stream = transport.LastStream();
  EXPECT_EQ(FindHeader(stream->request, "Authorization"), "Bearer t");
  stream->Open();
  stream->Bytes("a");
  stream->End();
  EXPECT_THAT(seen, ::testing::ElementsAre("open", "a", "end"));

  seen.clear();
  handle = rest.Stream(Make("GET"), {}, callbacks);
  stream = transport.LastStream();
  stream->Head(410, R"({"kind":"Status","message":"too old resource version"})");
  stream->Bytes("not for the caller");
  stream->End();
  EXPECT_THAT(seen, ::testing::ElementsAre("too old resource version"));

  seen.clear();
  handle = rest.Stream(Make("GET"), {}, callbacks);
  stream = transport.LastStream();
  handle.reset();
  EXPECT_TRUE(stream->is_cancelled);
  loop.Run();
  EXPECT_TRUE(seen.empty());
}

// A transport with a thread of its own: everything comes on the loop's thread all the same.
class ThreadTransport final : public net::Transport {
 public:
  ~ThreadTransport() override {
    for (auto& thread : threads_) thread.join();
  }
  void Send(net::Request, net::SendOptions, Done done) override {
    threads_.emplace_back([done = std::move(done)] { done(net::Response{200, {}, "{}"}); });
  }
  std::unique_ptr<net::StreamHandle> Stream(net::Request, net::StreamOptions, net::StreamCallbacks callbacks) override {
    struct Handle final : net::StreamHandle {
      void Cancel() override {}
    };
    threads_.emplace_back([callbacks = std::move(callbacks)] {
      callbacks.on_head(net::Response{200, {}, ""});
      for (int i = 0; i < 100; ++i) callbacks.on_bytes(std::to_string(i) + ' ');
      callbacks.on_end({});
    });
    return std::make_unique<Handle>();
  }

 private:
  std::vector<std::thread> threads_;
};

TEST(RestClientThreadTest, CallsBackOnTheLoop) {
  const SystemClock clock;
  net::IoContext io;
  IoEventLoop loop(io, clock);
  ThreadTransport transport;
  RestClient rest(loop, transport, nullptr, 1);
  const auto answer = rest.DoSync({"GET", "/x", {}, {}});
  EXPECT_TRUE(answer.ok());

  std::promise<std::string> whole;
  std::string text;
  bool was_elsewhere = false;
  RestStreamCallbacks callbacks;
  callbacks.on_bytes = [&](std::string_view bytes) {
    was_elsewhere = was_elsewhere || !loop.IsCurrent();
    text += bytes;
  };
  callbacks.on_end = [&](Expected<void>) { whole.set_value(text); };
  const auto handle = rest.Stream({"GET", "/x", {}, {}}, {}, callbacks);
  auto future = whole.get_future();
  ASSERT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  std::string want;
  for (int i = 0; i < 100; ++i) want += std::to_string(i) + ' ';
  EXPECT_EQ(future.get(), want);
  EXPECT_FALSE(was_elsewhere);
  io.Stop();
}

TEST(PathTest, EncodesEachPart) {
  EXPECT_EQ(ObjectPath("/api/v1", "default", "pods", "web-1", "binding"),
            "/api/v1/namespaces/default/pods/web-1/binding");
  EXPECT_EQ(ObjectPath("/api/v1", "", "nodes"), "/api/v1/nodes");
  EXPECT_EQ(ObjectPath("/api/v1", "a/b", "pods", "../x"), "/api/v1/namespaces/a%2Fb/pods/..%2Fx");
  EXPECT_EQ(WithQuery("/api/v1/pods", {{"limit", "5"}, {"continue", ""}, {"fieldSelector", "a!=b,c=d"}}),
            "/api/v1/pods?limit=5&fieldSelector=a%21%3Db%2Cc%3Dd");
}

TEST(ContentTypesTest, AreThoseOfTheConfiguration) {
  const std::string protobuf = "application/vnd.kubernetes.protobuf";
  struct Case {
    const char* name;
    std::string content_type;
    std::string accept;
    bool sends;
    bool takes;
  };
  const Case cases[] = {
      {"neither", "", "", false, false},
      {"JSON", "application/json", "", false, false},
      {"protobuf", protobuf, "", true, true},
      {"protobuf, answers as JSON", protobuf, "application/json", true, false},
      {"JSON, answers as protobuf", "application/json", protobuf + ",application/json", false, true},
  };
  for (const Case& c : cases) {
    RestClientOptions options;
    SetContentTypes(options, c.content_type, c.accept);
    EXPECT_EQ(options.sends_protobuf, c.sends) << c.name;
    EXPECT_EQ(options.takes_protobuf, c.takes) << c.name;
  }
}

TEST(ErrorFromResponseTest, ReadsAStatusInProtobuf) {
  // Unknown{TypeMeta{v1, Status}, Status{message: wait, reason: TooManyRequests, details{retryAfterSeconds: 7}, 429}}
  const std::string whole(
      "k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x1e\x1a\x04wait\x22\x0fTooManyRequests\x2a\x02\x28\x07\x30\xad\x03",
      50);
  const net::Request request{"POST", "/x", {}, ""};
  const Error error = ErrorFromResponse(request, {429, {}, whole});
  EXPECT_EQ(error.code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(error.message, "wait");
  EXPECT_EQ(error.retry_after_ms, 7000);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Error cut = ErrorFromResponse(request, {429, {}, whole.substr(0, size)});
    EXPECT_EQ(cut.code, ErrorCode::kTooManyRequests);
    EXPECT_FALSE(cut.message.empty());
  }
}

}  // namespace
}  // namespace berth::client
