// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http_server.h"

#include <algorithm>

#include <poll.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void AnswerTarget(const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
  writer->Send({200, {}, request.method + " " + request.target + " " + request.body});
}

// For a server that gives its peers little time.
constexpr int kTriesMax = 100;

using Writers = Watched<std::vector<std::shared_ptr<ResponseWriter>>>;

Handler KeepIn(Writers& writers) {
  return [&writers](const Request&, std::shared_ptr<ResponseWriter> writer) {
    writers.Update([&](auto& all) { all.push_back(std::move(writer)); });
  };
}

std::shared_ptr<ResponseWriter> Wait(Writers& writers, std::size_t index) {
  BERTH_CHECK(writers.WaitFor([index](const auto& all) { return all.size() > index; }), "the handler was not called");
  return writers.Get()[index];
}

TEST(HttpServerTest, AnswersOnTheWire) {
  IoContext io;
  const auto server = MakeServer(io, [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    const std::string& target = request.target;
    if (target == "/echo") AnswerTarget(request, writer);
    if (target == "/none") writer->Send({204});
    if (target == "/header") writer->Send({201, {{"A", "b\r\nEvil: 1"}, {"Content-Length", "9"}, {"B c", "d"}}, "x"});
    if (target == "/odd") writer->Send({299, {}, ""});
    if (target == "/stream") {
      writer->StartStream({200, {{"T", "j"}}, "first"});
      EXPECT_TRUE(writer->Write(""));
      EXPECT_TRUE(writer->Write("0123456789abcdef"));
      writer->End();
    }
    // "/dropped": nobody answers.
    if (target == "/cut") {
      writer->StartStream({200});
      EXPECT_TRUE(writer->Write("abc"));
    }
  });
  struct Case {
    std::string name;
    std::string request;
    std::string want;
  };
  const std::string chunked = "HTTP/1.1 200 OK\r\nT: j\r\nTransfer-Encoding: chunked\r\n";
  const std::vector<Case> cases = {
      {"get", "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nGET /echo "},
      {"chunked request",
       "PUT /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
       "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\nPUT /echo abc"},
      {"head", "HEAD /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n"},
      {"no content", "GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"},
      {"header values cannot break out", "GET /header HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       "HTTP/1.1 201 Created\r\nA: b  Evil: 1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"},
      {"unknown status", "GET /odd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       "HTTP/1.1 299 Unknown\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
      {"stream", "GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       chunked + "Connection: close\r\n\r\n5\r\nfirst\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"},
      {"stream for HEAD", "HEAD /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       chunked + "Connection: close\r\n\r\n"},
      {"HTTP/1.0", "GET /echo HTTP/1.0\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nGET /echo "},
      {"HTTP/1.0 kept alive", "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /none HTTP/1.0\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: keep-alive\r\n\r\nGET /echo "
       "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"},
      {"stream in HTTP/1.0", "GET /stream HTTP/1.0\r\n\r\n",
       "HTTP/1.1 200 OK\r\nT: j\r\nConnection: close\r\n\r\nfirst0123456789abcdef"},
      {"dropped", "GET /dropped HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 37\r\n"
       "Connection: close\r\n\r\nthe request's handler gave no answer\n"},
      {"pipelined",
       "GET /echo HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n"
       "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nGET /echo HTTP/1.1 204 No Content\r\n\r\n"
       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nGET /echo "},
      {"told to continue",
       "PUT /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
       "HTTP/1.1 100 Continue\r\n\r\n"},
  };
  for (const Case& c : cases) {
    RawSocket peer = RawSocket::Connect(server->port());
    peer.Write(c.request);
    if (c.name == "told to continue") {
      EXPECT_EQ(peer.ReadUntil("\r\n\r\n"), c.want);
      peer.Write("x");
      EXPECT_THAT(peer.ReadToEnd(), EndsWith("PUT /echo x"));
      continue;
    }
    EXPECT_EQ(peer.ReadToEnd(), c.want) << c.name;
  }
  // A stream that its writer gives up must not look whole.
  RawSocket peer = RawSocket::Connect(server->port());
  peer.Write("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(peer.ReadToEnd(), ::testing::Not(HasSubstr("0\r\n\r\n")));
}

TEST(HttpServerTest, RefusesMalformedRequests) {
  IoContext io;
  HttpServerOptions options;
  options.request_body_bytes_max = 100;
  options.header_bytes_max = 1000;
  options.malformed = [](int status, std::string_view message) {
    return Response{status, {{"Content-Type", "application/json"}}, "{\"message\":\"" + std::string(message) + "\"}"};
  };
  const auto server = MakeServer(io, AnswerTarget, options);
  struct Case {
    std::string name;
    std::string request;
    int status;
    std::string message;
  };
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::vector<Case> cases = {
      {"garbage", "\x16\x03\x01\x02garbage\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"no version", "GET /\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400, "missing Host header"},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "more than one Host header"},
      {"bad header", "GET / HTTP/1.1\r\nHost a\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"bad length", post + "Content-Length: -1\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"length and chunks", post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
       "not an HTTP/1.1 request: "},
      {"chunks and length", post + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400,
       "not an HTTP/1.1 request: "},
      {"unknown coding", post + "Transfer-Encoding: gzip\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"hidden chunks", post + "Transfer-Encoding: chunked, gzip\r\n\r\n", 400, "not an HTTP/1.1 request: "},
      {"bad chunk", post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "not an HTTP/1.1 request: "},
      {"long body", post + "Content-Length: 101\r\n\r\n", 413, "the request's body is longer than 100 bytes"},
      {"long chunk", post + "Transfer-Encoding: chunked\r\n\r\n65\r\n", 413,
       "the request's body is longer than 100 bytes"},
      {"many chunks", post + "Transfer-Encoding: chunked\r\n\r\n64\r\n" + std::string(100, 'a') + "\r\n1\r\n", 413,
       "the request's body is longer than 100 bytes"},
      {"long target", "GET /" + std::string(2000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 431,
       "the request's head is longer than 1000 bytes"},
      {"long head", "GET / HTTP/1.1\r\nHost: a\r\nB: " + std::string(2000, 'b'), 431,
       "the request's head is longer than 1000 bytes"},
      {"long chunk line", post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(2000, 'b'), 431,
       "the request's head is longer than 1000 bytes"},
      {"unknown expectation", post + "Expect: wonders\r\nContent-Length: 1\r\n\r\n", 417,
       "only 100-continue is understood"},
  };
  for (const Case& c : cases) {
    RawSocket peer = RawSocket::Connect(server->port());
    peer.Write(c.request);
    const std::string answer = peer.ReadToEnd();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::to_string(c.status) + " ")) << c.name;
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n")) << c.name;
    EXPECT_THAT(answer, HasSubstr("\r\n\r\n{\"message\":\"")) << c.name;
    EXPECT_THAT(answer, HasSubstr(c.message)) << c.name;
    EXPECT_THAT(answer, EndsWith("\"}")) << c.name;
  }
  // A request that comes in pieces is none of these.
  RawSocket peer = RawSocket::Connect(server->port());
  for (const char c : post + "Content-Length: 2\r\nConnection: close\r\n\r\nab") peer.Write({&c, 1});
  EXPECT_THAT(peer.ReadToEnd(), EndsWith("\r\n\r\nPOST / ab"));
}

TEST(HttpServerTest, PipelinedRequestsAreAnsweredInOrderAlsoFromOtherThreads) {
  IoContext io;
  Writers writers;
  const auto server = MakeServer(io, KeepIn(writers));
  RawSocket peer = RawSocket::Connect(server->port());
  std::string requests;
  for (int i = 0; i < 3; ++i) requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  peer.Write(requests);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto writer = Wait(writers, i);
    EXPECT_EQ(writers.Get().size(), i + 1);  // The next waits for this one's answer.
    writer->Send({200, {}, std::to_string(i)});
    const std::string want = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + std::to_string(i);
    EXPECT_EQ(peer.ReadUntil("\r\n\r\n" + std::to_string(i)), want);
  }
}

TEST(HttpServerTest, IdleConnectionsAreClosed) {
  struct Case {
    std::string name;
    std::string request;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"silent from the start", "", ""},
      {"half a head", "GET / HTTP/1.1\r\n", ""},
      {"half a body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab", ""},
      {"silent after an answer", "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nGET / "},
  };
  IoContext io;
  HttpServerOptions options;
  options.idle_timeout = std::chrono::milliseconds(40);
  Watched<int> handled;
  const auto server = MakeServer(
      io,
      [&handled](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
        handled.Update([](int& n) { ++n; });
        AnswerTarget(request, writer);
      },
      options);
  for (const Case& c : cases) {
    std::string got;
    // On a slow machine the time is over before the request is there.
    for (int i = 0; i < kTriesMax && (i == 0 || (!c.want.empty() && handled.Get() == 0)); ++i) {
      RawSocket peer = RawSocket::Connect(server->port());
      peer.Write(c.request);
      got = peer.ReadToEnd();
    }
    EXPECT_EQ(got, c.want) << c.name;
  }
}

// The head of a request, and as much of its body as stays unanswered.
std::string HalfRequest(std::size_t claimed, std::size_t sent) {
  return "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(claimed) + "\r\n\r\n" +
         std::string(sent, 'x');
}

TEST(HttpServerTest, ARequestHasToArriveInTime) {
  IoContext io;
  HttpServerOptions options;
  options.idle_timeout = std::chrono::seconds(2);
  options.request_timeout = std::chrono::milliseconds(200);
  const auto server = MakeServer(io, AnswerTarget, options);
  RawSocket idle = RawSocket::Connect(server->port());
  RawSocket half_head = RawSocket::Connect(server->port());
  half_head.Write("GET / HT");
  RawSocket half_body = RawSocket::Connect(server->port());
  half_body.Write(HalfRequest(1000, 10));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(half_head.ReadToEnd(), "");
  EXPECT_EQ(half_body.ReadToEnd(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  // One that has not begun may wait for idle_timeout.
  idle.Write("GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(idle.ReadToEnd(), EndsWith("GET /b "));
}

// Waits until `count` of the sockets have something to read, and returns the indexes of these.
std::vector<std::size_t> WaitForReadable(const std::vector<RawSocket>& sockets, std::size_t count) {
  std::vector<pollfd> open;
  for (const RawSocket& socket : sockets) open.push_back({socket.fd(), POLLIN, 0});
  std::vector<std::size_t> readable;
  while (readable.size() < count) {
    const int ready = ::poll(open.data(), open.size(), std::chrono::milliseconds(kPatience).count());
    if (ready <= 0) break;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      readable.push_back(i);
      open[i].fd = -1;
    }
  }
  return readable;
}

TEST(HttpServerTest, RequestsBeingReceivedAreBoundedTogether) {
  IoContext io;
  HttpServerOptions options;
  options.requests_bytes_max = std::size_t{8} << 20;
  options.slow_request_time = std::chrono::minutes(10);
  const auto server = MakeServer(io, AnswerTarget, options);
  constexpr std::size_t kHalves = 30;
  std::vector<RawSocket> halves;
  for (std::size_t i = 0; i < kHalves; ++i) {
    halves.push_back(RawSocket::Connect(server->port()));
    halves.back().Write(HalfRequest(3'000'000, 1'000'000));
  }
  const std::vector<std::size_t> refused = WaitForReadable(halves, kHalves - 8);
  EXPECT_GE(refused.size(), kHalves - 8);
  EXPECT_LT(refused.size(), kHalves - 2);
  for (const std::size_t i : refused) {
    const std::string answer = halves[i].ReadUntil("again later");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 429 Too Many Requests\r\n"));
    EXPECT_THAT(answer, HasSubstr("Retry-After: 1\r\n"));
    EXPECT_THAT(answer, HasSubstr("receiving too many large requests at a time"));
  }
  // A small request is answered, whatever the others hold.
  RawSocket small = RawSocket::Connect(server->port());
  small.Write("POST /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4000\r\n\r\n" +
              std::string(4000, 'y'));
  EXPECT_THAT(small.ReadToEnd(), HasSubstr("POST /small yyy"));
  // Requests that were ended have given their room back.
  halves.clear();
  std::string answer;
  for (int i = 0; i < kTriesMax && !answer.starts_with("HTTP/1.1 200"); ++i) {
    RawSocket large = RawSocket::Connect(server->port());
    large.Write("POST /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2500000\r\n\r\n" +
                std::string(2'500'000, 'z'));
    answer = large.ReadToEnd();
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
}

// A peer that sends a large request byte by byte is ended to make room for others.
TEST(HttpServerTest, SlowRequestsEndWhenThereIsNoRoom) {
  IoContext io;
  HttpServerOptions options;
  options.requests_bytes_max = std::size_t{3} << 20;
  options.slow_request_time = Duration(0);
  const auto server = MakeServer(io, AnswerTarget, options);
  std::vector<RawSocket> slow;
  for (int i = 0; i < 6; ++i) {
    slow.push_back(RawSocket::Connect(server->port()));
    slow.back().Write(HalfRequest(3'000'000, 1'000'000));
  }
  // One is refused, and with that all that are under way end; those that come later may stay.
  std::vector<std::size_t> ended = WaitForReadable(slow, 2);
  ASSERT_GE(ended.size(), 2u);
  int refused = 0;
  int cut_off = 0;
  for (const std::size_t i : ended) {
    (slow[i].ReadToEnd().empty() ? cut_off : refused) += 1;
  }
  EXPECT_GE(refused, 1);
  EXPECT_GE(refused + cut_off, 2);
}

class UnreadAnswersTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kLarge = std::size_t{16} << 20;  // more than the sockets take

  // Room for two large answers.
  void StartServer(Duration slow_request_time) {
    options.answers_bytes_max = 2 * kLarge;
    options.slow_request_time = slow_request_time;
    const auto answer = [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
      writer->Send({200, {}, std::string(request.target == "/large" ? kLarge : 100, 'x')});
    };
    server = MakeServer(io, answer, options);
  }
  RawSocket Ask(const char* target) {
    RawSocket peer = RawSocket::Connect(server->port());
    peer.Write(std::string("GET ") + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return peer;
  }
  // The first line of what comes.
  std::string Status(const char* target) { return Ask(target).ReadUntil("\r\n"); }

  IoContext io;
  HttpServerOptions options;
  std::unique_ptr<HttpServer> server;
};

TEST_F(UnreadAnswersTest, AreBoundedTogether) {
  StartServer(std::chrono::minutes(10));
  {
    RawSocket first = Ask("/large");
    RawSocket second = Ask("/large");
    EXPECT_EQ(first.ReadUntil("\r\n"), "HTTP/1.1 200 OK\r\n");
    EXPECT_EQ(second.ReadUntil("\r\n"), "HTTP/1.1 200 OK\r\n");
    EXPECT_THAT(Ask("/large").ReadToEnd(), AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 1\r\n")));
    EXPECT_EQ(Status("/small"), "HTTP/1.1 200 OK\r\n");
    EXPECT_GE(first.ReadToEnd().size(), kLarge) << "nobody is cut off who may still read";
  }
  std::string status;
  for (int i = 0; i < kTriesMax && !status.starts_with("HTTP/1.1 200"); ++i) status = Status("/large");
  EXPECT_THAT(status, StartsWith("HTTP/1.1 200")) << "there is room again";
}

TEST_F(UnreadAnswersTest, WhoReadsNothingIsCutOffWhenThereIsNoRoom) {
  StartServer(Duration(0));
  RawSocket first = Ask("/large");
  RawSocket second = Ask("/large");
  EXPECT_EQ(first.ReadUntil("\r\n"), "HTTP/1.1 200 OK\r\n");
  EXPECT_EQ(second.ReadUntil("\r\n"), "HTTP/1.1 200 OK\r\n");
  EXPECT_THAT(Status("/large"), StartsWith("HTTP/1.1 429"));
  std::string status;
  for (int i = 0; i < kTriesMax && !status.starts_with("HTTP/1.1 200"); ++i) status = Status("/large");
  EXPECT_THAT(status, StartsWith("HTTP/1.1 200"));
  EXPECT_LT(first.ReadToEnd().size(), kLarge);
}

TEST_F(UnreadAnswersTest, OneThatIsLargerThanAllGoesAlone) {
  options.answers_bytes_max = 1;
  server = MakeServer(
      io,
      [](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
        writer->Send({200, {}, std::string(kLarge, 'x')});
      },
      options);
  EXPECT_GE(Ask("/large").ReadToEnd().size(), kLarge);
}

TEST(HttpServerTest, HandlersMayTakeLongerThanTheIdleTimeout) {
  IoContext io;
  HttpServerOptions options;
  options.idle_timeout = std::chrono::milliseconds(20);
  Watched<int> handled;
  const auto server = MakeServer(
      io,
      [&io, &handled](const Request&, std::shared_ptr<ResponseWriter> writer) {
        handled.Update([](int& n) { ++n; });
        io.PostAfter(std::chrono::milliseconds(100), [writer] { writer->Send({200}); });
      },
      options);
  std::string got;
  // On a slow machine the time is over before the request is there.
  for (int i = 0; i < kTriesMax && handled.Get() == 0; ++i) {
    RawSocket peer = RawSocket::Connect(server->port());
    peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    got = peer.ReadUntil("\r\n\r\n");
  }
  EXPECT_EQ(got, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

TEST(HttpServerTest, ConnectionsAreBounded) {
  IoContext io;
  HttpServerOptions options;
  options.connections_max = 2;
  const auto server = MakeServer(io, AnswerTarget, options);
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nGET / ";
  std::vector<RawSocket> peers;
  for (int i = 0; i < 2; ++i) {
    peers.push_back(RawSocket::Connect(server->port()));
    peers.back().Write(request);
    EXPECT_EQ(peers.back().ReadUntil("GET / "), answer);
  }
  for (int i = 0; i < 100; ++i) {
    RawSocket refused = RawSocket::Connect(server->port());
    const std::string text = refused.ReadToEnd();
    EXPECT_THAT(text, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
    EXPECT_THAT(text, EndsWith("too many connections\n"));
  }
  peers[1].Write(request);
  EXPECT_EQ(peers[1].ReadUntil("GET / "), answer);
}

TEST(HttpServerTest, TheMostSilentConnectionMakesRoom) {
  IoContext io;
  HttpServerOptions options;
  options.connections_max = 2;
  options.ends_silent_connections = true;
  Writers writers;
  const auto server = MakeServer(io, KeepIn(writers), options);
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  // One that waits for its answer is none.
  RawSocket busy = RawSocket::Connect(server->port());
  busy.Write(request);
  const auto writer = Wait(writers, 0);
  for (std::size_t i = 1; i < 20; ++i) {
    RawSocket silent = RawSocket::Connect(server->port());
    RawSocket next = RawSocket::Connect(server->port());
    EXPECT_EQ(silent.ReadToEnd(), "") << i;  // closed without a word
    next.Write(request);
    Wait(writers, i)->Send({204});
    EXPECT_THAT(next.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 204 ")) << i;
  }
  writer->Send({204});
  EXPECT_THAT(busy.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 204 "));
}

TEST(HttpServerTest, RefusedConnectionsAreBoundedToo) {
  IoContext io;
  HttpServerOptions options;
  options.connections_max = 0;
  const auto server = MakeServer(io, AnswerTarget, options);
  std::vector<RawSocket> peers;
  for (int i = 0; i < 80; ++i) peers.push_back(RawSocket::Connect(server->port()));
  // Refused peers that stay count for a while; those beyond are closed without a word.
  EXPECT_EQ(std::count_if(peers.begin(), peers.end(), [](RawSocket& peer) { return !peer.ReadToEnd().empty(); }), 64);
}

TEST(HttpServerTest, PeerThatHasEndedItsSideGetsItsAnswer) {
  IoContext io;
  Writers writers;
  const auto server = MakeServer(io, KeepIn(writers));
  RawSocket peer = RawSocket::Connect(server->port());
  peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  peer.ShutdownWrite();
  Wait(writers, 0)->Send({200, {}, "late"});
  EXPECT_EQ(peer.ReadToEnd(), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate");

  // Also to what it has asked in advance, but not to half a request.
  RawSocket second = RawSocket::Connect(server->port());
  second.Write("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HT");
  second.ShutdownWrite();
  Wait(writers, 1)->Send({204});
  Wait(writers, 2)->Send({204});
  EXPECT_EQ(second.ReadToEnd(), "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
}

TEST(HttpServerTest, OnClosedWhenThePeerGoes) {
  for (const bool resets : {false, true}) {
    IoContext io;
    Writers writers;
    Watched<int> closed;
    const auto server = MakeServer(io, KeepIn(writers));
    RawSocket peer = RawSocket::Connect(server->port());
    peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto writer = Wait(writers, 0);
    writer->OnClosed([&] { closed.Update([](int& n) { ++n; }); });
    writer->StartStream({200});
    EXPECT_TRUE(writer->Write("a"));
    peer.ReadUntil("a\r\n");
    resets ? peer.Reset() : peer.Close();
    EXPECT_TRUE(closed.WaitFor([](int n) { return n == 1; }));
    EXPECT_FALSE(writer->Write("b"));
    writer->End();
    bool is_called = false;
    writer->OnClosed([&] { is_called = true; });
    EXPECT_TRUE(is_called);
    EXPECT_EQ(closed.Get(), 1);
  }
}

TEST(HttpServerTest, OnClosedWhenThePeerGoesBeforeTheAnswer) {
  for (const bool resets : {false, true}) {
    IoContext io;
    Writers writers;
    Watched<int> closed;
    const auto server = MakeServer(io, KeepIn(writers));
    RawSocket peer = RawSocket::Connect(server->port());
    peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto writer = Wait(writers, 0);
    writer->OnClosed([&] { closed.Update([](int& n) { ++n; }); });
    resets ? peer.Reset() : peer.Close();
    EXPECT_TRUE(closed.WaitFor([](int n) { return n == 1; }));
    writer->Send({200});
    EXPECT_EQ(closed.Get(), 1);
  }
}

TEST(HttpServerTest, OnClosedWhenTheStreamEnds) {
  IoContext io;
  Writers writers;
  Watched<int> closed;
  const auto server = MakeServer(io, KeepIn(writers));
  RawSocket peer = RawSocket::Connect(server->port());
  peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto writer = Wait(writers, 0);
  writer->OnClosed([&] { closed.Update([](int& n) { ++n; }); });
  writer->StartStream({200});
  writer->End();
  EXPECT_TRUE(closed.WaitFor([](int n) { return n == 1; }));
  EXPECT_THAT(peer.ReadUntil("0\r\n\r\n"), EndsWith("\r\n\r\n0\r\n\r\n"));
  // The connection serves the next request.
  peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  Wait(writers, 1)->Send({204});
  EXPECT_EQ(peer.ReadUntil("\r\n\r\n"), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(HttpServerTest, SlowReaderIsCutOff) {
  IoContext io;
  Writers writers;
  Watched<int> closed;
  HttpServerOptions options;
  options.stream_buffer_bytes_max = 1'000'000;
  const auto server = MakeServer(io, KeepIn(writers), options);
  RawSocket peer = RawSocket::Connect(server->port());
  peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto writer = Wait(writers, 0);
  writer->OnClosed([&] { closed.Update([](int& n) { ++n; }); });
  writer->StartStream({200});
  const std::string event(10'000, 'x');
  std::size_t written = 0;
  while (writer->Write(event)) {
    written += event.size();
    ASSERT_LT(written, std::size_t{1} << 30) << "the bound does not hold";
  }
  EXPECT_TRUE(closed.WaitFor([](int n) { return n == 1; }));
  EXPECT_FALSE(writer->Write("more"));
  EXPECT_LT(peer.ReadToEnd().size(), written);
}

TEST(HttpServerTest, ReaderThatKeepsUpIsNotCutOff) {
  IoContext io;
  Writers writers;
  HttpServerOptions options;
  options.stream_buffer_bytes_max = 200'000;  // What the peer has read may still be counted for a moment.
  const auto server = MakeServer(io, KeepIn(writers), options);
  RawSocket peer = RawSocket::Connect(server->port());
  peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto writer = Wait(writers, 0);
  writer->StartStream({200});
  for (int i = 0; i < 100; ++i) {
    const std::string mark = "<" + std::to_string(i) + ">";
    ASSERT_TRUE(writer->Write(std::string(50'000, 'x') + mark)) << i;
    ASSERT_THAT(peer.ReadUntil(mark), EndsWith(mark));
  }
}

TEST(HttpServerTest, PeerThatDoesNotReadItsAnswerIsClosed) {
  IoContext io;
  Writers writers;
  HttpServerOptions options;
  options.idle_timeout = std::chrono::milliseconds(500);
  const auto server = MakeServer(io, KeepIn(writers), options);
  RawSocket peer = RawSocket::Connect(server->port());
  peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  Watched<bool> is_gone;
  auto writer = Wait(writers, 0);
  writer->OnClosed([&] { is_gone.Update([](bool& b) { b = true; }); });
  writer->StartStream({200, {}, std::string(std::size_t{30} << 20, 'x')});
  EXPECT_TRUE(is_gone.WaitFor([](bool b) { return b; }));
}

TEST(HttpServerTest, DestructionClosesEverything) {
  auto io = std::make_unique<IoContext>(2);
  Writers writers;
  std::atomic<int> closed{0};
  auto server = MakeServer(*io, KeepIn(writers));
  std::vector<RawSocket> peers;
  for (std::size_t i = 0; i < 4; ++i) {
    peers.push_back(RawSocket::Connect(server->port()));
    peers.back().Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto writer = Wait(writers, i);
    writer->OnClosed([&] { ++closed; });
    if (i > 1) writer->StartStream({200});
  }
  server.reset();
  EXPECT_EQ(closed.load(), 4);
  for (auto& peer : peers) peer.ReadToEnd();
  auto all = writers.Get();
  all[0]->Send({200});
  all[1]->StartStream({200});
  EXPECT_FALSE(all[2]->Write("x"));
  all[3]->End();
  io.reset();
  EXPECT_FALSE(all[1]->Write("x"));
}

TEST(HttpServerTest, MayBeDestroyedByItsHandler) {
  IoContext io;
  std::promise<void> is_destroyed;
  std::unique_ptr<HttpServer> server;
  server = MakeServer(io, [&](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
    server.reset();
    writer->Send({200});
    is_destroyed.set_value();
  });
  RawSocket peer = RawSocket::Connect(server->port());
  peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(peer.ReadToEnd(), "");
  is_destroyed.get_future().wait();
}

TEST(HttpServerTest, AnswersFromManyThreads) {
  IoContext io(2);
  const auto server = MakeServer(io, [&io](const Request& request, std::shared_ptr<ResponseWriter> writer) {
    io.Post([request, writer = std::move(writer)] { AnswerTarget(request, writer); });
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      RawSocket peer = RawSocket::Connect(server->port());
      for (int i = 0; i < 100; ++i) {
        peer.Write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        ASSERT_EQ(peer.ReadUntil("GET / "), "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nGET / ");
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(StartHttpServerTest, PortInUse) {
  IoContext io;
  const auto first = MakeServer(io, AnswerTarget);
  HttpServerOptions options;
  options.listen = first->address();
  const auto second = StartHttpServer(io, options, AnswerTarget);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message, "listen " + first->address() + ": address already in use: choose another");
}

TEST(StartHttpServerTest, APortIsSharedByThoseThatAllPermitIt) {
  for (const bool does_first : {false, true}) {
    for (const bool does_second : {false, true}) {
      IoContext io;
      HttpServerOptions options;
      options.listen = "127.0.0.1:0";
      options.shares_port = does_first;
      const auto first = StartHttpServer(io, options, AnswerTarget);
      ASSERT_TRUE(first.ok()) << first.error().message;
      options.listen = (*first)->address();
      options.shares_port = does_second;
      EXPECT_EQ(StartHttpServer(io, options, AnswerTarget).ok(), does_first && does_second)
          << does_first << does_second;
    }
  }
}

TEST(StartHttpServerTest, ListenAddresses) {
  struct Case {
    std::string listen;
    std::string want;  // of the error, or of the address when it begins with "ok"
  };
  IoContext io;
  for (const Case& c :
       {Case{"localhost:0", "ok"}, Case{":0", "ok"}, Case{"0.0.0.0:0", "ok 0.0.0.0:"},
        Case{"127.0.0.1:0", "ok 127.0.0.1:"}, Case{"127.0.0.1", "must be HOST:PORT"},
        Case{"127.0.0.1:http", "must be HOST:PORT"}, Case{"192.0.2.1:0", "must be an address of this machine"},
        Case{std::string(70, 'a') + ".invalid:0", "no such host"}}) {
    HttpServerOptions options;
    options.listen = c.listen;
    const auto server = StartHttpServer(io, options, AnswerTarget);
    ASSERT_EQ(server.ok(), c.want.starts_with("ok")) << c.listen;
    if (!server.ok()) {
      EXPECT_THAT(server.error().message, HasSubstr(c.want)) << c.listen;
    } else {
      EXPECT_GT((*server)->port(), 0) << c.listen;
      EXPECT_THAT((*server)->address(), EndsWith(":" + std::to_string((*server)->port()))) << c.listen;
      EXPECT_THAT((*server)->address(), StartsWith(c.want.size() > 3 ? c.want.substr(3) : "")) << c.listen;
    }
  }
}

TEST(StartHttpServerTest, BadCertificate) {
  IoContext io;
  HttpServerOptions options;
  options.tls = TlsServerOptions{"no certificate", "no key", ""};
  const auto server = StartHttpServer(io, options, AnswerTarget);
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.error().message, StartsWith("server certificate: not PEM certificates (BEGIN CERTIFICATE)"));
}

}  // namespace
}  // namespace berth::net
