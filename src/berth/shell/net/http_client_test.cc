// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http_client.h"

#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers with what was asked.
void Echo(const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
  Response response{200, {}, request.method + " " + request.target + "\n"};
  for (const Header& header : request.headers) response.body += header.name + ": " + header.value + "\n";
  response.body += "\n" + request.body;
  writer->Send(std::move(response));
}

TEST(HttpClientTest, SendsAndReceives) {
  IoContext io;
  const auto server = MakeServer(io, Echo);
  const std::string host = "127.0.0.1:" + std::to_string(server->port());
  struct Case {
    std::string name;
    std::string prefix;
    Request request;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"get", "", {"GET", "/a?b=c"}, "GET /a?b=c\nHost: " + host + "\n\n"},
      {"prefix", "/k8s/clusters/x/", {"GET", "/a"}, "GET /k8s/clusters/x/a\nHost: " + host + "\n\n"},
      {"own host", "", {"GET", "/a", {{"host", "other"}}}, "GET /a\nhost: other\n\n"},
      {"headers", "", {"GET", "/", {{"A", "b, c"}, {"A", ""}}}, "GET /\nHost: " + host + "\nA: b, c\nA: \n\n"},
      {"post", "", {"POST", "/", {}, "body"}, "POST /\nHost: " + host + "\nContent-Length: 4\n\nbody"},
      {"post without a body", "", {"POST", "/"}, "POST /\nHost: " + host + "\nContent-Length: 0\n\n"},
      {"delete with a body", "", {"DELETE", "/", {}, "{}"}, "DELETE /\nHost: " + host + "\nContent-Length: 2\n\n{}"},
      {"framing is not the caller's",
       "",
       {"PUT", "/", {{"Content-Length", "9"}, {"Transfer-Encoding", "chunked"}}, "x"},
       "PUT /\nHost: " + host + "\nContent-Length: 1\n\nx"},
  };
  for (const Case& c : cases) {
    const auto client = MakeClient(io, "http://" + host + c.prefix);
    const auto response = SendAndWait(*client, c.request);
    ASSERT_TRUE(response.ok()) << c.name << ": " << response.error().message;
    EXPECT_EQ(response->status, 200) << c.name;
    EXPECT_EQ(response->body, c.want) << c.name;
  }
}

TEST(HttpClientTest, LargeBodiesBothWays) {
  IoContext io;
  const auto server = MakeServer(io, EchoBody, {.request_body_bytes_max = std::size_t{32} << 20});
  const auto client = MakeClient(io, "http://" + server->address());
  const std::string body = LargeBody(std::size_t{5} << 20);
  const auto response = SendAndWait(*client, {"POST", "/", {}, body});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_TRUE(response->body == body);
}

TEST(HttpClientTest, Ipv6) {
  IoContext io;
  HttpServerOptions options;
  options.listen = "[::1]:0";
  auto server = StartHttpServer(io, options, Echo);
  if (!server.ok()) GTEST_SKIP() << "no IPv6 loopback here: " << server.error().message;
  const auto client = MakeClient(io, "http://" + (*server)->address());
  const auto response = SendAndWait(*client, {"GET", "/"});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_THAT(response->body, HasSubstr("Host: [::1]:"));
}

TEST(HttpClientTest, FindsAHostByName) {
  IoContext io;
  const auto server = MakeServer(io, Echo);
  const auto client = MakeClient(io, "http://localhost:" + std::to_string(server->port()));
  const auto response = SendAndWait(*client, {"GET", "/"});
  ASSERT_TRUE(response.ok()) << response.error().message;
}

// What answers look like on the wire.
TEST(HttpClientTest, ReadsAnswers) {
  struct Case {
    std::string name;
    std::string method;
    std::string answer;
    int status;
    std::string body;
  };
  const std::vector<Case> cases = {
      {"length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc"},
      {"chunked with trailer", "GET",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: t\r\n\r\n", 200, "abc"},
      {"until close", "GET", "HTTP/1.1 200 OK\r\n\r\nabc", 200, "abc"},
      {"HTTP/1.0", "GET", "HTTP/1.0 404 Not Found\r\n\r\nno", 404, "no"},
      {"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 200, ""},
      {"no content", "DELETE", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
      {"interim answers", "POST",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: "
       "1\r\n\r\nx",
       201, "x"},
      {"no reason phrase", "GET", "HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n", 503, ""},
  };
  for (const Case& c : cases) {
    RawServer peer([&](RawSocket& socket, int) {
      socket.ReadRequest();
      socket.Write(c.answer);
    });
    IoContext io;
    const auto client = MakeClient(io, peer.url());
    const auto response = SendAndWait(*client, {c.method, "/"});
    ASSERT_TRUE(response.ok()) << c.name << ": " << response.error().message;
    EXPECT_EQ(response->status, c.status) << c.name;
    EXPECT_EQ(response->body, c.body) << c.name;
  }
}

TEST(HttpClientTest, BrokenAnswers) {
  struct Case {
    std::string name;
    std::string answer;
    bool resets = false;
    ErrorCode code;
    std::string want;
  };
  std::string interim;
  for (int i = 0; i < 20; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  const std::vector<Case> cases = {
      {"garbage", "SSH-2.0-OpenSSH_9.2\r\n\r\n", false, ErrorCode::kInternal, " answered something that is not HTTP: "},
      {"endless head", "HTTP/1.1 200 OK\r\nA: " + std::string(400'000, 'a'), false, ErrorCode::kTooLarge,
       ": the answer's head is longer than 262144 bytes"},
      {"half a head", "HTTP/1.1 200 OK\r\nContent-", false, ErrorCode::kUnavailable, ": the answer was cut short"},
      {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", false, ErrorCode::kUnavailable,
       ": the answer was cut short"},
      {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", false, ErrorCode::kUnavailable,
       ": the answer was cut short"},
      {"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, ErrorCode::kInternal,
       " answered something that is not HTTP: "},
      {"unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", false, ErrorCode::kInternal,
       " answered something that is not HTTP: "},
      {"nothing", "", false, ErrorCode::kUnavailable, ": the connection was closed before an answer came"},
      {"reset", "", true, ErrorCode::kUnavailable, ": connection reset by peer"},
      {"only interim answers", interim, false, ErrorCode::kInternal, ": too many 1xx answers before the real one"},
      {"too long by its length", "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", false, ErrorCode::kTooLarge,
       ": the answer's body is longer than 1000 bytes"},
      {"too long in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", false,
       ErrorCode::kTooLarge, ": the answer's body is longer than 1000 bytes"},
      {"too long until close", "HTTP/1.1 200 OK\r\n\r\n" + std::string(1001, 'a'), false, ErrorCode::kTooLarge,
       ": the answer's body is longer than 1000 bytes"},
  };
  for (const Case& c : cases) {
    RawServer peer([&](RawSocket& socket, int) {
      socket.ReadRequest();
      socket.Write(c.answer);
      if (c.resets) socket.Reset();
    });
    IoContext io;
    const auto client = MakeClient(io, peer.url());
    const auto response = SendAndWait(*client, {"POST", "/", {}, "x"}, {.body_bytes_max = 1000});
    ASSERT_FALSE(response.ok()) << c.name;
    EXPECT_EQ(response.error().code, c.code) << c.name;
    EXPECT_THAT(response.error().message, StartsWith("127.0.0.1:" + std::to_string(peer.port()) + c.want)) << c.name;
    EXPECT_EQ(response.error().message.find('\n'), std::string::npos) << c.name;
    EXPECT_TRUE(response.error().outcome_unknown) << c.name;
  }
}

TEST(HttpClientTest, RefusesWhatCannotBeSent) {
  IoContext io;
  const auto client = MakeClient(io, "http://127.0.0.1:" + std::to_string(ClosedPort()));
  struct Case {
    std::string name;
    Request request;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"method", {"GE T", "/"}, "invalid HTTP method"},
      {"empty target", {"GET", ""}, "invalid request target"},
      {"relative target", {"GET", "a"}, "invalid request target"},
      {"target with a space", {"GET", "/a b"}, "invalid request target"},
      {"header name", {"GET", "/", {{"a b", "c"}}}, "invalid header \"?\""},
      {"token file with its line break",
       {"GET", "/", {{"Authorization", "Bearer x\n"}}},
       "invalid header \"Authorization\""},
  };
  for (const Case& c : cases) {
    const auto response = SendAndWait(*client, c.request);
    ASSERT_FALSE(response.ok()) << c.name;
    EXPECT_EQ(response.error().code, ErrorCode::kInvalid) << c.name;
    EXPECT_THAT(response.error().message, HasSubstr(c.want)) << c.name;
    EXPECT_FALSE(response.error().outcome_unknown) << c.name;
  }
}

TEST(HttpClientTest, RefusesBadOptions) {
  IoContext io;
  struct Case {
    std::string name;
    HttpClientOptions options;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"url", {.base_url = "127.0.0.1"}, "must begin with http:// or https://"},
      {"prefix", {.base_url = "http://a/\xc3\xbc"}, "its path must be percent-encoded"},
      {"https without TLS", {.base_url = "https://a"}, "needs TLS options"},
      {"authority",
       {.base_url = "https://a", .tls = TlsClientOptions{.ca_pem = "x"}},
       "certificate authority: not PEM certificates (BEGIN CERTIFICATE)"},
  };
  for (const Case& c : cases) {
    const auto client = MakeHttpClient(io, c.options);
    ASSERT_FALSE(client.ok()) << c.name;
    EXPECT_EQ(client.error().code, ErrorCode::kInvalid) << c.name;
    EXPECT_THAT(client.error().message, HasSubstr(c.want)) << c.name;
  }
}

TEST(HttpClientTest, ConnectionRefused) {
  IoContext io;
  const std::string where = "127.0.0.1:" + std::to_string(ClosedPort());
  const auto client = MakeClient(io, "http://" + where);
  const auto response = SendAndWait(*client, {"POST", "/", {}, "x"});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().message, "dial tcp " + where + ": connection refused");
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(response.error().outcome_unknown);
}

TEST(HttpClientTest, ConnectionRefusedEndsAllThatWait) {
  IoContext io;
  const auto client = MakeClient(io, "http://127.0.0.1:" + std::to_string(ClosedPort()), {.connections_max = 2});
  Watched<int> failed;
  for (int i = 0; i < 100; ++i) {
    client->Send({"GET", "/"}, {}, [&](Expected<Response> response) {
      EXPECT_FALSE(response.ok());
      failed.Update([](int& n) { ++n; });
    });
  }
  EXPECT_TRUE(failed.WaitFor([](int n) { return n == 100; }));
}

TEST(HttpClientTest, NameNotFound) {
  IoContext io;
  // Too long for a label, so that no name server is asked.
  const std::string host(70, 'a');
  const auto client = MakeClient(io, "http://" + host + ".invalid");
  const auto response = SendAndWait(*client, {"POST", "/"});
  ASSERT_FALSE(response.ok());
  EXPECT_THAT(response.error().message, StartsWith("dial tcp: lookup " + host + ".invalid: "));
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(response.error().outcome_unknown);
}

TEST(HttpClientTest, ConnectTimeout) {
  // Accepts the connection (the kernel does) but never speaks, so that the TLS handshake does not end.
  std::latch is_done(1);
  RawServer peer([&](RawSocket&, int) { is_done.wait(); });
  IoContext io;
  HttpClientOptions options;
  options.tls.emplace();
  options.connect_timeout = std::chrono::milliseconds(50);
  const auto client = MakeClient(io, "https://127.0.0.1:" + std::to_string(peer.port()), options);
  const auto response = SendAndWait(*client, {"POST", "/"});
  is_done.count_down();
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().message,
            "dial tcp 127.0.0.1:" + std::to_string(peer.port()) + ": no connection within 50ms");
  EXPECT_EQ(response.error().code, ErrorCode::kTimeout);
  EXPECT_FALSE(response.error().outcome_unknown);
}

using Writers = Watched<std::vector<std::shared_ptr<ResponseWriter>>>;

// A server whose handler leaves the answers to the test.
std::unique_ptr<HttpServer> MakeWaitingServer(IoContext& io, Writers& writers) {
  return MakeServer(io, [&writers](const Request&, std::shared_ptr<ResponseWriter> writer) {
    writers.Update([&](auto& all) { all.push_back(std::move(writer)); });
  });
}

// The status of the answer, 0 for none.
std::future<int> SendForStatus(Transport& client, Request request) {
  const auto promise = std::make_shared<std::promise<int>>();
  client.Send(std::move(request), {},
              [promise](Expected<Response> response) { promise->set_value(response.ok() ? response->status : 0); });
  return promise->get_future();
}

TEST(HttpClientTest, TimeoutInFlight) {
  IoContext io;
  Writers writers;
  const auto server = MakeWaitingServer(io, writers);
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1});
  // On an open connection the next request is sent at once, even on a slow machine.
  auto first = SendForStatus(*client, {"GET", "/0"});
  ASSERT_TRUE(writers.WaitFor([](const auto& all) { return all.size() == 1; }));
  writers.Get()[0]->Send({200});
  ASSERT_EQ(first.get(), 200);
  const auto late = SendAndWait(*client, {"POST", "/1"}, {.timeout = std::chrono::milliseconds(20)});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(late.error().message, EndsWith(": no answer within 20ms"));
  EXPECT_TRUE(late.error().outcome_unknown);

  // The connection with the late answer is not used again; the next request gets its own.
  auto next = SendForStatus(*client, {"GET", "/2"});
  ASSERT_TRUE(writers.WaitFor([](const auto& all) { return all.size() == 3; }));
  writers.Get()[1]->Send({200});
  writers.Get()[2]->Send({202});
  EXPECT_EQ(next.get(), 202);
}

TEST(HttpClientTest, TimeoutWhileWaitingForAConnection) {
  IoContext io;
  Writers writers;
  const auto server = MakeWaitingServer(io, writers);
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1});
  auto first = SendForStatus(*client, {"GET", "/0"});
  ASSERT_TRUE(writers.WaitFor([](const auto& all) { return all.size() == 1; }));
  const auto late = SendAndWait(*client, {"POST", "/1"}, {.timeout = std::chrono::milliseconds(20)});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(late.error().message, EndsWith(": no free connection within 20ms, nothing was sent"));
  EXPECT_FALSE(late.error().outcome_unknown);
  writers.Get()[0]->Send({200});
  EXPECT_EQ(first.get(), 200);
  EXPECT_EQ(writers.Get().size(), 1U);
}

TEST(HttpClientTest, KeepsConnectionsAlive) {
  RawServer peer([](RawSocket& socket, int) {
    while (!socket.ReadRequest().empty()) socket.Write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(SendAndWait(*client, {"POST", "/", {}, "x"}).ok());
  EXPECT_EQ(peer.connections(), 1);
}

TEST(HttpClientTest, OldIdleConnectionIsNotUsedAgain) {
  Watched<bool> has_closed;
  RawServer peer([&](RawSocket& socket, int) {
    while (!socket.ReadRequest().empty()) socket.Write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    has_closed.Update([](bool& b) { b = true; });
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url(), {.keep_alive_idle = std::chrono::milliseconds(5)});
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  EXPECT_TRUE(has_closed.WaitFor([](bool b) { return b; }));
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  EXPECT_EQ(peer.connections(), 2);
}

TEST(HttpClientTest, RespectsConnectionClose) {
  RawServer peer([](RawSocket& socket, int) {
    socket.ReadRequest();
    socket.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    socket.ReadToEnd();  // The client closes first.
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(SendAndWait(*client, {"POST", "/"}).ok());
  EXPECT_EQ(peer.connections(), 3);
}

TEST(HttpClientTest, BytesThatNobodyAskedForEndTheConnection) {
  RawServer peer([](RawSocket& socket, int) {
    socket.ReadRequest();
    socket.Write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
    socket.ReadToEnd();
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url());
  for (int i = 0; i < 3; ++i) {
    const auto response = SendAndWait(*client, {"GET", "/"});
    ASSERT_TRUE(response.ok());
    EXPECT_EQ(response->body, "");
  }
}

TEST(HttpClientTest, PostDoesNotMeetAConnectionThatThePeerHasClosed) {
  Watched<int> closed;
  RawServer peer([&](RawSocket& socket, int) {
    socket.ReadRequest();
    socket.Write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    socket.Close();
    closed.Update([](int& n) { ++n; });
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url());
  for (int i = 1; i <= 10; ++i) {
    const auto response = SendAndWait(*client, {"POST", "/", {}, "x"});
    ASSERT_TRUE(response.ok()) << response.error().message;
    // The end has reached this machine's own loopback; whether the client's loop has seen it is what the test is about.
    ASSERT_TRUE(closed.WaitFor([i](int n) { return n == i; }));
  }
  EXPECT_EQ(peer.connections(), 10);
}

// The peer takes the second request of a connection and closes without a word: the first connection does so.
TEST(HttpClientTest, StaleConnection) {
  struct Case {
    std::string method;
    bool is_repeated;
  };
  for (const Case& c : {Case{"GET", true}, Case{"HEAD", true}, Case{"POST", false}, Case{"DELETE", false}}) {
    std::atomic<int> requests{0};
    RawServer peer([&](RawSocket& socket, int connection) {
      for (int i = 0; !socket.ReadRequest().empty(); ++i) {
        ++requests;
        if (connection == 0 && i == 1) return;
        socket.Write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      }
    });
    IoContext io;
    const auto client = MakeClient(io, peer.url());
    ASSERT_TRUE(SendAndWait(*client, {c.method, "/1"}).ok());
    const auto response = SendAndWait(*client, {c.method, "/2"});
    EXPECT_EQ(response.ok(), c.is_repeated) << c.method;
    EXPECT_EQ(requests.load(), c.is_repeated ? 3 : 2) << c.method;
    if (!response.ok()) {
      EXPECT_TRUE(response.error().outcome_unknown) << c.method;
      EXPECT_THAT(response.error().message, EndsWith(": the connection was closed before an answer came"));
    }
  }
}

TEST(HttpClientTest, RepeatsAreBounded) {
  RawServer peer([](RawSocket& socket, int connection) {
    socket.ReadRequest();
    if (connection == 0) socket.Write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    if (connection == 0) socket.ReadRequest();
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url());
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/1"}).ok());
  EXPECT_FALSE(SendAndWait(*client, {"GET", "/2"}).ok());
  EXPECT_EQ(peer.connections(), 2);
}

TEST(HttpClientTest, FirstComeFirstServed) {
  IoContext io;
  Watched<std::vector<std::string>> seen;
  const auto server = MakeServer(io, [&](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    seen.Update([&](auto& all) { all.push_back(request.target); });
    writer->Send({200});
  });
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1});
  std::vector<std::string> want;
  Watched<int> answered;
  for (int i = 0; i < 100; ++i) {
    want.push_back("/" + std::to_string(i));
    client->Send({"GET", want.back()}, {}, [&](Expected<Response> response) {
      EXPECT_TRUE(response.ok());
      answered.Update([](int& n) { ++n; });
    });
  }
  ASSERT_TRUE(answered.WaitFor([](int n) { return n == 100; }));
  EXPECT_EQ(seen.Get(), want);
}

TEST(HttpClientTest, ManyAtOnceFromManyThreads) {
  IoContext io(2);
  const auto server = MakeServer(io, Echo);
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 8});
  Watched<int> answered;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 250; ++i) {
        const std::string target = "/" + std::to_string(t) + "/" + std::to_string(i);
        client->Send({"POST", target, {}, "b"}, {}, [&, target](Expected<Response> response) {
          ASSERT_TRUE(response.ok()) << response.error().message;
          EXPECT_THAT(response->body, StartsWith("POST " + target + "\n"));
          answered.Update([](int& n) { ++n; });
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(answered.WaitFor([](int n) { return n == 1000; }));
}

TEST(HttpClientTest, QueueIsBounded) {
  IoContext io;
  Writers writers;
  const auto server = MakeWaitingServer(io, writers);
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1, .queued_requests_max = 2});
  Watched<int> ok;
  const auto count = [&](Expected<Response> response) {
    if (response.ok()) ok.Update([](int& n) { ++n; });
  };
  client->Send({"GET", "/"}, {}, count);
  ASSERT_TRUE(writers.WaitFor([](const auto& all) { return all.size() == 1; }));
  client->Send({"GET", "/"}, {}, count);
  client->Send({"GET", "/"}, {}, count);
  const auto refused = SendAndWait(*client, {"GET", "/"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyRequests);
  EXPECT_THAT(refused.error().message, EndsWith(": 2 requests wait for a connection already"));
  EXPECT_FALSE(refused.error().outcome_unknown);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(writers.WaitFor([i](const auto& all) { return all.size() == i + 1; }));
    writers.Get()[i]->Send({200});
  }
  EXPECT_TRUE(ok.WaitFor([](int n) { return n == 3; }));
}

TEST(HttpClientTest, AnswerBeforeTheRequestIsSent) {
  IoContext io;
  const auto server = MakeServer(io, Echo, {.request_body_bytes_max = 1000});
  const auto client = MakeClient(io, "http://" + server->address());
  const auto response = SendAndWait(*client, {"POST", "/", {}, std::string(std::size_t{8} << 20, 'x')});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 413);
  const auto next = SendAndWait(*client, {"POST", "/", {}, "x"});
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->status, 200);
}

TEST(HttpClientTest, DestructionCancels) {
  IoContext io;
  Writers writers;
  const auto server = MakeWaitingServer(io, writers);
  auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1});
  std::vector<Error> errors;  // Written on the loop, read when the client has gone: no callback comes later.
  const auto record = [&](Expected<Response> response) { errors.push_back(response.error()); };
  client->Send({"POST", "/"}, {}, record);
  ASSERT_TRUE(writers.WaitFor([](const auto& all) { return all.size() == 1; }));
  client->Send({"POST", "/"}, {}, record);
  client.reset();
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].code, ErrorCode::kCancelled);
  EXPECT_FALSE(errors[0].outcome_unknown);
  EXPECT_EQ(errors[1].code, ErrorCode::kCancelled);
  EXPECT_TRUE(errors[1].outcome_unknown);
}

TEST(HttpClientTest, CallbacksMaySendAgainAndDestroy) {
  IoContext io;
  const auto server = MakeServer(io, Echo);
  auto client = MakeClient(io, "http://" + server->address());
  Transport* const raw = client.get();
  std::promise<void> is_done;
  client->Send({"GET", "/1"}, {}, [&](Expected<Response> first) {
    ASSERT_TRUE(first.ok());
    client->Send({"GET", "/2"}, {}, [&](Expected<Response> second) {
      ASSERT_TRUE(second.ok());
      client->Send({"GET", "/3"}, {}, [&](Expected<Response> third) {
        ASSERT_FALSE(third.ok());
        EXPECT_EQ(third.error().code, ErrorCode::kCancelled);
        raw->Send({"GET", "/4"}, {}, [](Expected<Response>) { FAIL() << "sent to a closing client"; });
      });
      client.reset();
      is_done.set_value();
    });
  });
  ASSERT_EQ(is_done.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(HttpClientTest, AfterStopCallbacksAreDropped) {
  auto io = std::make_unique<IoContext>();
  Watched<int> requests;
  std::vector<std::shared_ptr<ResponseWriter>> writers;
  auto server = MakeServer(*io, [&](const Request&, std::shared_ptr<ResponseWriter> writer) {
    writers.push_back(std::move(writer));
    requests.Update([](int& n) { ++n; });
  });
  auto client = MakeClient(*io, "http://" + server->address());
  StreamRecorder recorder;
  auto stream = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
  client->Send({"GET", "/"}, {}, [](Expected<Response>) { FAIL(); });
  ASSERT_TRUE(requests.WaitFor([](int n) { return n == 2; }));
  io->Stop();
  client->Send({"GET", "/"}, {}, [](Expected<Response>) { FAIL(); });
  client.reset();
  server.reset();
  io.reset();
  stream.reset();
  EXPECT_TRUE(recorder.log.Get().ends.empty());
  writers.clear();  // Writers may outlive everything.
}

}  // namespace
}  // namespace berth::net
