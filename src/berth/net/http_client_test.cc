#include "berth/net/http_client.h"

#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "berth/net/test_peers.h"

namespace berth::net {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<Transport> MakeClient(IoContext& io, const std::string& url, HttpClientOptions options = {}) {
  options.base_url = url;
  auto client = MakeHttpClient(io, std::move(options));
  BERTH_CHECK(client.ok(), client.ok() ? "" : client.error().message);
  return std::move(client).value();
}

std::unique_ptr<HttpServer> MakeServer(IoContext& io, Handler handler, HttpServerOptions options = {}) {
  auto server = StartHttpServer(io, std::move(options), std::move(handler));
  BERTH_CHECK(server.ok(), server.ok() ? "" : server.error().message);
  return std::move(server).value();
}

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
  HttpServerOptions options;
  options.request_body_bytes_max = std::size_t{32} << 20;
  const auto server = MakeServer(
      io,
      [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
        writer->Send({200, {}, request.body});
      },
      options);
  const auto client = MakeClient(io, "http://" + server->address());
  std::string body;
  for (int i = 0; body.size() < (std::size_t{5} << 20); ++i) body += std::to_string(i);
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

TEST(HttpClientTest, TimeoutInFlightAndQueued) {
  IoContext io;
  Watched<std::vector<std::shared_ptr<ResponseWriter>>> writers;
  const auto server = MakeServer(io, [&](const Request&, std::shared_ptr<ResponseWriter> writer) {
    writers.Update([&](auto& all) { all.push_back(std::move(writer)); });
  });
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1});
  Watched<std::vector<Error>> errors;
  const auto record = [&](Expected<Response> response) {
    ASSERT_FALSE(response.ok());
    errors.Update([&](auto& all) { all.push_back(response.error()); });
  };
  client->Send({"POST", "/1"}, {.timeout = std::chrono::milliseconds(200)}, record);
  ASSERT_TRUE(writers.WaitFor([](const auto& all) { return all.size() == 1; }));
  client->Send({"POST", "/2"}, {.timeout = std::chrono::milliseconds(20)}, record);
  ASSERT_TRUE(errors.WaitFor([](const auto& all) { return all.size() == 2; }));
  const auto all = errors.Get();
  EXPECT_EQ(all[0].code, ErrorCode::kTimeout);
  EXPECT_THAT(all[0].message, EndsWith(": no free connection within 20ms, nothing was sent"));
  EXPECT_FALSE(all[0].outcome_unknown);
  EXPECT_EQ(all[1].code, ErrorCode::kTimeout);
  EXPECT_THAT(all[1].message, EndsWith(": no answer within 200ms"));
  EXPECT_TRUE(all[1].outcome_unknown);

  // The connection with the late answer is not used again; the next request gets its own.
  const auto next = std::make_shared<std::promise<int>>();
  client->Send({"GET", "/3"}, {},
               [next](Expected<Response> response) { next->set_value(response.ok() ? response->status : 0); });
  ASSERT_TRUE(writers.WaitFor([](const auto& waiting) { return waiting.size() == 2; }));
  writers.Get()[0]->Send({200});
  writers.Get()[1]->Send({202});
  EXPECT_EQ(next->get_future().get(), 202);
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
  Watched<std::vector<std::shared_ptr<ResponseWriter>>> writers;
  const auto server = MakeServer(io, [&](const Request&, std::shared_ptr<ResponseWriter> writer) {
    writers.Update([&](auto& all) { all.push_back(std::move(writer)); });
  });
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
  Watched<std::vector<std::shared_ptr<ResponseWriter>>> writers;
  const auto server = MakeServer(io, [&](const Request&, std::shared_ptr<ResponseWriter> writer) {
    writers.Update([&](auto& all) { all.push_back(std::move(writer)); });
  });
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

// ---- Stream ----

TEST(HttpStreamTest, BytesComeAsTheyAreWritten) {
  IoContext io;
  std::promise<std::shared_ptr<ResponseWriter>> promise;
  const auto server = MakeServer(io, [&](const Request& request, std::shared_ptr<ResponseWriter> writer) {
    EXPECT_EQ(request.target, "/watch?x=y");
    writer->StartStream({200, {{"Content-Type", "application/json"}}, ""});
    promise.set_value(std::move(writer));
  });
  const auto client = MakeClient(io, "http://" + server->address());
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "/watch?x=y"}, {}, recorder.Callbacks());
  const auto writer = promise.get_future().get();
  ASSERT_TRUE(recorder.log.WaitFor([](const StreamLog& log) { return log.heads.size() == 1; }));
  EXPECT_EQ(recorder.log.Get().heads[0].Get("content-type"), "application/json");
  std::string want;
  for (const char* event : {"one\n", "two\n", "three\n"}) {
    EXPECT_TRUE(writer->Write(event));
    want += event;
    ASSERT_TRUE(recorder.log.WaitFor([&](const StreamLog& log) { return log.bytes == want; }));
  }
  writer->End();
  const StreamLog log = recorder.WaitForEnd();
  EXPECT_TRUE(log.ends[0].ok());
  EXPECT_EQ(log.ends.size(), 1U);
}

TEST(HttpStreamTest, Endings) {
  struct Case {
    std::string name;
    std::string answer;
    int status;
    std::string bytes;
    std::string head_body;
    std::string error;  // empty: a proper end
    ErrorCode code = ErrorCode::kUnavailable;
  };
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::vector<Case> cases = {
      {"chunks", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200, "abc", "", ""},
      {"length", head + "Content-Length: 3\r\n\r\nabc", 200, "abc", "", ""},
      {"empty", head + "Content-Length: 0\r\n\r\n", 200, "", "", ""},
      {"until close", head + "\r\nabc", 200, "abc", "", ""},
      {"after an interim answer", "HTTP/1.1 100 Continue\r\n\r\n" + head + "Content-Length: 3\r\n\r\nabc", 200, "abc",
       "", ""},
      {"refused with a body", "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\nGone", 410, "", "Gone", ""},
      {"refused in chunks", "HTTP/1.1 403 F\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nn\r\n1\r\no\r\n0\r\n\r\n", 403,
       "", "no", ""},
      {"cut in a chunk", head + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", 200, "abc", "",
       ": the stream was cut short"},
      {"cut between chunks", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 200, "abc", "",
       ": the stream was cut short"},
      {"cut in its length", head + "Content-Length: 10\r\n\r\nabc", 200, "abc", "", ": the stream was cut short"},
      {"cut in the head", "HTTP/1.1 200", 0, "", "", ": the answer was cut short"},
      {"closed", "", 0, "", "", ": the connection was closed before an answer came"},
      {"garbage", "hello\r\n\r\n", 0, "", "", " answered something that is not HTTP", ErrorCode::kInternal},
      {"garbage for a chunk", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nhello\r\n", 200, "abc", "",
       " answered something that is not HTTP", ErrorCode::kInternal},
  };
  for (const Case& c : cases) {
    RawServer peer([&](RawSocket& socket, int) {
      socket.ReadRequest();
      socket.Write(c.answer);
    });
    IoContext io;
    const auto client = MakeClient(io, peer.url());
    StreamRecorder recorder;
    const auto stream = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
    const StreamLog log = recorder.WaitForEnd();
    ASSERT_EQ(log.ends.size(), 1U) << c.name;
    ASSERT_EQ(log.heads.size(), c.status == 0 ? 0U : 1U) << c.name;
    if (c.status != 0) {
      EXPECT_EQ(log.heads[0].status, c.status) << c.name;
      EXPECT_EQ(log.heads[0].body, c.head_body) << c.name;
    }
    EXPECT_EQ(log.bytes, c.bytes) << c.name;
    EXPECT_EQ(log.ends[0].ok(), c.error.empty()) << c.name;
    if (!log.ends[0].ok()) {
      EXPECT_THAT(log.ends[0].error().message, StartsWith("127.0.0.1:" + std::to_string(peer.port()) + c.error))
          << c.name;
      EXPECT_EQ(log.ends[0].error().code, c.code) << c.name;
    }
  }
}

TEST(HttpStreamTest, LongRefusalIsShortened) {
  RawServer peer([](RawSocket& socket, int) {
    socket.ReadRequest();
    socket.Write("HTTP/1.1 500 E\r\nContent-Length: 3000000\r\n\r\n" + std::string(3'000'000, 'a'));
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url());
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
  const StreamLog log = recorder.WaitForEnd();
  EXPECT_TRUE(log.ends[0].ok());
  EXPECT_EQ(log.heads[0].body.size(), std::size_t{1} << 20);
}

TEST(HttpStreamTest, ConnectionRefused) {
  IoContext io;
  const std::string where = "127.0.0.1:" + std::to_string(ClosedPort());
  const auto client = MakeClient(io, "http://" + where);
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
  EXPECT_EQ(recorder.WaitForEnd().ends[0].error().message, "dial tcp " + where + ": connection refused");
}

TEST(HttpStreamTest, InvalidRequest) {
  IoContext io;
  const auto client = MakeClient(io, "http://127.0.0.1:" + std::to_string(ClosedPort()));
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "a b"}, {}, recorder.Callbacks());
  EXPECT_EQ(recorder.WaitForEnd().ends[0].error().code, ErrorCode::kInvalid);
}

TEST(HttpStreamTest, Timeouts) {
  struct Case {
    std::string name;
    std::string answer;
    StreamOptions options;
    std::string want;
  };
  const auto never = std::chrono::hours(1);
  const auto soon = std::chrono::milliseconds(30);
  const std::vector<Case> cases = {
      {"head", "", {.head_timeout = soon, .idle_timeout = never}, ": no answer within 30ms"},
      {"half a head", "HTTP/1.1 200 OK\r\n", {.head_timeout = soon, .idle_timeout = never}, ": no answer within 30ms"},
      {"refusal without its body",
       "HTTP/1.1 410 Gone\r\nContent-Length: 5\r\n\r\n",
       {.head_timeout = soon, .idle_timeout = never},
       ": no answer within 30ms"},
      {"silence",
       "HTTP/1.1 200 OK\r\n\r\nabc",
       {.head_timeout = never, .idle_timeout = soon},
       ": the stream was silent for 30ms"},
  };
  for (const Case& c : cases) {
    RawServer peer([&](RawSocket& socket, int) {
      socket.ReadRequest();
      socket.Write(c.answer);
      socket.ReadToEnd();
    });
    IoContext io;
    const auto client = MakeClient(io, peer.url());
    StreamRecorder recorder;
    const auto stream = client->Stream({"GET", "/"}, c.options, recorder.Callbacks());
    const StreamLog log = recorder.WaitForEnd();
    ASSERT_FALSE(log.ends[0].ok()) << c.name;
    EXPECT_EQ(log.ends[0].error().code, ErrorCode::kTimeout) << c.name;
    EXPECT_THAT(log.ends[0].error().message, EndsWith(c.want)) << c.name;
  }
}

// A server that writes without end, as long as somebody listens.
class Fountain {
 public:
  explicit Fountain(IoContext& io) : io_(io) {
    server_ = MakeServer(io, [this](const Request&, std::shared_ptr<ResponseWriter> writer) {
      writer->OnClosed([this] { closed.Update([](int& n) { ++n; }); });
      writer->StartStream({200});
      Pour(std::move(writer));
    });
  }

  std::string url() const { return "http://" + server_->address(); }

  Watched<int> closed;

 private:
  void Pour(std::shared_ptr<ResponseWriter> writer) {
    if (writer->Write(std::string(1000, 'x'))) io_.Post([this, writer] { Pour(writer); });
  }

  IoContext& io_;
  std::unique_ptr<HttpServer> server_;
};

TEST(HttpStreamTest, CancelFromACallback) {
  IoContext server_io;
  Fountain fountain(server_io);
  IoContext io;
  const auto client = MakeClient(io, fountain.url());
  for (const std::string where : {"head", "bytes"}) {
    std::promise<std::unique_ptr<StreamHandle>> promise;
    auto handle = promise.get_future().share();
    std::atomic<int> calls_after{0};
    std::atomic<bool> is_cancelled{false};
    const auto cancel = [&] {
      calls_after += is_cancelled ? 1 : 0;
      handle.get()->Cancel();
      is_cancelled = true;
    };
    StreamCallbacks callbacks;
    callbacks.on_head = [&](const Response&) {
      if (where == "head") cancel();
    };
    callbacks.on_bytes = [&](std::string_view) { cancel(); };
    callbacks.on_end = [&](Expected<void>) { ++calls_after; };
    promise.set_value(client->Stream({"GET", "/"}, {}, std::move(callbacks)));
    const int closed = where == "head" ? 1 : 2;
    EXPECT_TRUE(fountain.closed.WaitFor([&](int n) { return n == closed; })) << where;
    // Cancel closes from the loop, so by now nothing of the stream is left there.
    EXPECT_EQ(calls_after, 0) << where;
  }
}

TEST(HttpStreamTest, NoCallbackStartsAfterCancelFromAnotherThread) {
  IoContext server_io;
  Fountain fountain(server_io);
  IoContext io;
  const auto client = MakeClient(io, fountain.url());
  for (int round = 1; round <= 20; ++round) {
    std::atomic<bool> is_cancelled{false};
    std::atomic<bool> was_late{false};
    Watched<int> calls;
    const auto call = [&] {
      if (is_cancelled) was_late = true;
      calls.Update([](int& n) { ++n; });
    };
    auto stream = client->Stream(
        {"GET", "/"}, {},
        {[&](const Response&) { call(); }, [&](std::string_view) { call(); }, [&](Expected<void>) { call(); }});
    ASSERT_TRUE(calls.WaitFor([&](int n) { return n > round % 3; }));
    if (round % 2 == 0) {
      stream->Cancel();
    } else {
      stream.reset();
    }
    is_cancelled = true;
    ASSERT_TRUE(fountain.closed.WaitFor([&](int n) { return n == round; }));
    EXPECT_FALSE(was_late);
  }
}

TEST(HttpStreamTest, CancelBeforeAnythingHappened) {
  IoContext io;
  const auto client = MakeClient(io, "http://127.0.0.1:" + std::to_string(ClosedPort()));
  for (int i = 0; i < 50; ++i) {
    StreamRecorder recorder;
    auto stream = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
    stream->Cancel();
    stream->Cancel();
    stream.reset();
  }
}

TEST(HttpStreamTest, NothingIsReadWhileACallbackRuns) {
  // More than the sockets' own buffers hold, on any machine.
  constexpr std::size_t kBytesMax = std::size_t{256} << 20;
  Watched<std::size_t> taken;
  RawServer peer([&](RawSocket& socket, int) {
    socket.ReadRequest();
    const timeval patience{0, 200'000};
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    socket.Write("HTTP/1.1 200 OK\r\n\r\n");
    const std::string bytes(std::size_t{1} << 20, 'x');
    std::size_t sum = 0;
    while (sum < kBytesMax) {
      const auto sent = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      sum += static_cast<std::size_t>(sent);
    }
    taken.Update([sum](std::size_t& n) { n = sum; });
  });
  IoContext io;
  const auto client = MakeClient(io, peer.url());
  std::latch may_go_on(1);
  std::atomic<std::size_t> received{0};
  Watched<bool> has_ended;
  StreamCallbacks callbacks;
  callbacks.on_bytes = [&](std::string_view bytes) {
    may_go_on.wait();
    received += bytes.size();
  };
  callbacks.on_end = [&](Expected<void> end) {
    EXPECT_TRUE(end.ok());
    has_ended.Update([](bool& b) { b = true; });
  };
  const auto stream = client->Stream({"GET", "/"}, {}, std::move(callbacks));
  EXPECT_TRUE(taken.WaitFor([](std::size_t n) { return n > 0; }));
  EXPECT_LT(taken.Get(), kBytesMax);
  may_go_on.count_down();
  EXPECT_TRUE(has_ended.WaitFor([](bool b) { return b; }));
  EXPECT_EQ(received.load(), taken.Get());
}

TEST(HttpStreamTest, ClientDestructionEndsStreams) {
  IoContext server_io;
  Fountain fountain(server_io);
  IoContext io;
  auto client = MakeClient(io, fountain.url());
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "/"}, {}, recorder.Callbacks());
  ASSERT_TRUE(recorder.log.WaitFor([](const StreamLog& log) { return !log.bytes.empty(); }));
  client.reset();
  const StreamLog log = recorder.log.Get();
  ASSERT_EQ(log.ends.size(), 1U);
  EXPECT_EQ(log.ends[0].error().code, ErrorCode::kCancelled);
  stream->Cancel();
}

TEST(HttpStreamTest, ClientMayBeDestroyedInAStreamCallback) {
  IoContext server_io;
  Fountain fountain(server_io);
  IoContext io;
  auto client = MakeClient(io, fountain.url());
  std::promise<std::unique_ptr<StreamHandle>> promise;
  auto handle = promise.get_future().share();
  Watched<std::vector<ErrorCode>> ends;
  promise.set_value(client->Stream(
      {"GET", "/"}, {},
      {.on_bytes =
           [&](std::string_view) {
             handle.get();
             client.reset();
           },
       .on_end = [&](Expected<void> end) { ends.Update([&](auto& all) { all.push_back(end.error().code); }); }}));
  ASSERT_TRUE(ends.WaitFor([](const auto& all) { return !all.empty(); }));
  ASSERT_TRUE(fountain.closed.WaitFor([](int n) { return n == 1; }));
  EXPECT_THAT(ends.Get(), ElementsAre(ErrorCode::kCancelled));
}

TEST(HttpStreamTest, StreamsAreNotCountedAsConnections) {
  IoContext server_io;
  Fountain fountain(server_io);
  IoContext io;
  const auto server = MakeServer(io, [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    if (request.target == "/") {
      writer->Send({200});
      return;
    }
    writer->StartStream({200});
    writer->End();
  });
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1});
  std::vector<std::unique_ptr<StreamHandle>> streams;
  StreamRecorder recorder;
  for (int i = 0; i < 5; ++i) streams.push_back(client->Stream({"GET", "/stream"}, {}, recorder.Callbacks()));
  EXPECT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  EXPECT_TRUE(recorder.log.WaitFor([](const StreamLog& log) { return log.ends.size() == 5; }));
}

}  // namespace
}  // namespace berth::net
