// SPDX-License-Identifier: Apache-2.0
// HTTP/2, as the client speaks it with a server that chooses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/test_http2_peer.h"
#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using ::testing::HasSubstr;
using Answer = Http2Peer::Answer;
using Then = Http2Peer::Answer::Then;

HttpClientOptions OptionsFor(const Http2Peer& peer) {
  HttpClientOptions options;
  options.base_url = "https://127.0.0.1:" + std::to_string(peer.port()) + "/base";
  options.tls = TlsClientOptions{.ca_pem = peer.ca_pem()};
  return options;
}

std::unique_ptr<Transport> MakeClient(IoContext& io, HttpClientOptions options) {
  auto client = MakeHttpClient(io, std::move(options));
  BERTH_CHECK(client.ok());
  return std::move(client).value();
}

std::string HeaderOf(const Request& request, std::string_view name) {
  std::string all;
  for (const Header& header : request.headers) {
    if (header.name == name) all += header.value + ';';
  }
  return all;
}

TEST(Http2Test, SendsAndReceives) {
  Http2Peer peer([](const Request& request, int) {
    std::string seen = request.method + ' ' + request.target + ' ' + HeaderOf(request, "x-test") +
                       HeaderOf(request, "connection") + HeaderOf(request, "content-length") +
                       HeaderOf(request, ":authority") + ' ' + request.body;
    return Answer{201, {{"retry-after", "7"}}, std::move(seen)};
  });
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  const std::string where = "127.0.0.1:" + std::to_string(peer.port());
  struct Case {
    std::string name;
    Request request;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"get", {"GET", "/a?b=c", {{"X-Test", "1"}}}, "GET /base/a?b=c 1;" + where + "; "},
      {"post", {"POST", "/", {{"X-Test", "2"}}, "hello"}, "POST /base/ 2;5;" + where + "; hello"},
      {"post without a body", {"POST", "/"}, "POST /base/ 0;" + where + "; "},
      {"framing headers are ours", {"GET", "/", {{"Connection", "close"}}}, "GET /base/ " + where + "; "},
      {"another host", {"GET", "/", {{"Host", "kube"}}}, "GET /base/ kube; "},
  };
  for (const Case& c : cases) {
    const auto response = SendAndWait(*client, c.request);
    ASSERT_TRUE(response.ok()) << c.name << ": " << response.error().message;
    EXPECT_EQ(response->status, 201) << c.name;
    EXPECT_EQ(response->Get("Retry-After"), "7") << c.name;
    EXPECT_EQ(response->body, c.want) << c.name;
  }
  EXPECT_EQ(peer.connections(), 1);
}

TEST(Http2Test, WithoutTlsFromTheFirstByte) {
  Http2Peer peer(
      [](const Request& request, int) {
        return Answer{.headers = {{"x-a", "1"}},
                      .body = HeaderOf(request, ":scheme") + HeaderOf(request, "te") + request.body,
                      .trailers = {{"grpc-status", "0"}, {"grpc-message", "fine"}}};
      },
      100, false);
  IoContext io;
  HttpClientOptions options;
  options.base_url = "http://127.0.0.1:" + std::to_string(peer.port());
  options.speaks_http2_without_tls = true;
  const auto client = MakeClient(io, std::move(options));
  for (int i = 0; i < 2; ++i) {
    const auto response = SendAndWait(*client, {"POST", "/x", {{"TE", "trailers"}}, "hello"});
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->body, "http;trailers;hello");
    EXPECT_EQ(response->Get("x-a"), "1");
    EXPECT_EQ(response->Get("grpc-status"), "0");
    EXPECT_EQ(response->Get("grpc-message"), "fine");
  }
  EXPECT_EQ(peer.connections(), 1);
}

TEST(Http2Test, TrailersAreBoundedAsHeadsAre) {
  Http2Peer peer([](const Request&, int) {
    Answer answer{.body = "x"};
    answer.trailers.assign(100, Header{"bomb", std::string(3000, 'x')});
    return answer;
  });
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  const auto response = SendAndWait(*client, {"GET", "/"});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kTooLarge);
}

TEST(Http2Test, LargeBodiesBothWays) {
  Http2Peer peer([](const Request& request, int) { return Answer{200, {}, request.body + request.body}; });
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  std::string body(std::size_t{300} << 10, 'x');
  for (std::size_t i = 0; i < body.size(); i += 7) body[i] = static_cast<char>('a' + i % 26);
  const auto response = SendAndWait(*client, {"POST", "/", {}, body});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, body + body);
}

TEST(Http2Test, ManyAtOnceOnOneConnection) {
  Http2Peer peer([](const Request& request, int) { return Answer{200, {}, request.target}; });
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  constexpr int kRequests = 500;
  Watched<int> right;
  for (int i = 0; i < kRequests; ++i) {
    client->Send({"GET", '/' + std::to_string(i)}, {}, [&right, i](const Expected<Response>& response) {
      const bool is_right = response.ok() && response->body == "/base/" + std::to_string(i);
      right.Update([is_right](int& count) { count += is_right ? 1 : 1'000'000; });
    });
  }
  EXPECT_TRUE(right.WaitFor([](int count) { return count == kRequests; }));
  EXPECT_EQ(peer.connections(), 1);
}

TEST(Http2Test, OpensAnotherConnectionWhereOneTakesTooFew) {
  std::atomic<int> held{0};
  Http2Peer peer(
      [&held](const Request& request, int) {
        if (request.target != "/base/hold") return Answer{200, {}, "answer"};
        ++held;
        return Answer{.then = Then::kSayNothing};
      },
      2);
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  // The first answer comes after the server's settings.
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  for (int i = 0; i < 2; ++i) client->Send({"GET", "/hold"}, {}, [](const Expected<Response>&) {});
  const auto response = SendAndWait(*client, {"GET", "/"});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(peer.connections(), 2);
}

TEST(Http2Test, Failures) {
  struct Case {
    std::string name;
    Answer answer;
    ErrorCode code;
    bool outcome_unknown;
    std::string want;
    int tries;  // of a POST
  };
  const std::vector<Case> cases = {
      {"refused", {.status = 0, .then = Then::kReset, .code = 7}, ErrorCode::kUnavailable, false, "REFUSED_STREAM", 3},
      {"reset", {.status = 0, .then = Then::kReset, .code = 2}, ErrorCode::kUnavailable, true, "INTERNAL_ERROR", 1},
      {"cut short",
       {.body = "half", .then = Then::kReset, .code = 2},
       ErrorCode::kUnavailable,
       true,
       "the answer was cut short",
       1},
      {"closed", {.then = Then::kClose}, ErrorCode::kUnavailable, true, "closed before an answer came", 1},
      {"cut", {.then = Then::kAbort}, ErrorCode::kUnavailable, true, ": connection reset by peer", 1},
      {"no HTTP/2", {.then = Then::kGarbage}, ErrorCode::kUnavailable, true, "does not keep to HTTP/2", 1},
      {"left out by GOAWAY", {.then = Then::kGoAway}, ErrorCode::kUnavailable, false, "REFUSED_STREAM", 3},
      {"body too large", {.body = std::string(2000, 'x')}, ErrorCode::kTooLarge, true, "longer than 1000 bytes", 1},
      // A repeated header costs its sender one byte.
      {"head too large",
       {.headers = std::vector<Header>(100, Header{"bomb", std::string(3000, 'x')})},
       ErrorCode::kTooLarge,
       true,
       "longer than 262144 bytes",
       1},
  };
  for (const Case& c : cases) {
    std::atomic<int> tries{0};
    Http2Peer peer([&](const Request&, int) {
      ++tries;
      return c.answer;
    });
    IoContext io;
    const auto client = MakeClient(io, OptionsFor(peer));
    const auto response = SendAndWait(*client, {"POST", "/", {}, "x"}, {.body_bytes_max = 1000});
    ASSERT_FALSE(response.ok()) << c.name;
    EXPECT_EQ(response.error().code, c.code) << c.name;
    EXPECT_EQ(response.error().outcome_unknown, c.outcome_unknown) << c.name;
    EXPECT_THAT(response.error().message, HasSubstr(c.want)) << c.name;
    EXPECT_EQ(tries.load(), c.tries) << c.name;
  }
}

TEST(Http2Test, GoesOnAfterTheServerHasGone) {
  for (const Then then : {Then::kFinish, Then::kGoAway, Then::kClose}) {
    Http2Peer peer([then](const Request&, int connection) {
      Answer answer{.body = std::to_string(connection)};
      if (connection == 0) answer.then = then;
      return answer;
    });
    IoContext io;
    const auto client = MakeClient(io, OptionsFor(peer));
    const auto first = SendAndWait(*client, {"GET", "/"});
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_EQ(first->body, then == Then::kFinish ? "0" : "1");
    const auto second = SendAndWait(*client, {"GET", "/"});
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(second->body, "1");
  }
}

// Opens a watch, and after it answers nothing more on that connection.
Answer FallSilentAfterWatch(const Request& request, int) {
  return Answer{.then = request.target == "/base/watch" ? Then::kFallSilent : Then::kEnd};
}

TEST(Http2Test, OthersNeedNotWaitForADoubtedConnection) {
  Http2Peer peer(FallSilentAfterWatch);
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  StreamRecorder recorder;
  const auto handle = client->Stream({"GET", "/watch"}, {}, recorder.Callbacks());
  ASSERT_TRUE(recorder.log.WaitFor([](const StreamLog& log) { return !log.heads.empty(); }));
  const auto late = SendAndWait(*client, {"POST", "/"}, {.timeout = std::chrono::milliseconds(30)});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(late.error().outcome_unknown);
  const auto next = SendAndWait(*client, {"POST", "/"});
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(peer.connections(), 2);
}

TEST(Http2Test, ADeadConnectionIsGivenUp) {
  Http2Peer peer(FallSilentAfterWatch);
  IoContext io;
  HttpClientOptions options = OptionsFor(peer);
  options.ping_timeout = std::chrono::milliseconds(30);
  const auto client = MakeClient(io, std::move(options));
  StreamRecorder recorder;
  const auto handle = client->Stream({"GET", "/watch"}, {}, recorder.Callbacks());
  ASSERT_TRUE(recorder.log.WaitFor([](const StreamLog& log) { return !log.heads.empty(); }));
  EXPECT_FALSE(SendAndWait(*client, {"POST", "/"}, {.timeout = std::chrono::milliseconds(30)}).ok());
  EXPECT_THAT(recorder.WaitForEnd().ends.front().error().message, HasSubstr("the server has fallen silent"));
}

TEST(Http2Test, ASlowAnswerAloneDoesNotEndTheConnection) {
  Http2Peer peer([](const Request& request, int) {
    if (request.target == "/base/watch") return Answer{.then = Then::kKeepOpen};
    return Answer{.then = request.target == "/base/slow" ? Then::kSayNothing : Then::kEnd};
  });
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  StreamRecorder recorder;
  const auto handle = client->Stream({"GET", "/watch"}, {}, recorder.Callbacks());
  ASSERT_TRUE(recorder.log.WaitFor([](const StreamLog& log) { return !log.heads.empty(); }));
  const auto late = SendAndWait(*client, {"GET", "/slow"}, {.timeout = std::chrono::milliseconds(30)});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  EXPECT_TRUE(recorder.log.Get().ends.empty());
}

// Each connection asks once for a certificate, and gets none.
HttpClientOptions CountingOptionsFor(const Http2Peer& peer, std::atomic<int>& asked) {
  HttpClientOptions options = OptionsFor(peer);
  options.tls->client_certificate_pem = [&asked]() -> Expected<std::pair<std::string, std::string>> {
    ++asked;
    return std::pair<std::string, std::string>();
  };
  return options;
}

TEST(Http2Test, AnotherCertificateTakesAnotherConnection) {
  Http2Peer peer([](const Request&, int connection) { return Answer{connection == 0 ? 401 : 200}; });
  IoContext io;
  std::atomic<int> asked{0};
  const auto client = MakeClient(io, CountingOptionsFor(peer, asked));
  EXPECT_EQ(SendAndWait(*client, {"GET", "/"})->status, 401);
  EXPECT_EQ(SendAndWait(*client, {"GET", "/"})->status, 200);
  EXPECT_EQ(asked.load(), 2);
}

// A webhook of the server may deny with 401, too.
TEST(Http2Test, ARefusalThatIsNotAboutTheCertificateKeepsTheConnection) {
  Http2Peer peer([](const Request& request, int) {
    return Answer{401, {}, request.target.ends_with("/denied") ? "denied" : "who are you"};
  });
  IoContext io;
  std::atomic<int> asked{0};
  const auto client = MakeClient(io, CountingOptionsFor(peer, asked));
  SendOptions how;
  how.is_about_certificate = [](const Response& answer) { return answer.body != "denied"; };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(SendAndWait(*client, {"GET", "/denied"}, how)->status, 401);
  EXPECT_EQ(asked.load(), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(SendAndWait(*client, {"GET", "/"}, how)->status, 401);
  EXPECT_EQ(asked.load(), 3) << "each but the last was followed by a new connection";
}

TEST(Http2Test, StreamsShareTheConnection) {
  Http2Peer peer([](const Request& request, int) {
    if (request.target == "/base/watch") return Answer{.body = "one\n", .then = Then::kKeepOpen};
    return Answer{200, {}, "answer"};
  });
  IoContext io;
  const auto client = MakeClient(io, OptionsFor(peer));
  StreamRecorder first;
  StreamRecorder second;
  auto first_handle = client->Stream({"GET", "/watch"}, {}, first.Callbacks());
  const auto second_handle = client->Stream({"GET", "/watch"}, {}, second.Callbacks());
  const auto has_line = [](const StreamLog& log) { return log.bytes == "one\n"; };
  ASSERT_TRUE(first.log.WaitFor(has_line));
  ASSERT_TRUE(second.log.WaitFor(has_line));
  first_handle->Cancel();
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  EXPECT_EQ(peer.connections(), 1);
  EXPECT_TRUE(first.log.Get().ends.empty());
  EXPECT_TRUE(second.log.Get().ends.empty());
}

TEST(Http2Test, StreamEndings) {
  struct Case {
    std::string name;
    Answer answer;
    std::vector<int> statuses;
    std::string bytes;
    std::string want;  // empty: ended properly
    StreamOptions options = {.head_timeout = kPatience, .idle_timeout = kPatience};
  };
  constexpr std::chrono::milliseconds kSoon(30);
  const std::vector<Case> cases = {
      {"whole", {.body = "bytes"}, {200}, "bytes", ""},
      {"refusal", {.status = 410, .body = "Gone"}, {410}, "", ""},
      {"reset", {.body = "half", .then = Then::kReset, .code = 2}, {200}, "half", "the stream was cut short"},
      {"no answer", {.status = 0, .then = Then::kReset, .code = 2}, {}, "", "INTERNAL_ERROR"},
      {"closed", {.then = Then::kClose}, {}, "", "closed before an answer came"},
      {"cut", {.then = Then::kAbort}, {}, "", ": connection reset by peer"},
      {"silence",
       {.body = "half", .then = Then::kKeepOpen},
       {200},
       "half",
       "silent for 30ms",
       {.head_timeout = kPatience, .idle_timeout = kSoon}},
      {"nothing",
       {.then = Then::kSayNothing},
       {},
       "",
       "no answer within 30ms",
       {.head_timeout = kSoon, .idle_timeout = kPatience}},
  };
  for (const Case& c : cases) {
    Http2Peer peer([&](const Request&, int) { return c.answer; });
    IoContext io;
    const auto client = MakeClient(io, OptionsFor(peer));
    StreamRecorder recorder;
    const auto handle = client->Stream({"GET", "/"}, c.options, recorder.Callbacks());
    const StreamLog log = recorder.WaitForEnd();
    ASSERT_EQ(log.ends.size(), 1U) << c.name;
    EXPECT_EQ(log.ends.front().ok(), c.want.empty()) << c.name;
    if (!log.ends.front().ok()) {
      EXPECT_THAT(log.ends.front().error().message, HasSubstr(c.want)) << c.name;
    }
    EXPECT_EQ(log.bytes, c.bytes) << c.name;
    std::vector<int> statuses;
    for (const Response& head : log.heads) statuses.push_back(head.status);
    EXPECT_EQ(statuses, c.statuses) << c.name;
    if (c.name == "refusal" && !log.heads.empty()) {
      EXPECT_EQ(log.heads.front().body, "Gone");
    }
  }
}

TEST(Http2Test, DestructionCancels) {
  Http2Peer peer([](const Request&, int) { return Answer{.then = Then::kSayNothing}; });
  IoContext io;
  auto client = MakeClient(io, OptionsFor(peer));
  Watched<std::vector<ErrorCode>> codes;
  StreamRecorder recorder;
  const auto handle = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
  for (int i = 0; i < 3; ++i) {
    client->Send({"GET", "/"}, {}, [&codes](const Expected<Response>& response) {
      codes.Update([&](auto& all) { all.push_back(response.ok() ? ErrorCode::kInternal : response.error().code); });
    });
  }
  client.reset();
  EXPECT_EQ(codes.Get(), std::vector<ErrorCode>(3, ErrorCode::kCancelled));
  EXPECT_EQ(recorder.WaitForEnd().ends.front().error().code, ErrorCode::kCancelled);
}

TEST(Http2Test, ClientMayBeDestroyedInAStreamCallback) {
  Http2Peer peer([](const Request&, int) { return Answer{.body = "x", .then = Then::kKeepOpen}; });
  IoContext io;
  auto client = MakeClient(io, OptionsFor(peer));
  Watched<bool> is_gone;
  StreamCallbacks callbacks;
  callbacks.on_bytes = [&](std::string_view) {
    client.reset();
    is_gone.Update([](bool& gone) { gone = true; });
  };
  auto* const transport = client.get();
  const auto handle = transport->Stream({"GET", "/"}, {}, std::move(callbacks));
  EXPECT_TRUE(is_gone.WaitFor([](bool gone) { return gone; }));
}

TEST(Http2Test, MayBeSwitchedOff) {
  Http2Peer peer([](const Request&, int) { return Answer{}; });
  IoContext io;
  HttpClientOptions options = OptionsFor(peer);
  options.tls->offers_http2 = false;
  const auto client = MakeClient(io, std::move(options));
  // The peer speaks nothing else, and cannot make sense of it.
  EXPECT_FALSE(SendAndWait(*client, {"POST", "/"}).ok());
}

}  // namespace
}  // namespace berth::net
