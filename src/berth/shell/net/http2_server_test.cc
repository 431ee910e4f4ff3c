// SPDX-License-Identifier: Apache-2.0
// HTTP/2, as the server speaks it with clients that offer it.
#include <algorithm>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/http_server.h"
#include "berth/shell/net/test_certificates.h"
#include "berth/shell/net/test_http2_client.h"
#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Certificate& ServerCertificate() {
  static const Certificate certificate({.names = {"IP:127.0.0.1"}});
  return certificate;
}

std::unique_ptr<HttpServer> MakeTlsServer(IoContext& io, Handler handler, HttpServerOptions options = {}) {
  if (!options.tls) options.tls.emplace();
  options.tls->certificate_chain_pem = ServerCertificate().pem();
  options.tls->private_key_pem = ServerCertificate().key_pem();
  return MakeServer(io, std::move(handler), std::move(options));
}

// `connections` counts those that the client makes.
std::unique_ptr<Transport> MakeCountingClient(IoContext& io, const HttpServer& server, std::atomic<int>& connections) {
  HttpClientOptions options;
  options.tls.emplace();
  options.tls->ca_pem = ServerCertificate().pem();
  options.tls->client_certificate_pem = [&connections]() -> Expected<std::pair<std::string, std::string>> {
    ++connections;
    return std::pair<std::string, std::string>();
  };
  return MakeClient(io, "https://" + server.address(), std::move(options));
}

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

void Answer(const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
  writer->Send(
      {200, {}, request.method + ' ' + request.target + ' ' + std::string(request.Get("X-Test")) + request.body});
}

TEST(Http2ServerTest, AnswersAreThoseOfHttp1) {
  IoContext io;
  const auto server = MakeTlsServer(io, [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    const std::string& target = request.target;
    if (target == "/echo") Answer(request, writer);
    if (target == "/host") writer->Send({200, {}, std::string(request.Get("Host"))});
    if (target == "/none") writer->Send({204});
    if (target == "/header") writer->Send({201, {{"A", "b\r\nEvil: 1"}, {"Content-Length", "9"}, {"B c", "d"}}, "x"});
    if (target == "/stream") {
      writer->StartStream({200, {{"T", "j"}}, "first"});
      EXPECT_TRUE(writer->Write(""));
      EXPECT_TRUE(writer->Write("0123456789abcdef"));
      writer->End();
    }
    if (target == "/empty-stream") {
      writer->StartStream({200});
      writer->End();
    }
    // "/dropped": nobody answers.
    if (target == "/cut") {
      writer->StartStream({200});
      EXPECT_TRUE(writer->Write("abc"));
    }
    if (target == "/aborted") {
      writer->StartStream({200, {}, "abc"});
      writer->Abort();
    }
  });
  Http2TestConnection connection(server->port());
  ASSERT_EQ(connection.protocol(), "h2");
  struct Case {
    std::string name;
    Request request;
    int status;
    std::string body;
    std::string headers;
    std::uint32_t code = 0;  // of the reset
  };
  const std::vector<Case> cases = {
      {"get", {"GET", "/echo", {{"X-Test", "1"}}}, 200, "GET /echo 1", "content-length=11;"},
      {"put", {"PUT", "/echo", {}, "abc"}, 200, "PUT /echo abc", "content-length=13;"},
      {"head", {"HEAD", "/echo"}, 200, "", "content-length=11;"},
      {"host", {"GET", "/host", {{"Host", "kube:1"}}}, 200, "kube:1", "content-length=6;"},
      {"no content", {"GET", "/none"}, 204, "", ""},
      {"header values cannot break out", {"GET", "/header"}, 201, "x", "a=b  Evil: 1;content-length=1;"},
      {"stream", {"GET", "/stream"}, 200, "first0123456789abcdef", "t=j;"},
      {"stream for HEAD", {"HEAD", "/stream"}, 200, "", "t=j;"},
      {"stream without a byte", {"GET", "/empty-stream"}, 200, "", ""},
      {"dropped",
       {"GET", "/dropped"},
       500,
       "the request's handler gave no answer\n",
       "content-type=text/plain; charset=utf-8;content-length=37;"},
      // An incomplete answer must not look complete.
      {"cut", {"GET", "/cut"}, 200, "abc", "", 2},
      {"aborted", {"GET", "/aborted"}, 200, "", "", 2},
  };
  for (const Case& c : cases) {
    const std::int32_t stream = connection.client().Submit(c.request);
    const auto& answer = connection.RunUntilClosed(stream);
    EXPECT_EQ(answer.code, c.code) << c.name;
    EXPECT_EQ(answer.has_ended, c.code == 0) << c.name;
    if (c.code != 0) continue;  // What has come before the reset depends on who was first.
    EXPECT_EQ(answer.response.status, c.status) << c.name;
    EXPECT_EQ(answer.response.body, c.body) << c.name;
    std::string headers;
    for (const Header& header : answer.response.headers) headers += header.name + '=' + header.value + ';';
    EXPECT_EQ(headers, c.headers) << c.name;
  }
}

TEST(Http2ServerTest, LargeBodiesBothWays) {
  IoContext io;
  const auto server = MakeTlsServer(io, [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    writer->Send({200, {}, request.body + request.body});
  });
  std::atomic<int> connections{0};
  const auto client = MakeCountingClient(io, *server, connections);
  const std::string body = LargeBody(std::size_t{2} << 20);
  const auto response = SendAndWait(*client, {"POST", "/", {}, body});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, body + body);
  EXPECT_EQ(connections.load(), 1);
}

TEST(Http2ServerTest, ManyAtOnceOnOneConnection) {
  IoContext io;
  IoContext client_io;
  Writers writers;
  const auto server = MakeTlsServer(io, [&](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    if (request.target == "/first") return writer->Send({200});
    writers.Update([&](auto& all) { all.push_back(writer); });
  });
  std::atomic<int> connections{0};
  const auto client = MakeCountingClient(client_io, *server, connections);
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/first"}).ok());
  constexpr std::size_t kRequests = 50;
  Watched<std::size_t> right;
  for (std::size_t i = 0; i < kRequests; ++i) {
    client->Send({"GET", "/"}, {}, [&right](const Expected<Response>& response) {
      right.Update([&](std::size_t& count) { count += response.ok() && response->status == 202 ? 1 : 1'000'000; });
    });
  }
  // All of them are under way before the first is answered, from this thread.
  Wait(writers, kRequests - 1);
  for (const auto& writer : writers.Get()) writer->Send({202, {}, LargeBody(50'000)});
  EXPECT_TRUE(right.WaitFor([](std::size_t count) { return count == kRequests; }));
  EXPECT_EQ(connections.load(), 1);
}

TEST(Http2ServerTest, AWatchBesideQuickRequests) {
  IoContext io;
  IoContext client_io;
  Writers watches;
  Watched<int> closed;
  const auto server = MakeTlsServer(io, [&](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    if (request.target != "/watch") return Answer(request, writer);
    writer->OnClosed([&closed] { closed.Update([](int& count) { ++count; }); });
    writer->StartStream({200, {{"Content-Type", "application/json"}}, {}});
    watches.Update([&](auto& all) { all.push_back(writer); });
  });
  std::atomic<int> connections{0};
  const auto client = MakeCountingClient(client_io, *server, connections);
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  StreamRecorder recorder;
  const auto stream = client->Stream({"GET", "/watch"}, {}, recorder.Callbacks());
  const auto writer = Wait(watches, 0);
  std::string want;
  for (int i = 0; i < 20; ++i) {
    want += "event " + std::to_string(i) + '\n';
    EXPECT_TRUE(writer->Write("event " + std::to_string(i) + '\n'));
    EXPECT_EQ(SendAndWait(*client, {"GET", "/" + std::to_string(i)})->body, "GET /" + std::to_string(i) + ' ');
    ASSERT_TRUE(recorder.log.WaitFor([&](const StreamLog& log) { return log.bytes == want; }));
  }
  EXPECT_EQ(recorder.log.Get().heads[0].Get("content-type"), "application/json");
  writer->End();
  EXPECT_TRUE(recorder.WaitForEnd().ends[0].ok());
  EXPECT_TRUE(closed.WaitFor([](int count) { return count == 1; }));
  EXPECT_EQ(connections.load(), 1);
}

TEST(Http2ServerTest, ASlowReaderHoldsOnlyItsOwnStream) {
  IoContext io;
  Writers slow;
  HttpServerOptions options;
  options.stream_buffer_bytes_max = 200'000;
  const auto server = MakeTlsServer(
      io,
      [&](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
        if (request.target != "/slow") return writer->Send({200, {}, LargeBody(300'000)});
        writer->StartStream({200});
        slow.Update([&](auto& all) { all.push_back(writer); });
      },
      options);
  Http2TestConnection connection(server->port());
  const std::int32_t watch = connection.client().Submit({"GET", "/slow"});
  connection.client().StopReading(watch);
  connection.Flush();
  const auto writer = Wait(slow, 0);
  const std::string event(1000, 'x');
  // The client's window takes 65,535 bytes; what is beyond it waits here.
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(writer->Write(event)) << i;
  const std::int32_t quick = connection.client().Submit({"GET", "/quick"});
  EXPECT_EQ(connection.RunUntilClosed(quick).response.body, LargeBody(300'000));
  ASSERT_TRUE(connection.RunUntil([&] { return connection.client().answer(watch).response.body.size() == 65'535; }));
  EXPECT_EQ(writer->BufferedBytes(), 200'000U - 65'535U);
  // Beyond its bound the stream ends, and no other.
  int written = 0;
  while (written < 1000 && writer->Write(event)) ++written;
  EXPECT_EQ(written, 65);
  EXPECT_EQ(connection.RunUntilClosed(watch).code, 2U);
  const std::int32_t next = connection.client().Submit({"GET", "/quick"});
  EXPECT_TRUE(connection.RunUntilClosed(next).has_ended);
}

TEST(Http2ServerTest, AnAnswerThatIsNotReadIsGivenUp) {
  IoContext io;
  Writers kept;
  Watched<int> closed;
  HttpServerOptions options;
  options.idle_timeout = std::chrono::milliseconds(100);
  const auto server = MakeTlsServer(
      io,
      [&](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
        writer->OnClosed([&closed] { closed.Update([](int& count) { ++count; }); });
        writer->StartStream({200});
        if (request.target == "/loud") {
          EXPECT_TRUE(writer->Write(std::string(100'000, 'x')));
        }
        // A stream may be silent, for as long as it likes.
        kept.Update([&](auto& all) { all.push_back(writer); });
      },
      options);
  Http2TestConnection connection(server->port());
  const std::int32_t silent = connection.client().Submit({"GET", "/silent"});
  const std::int32_t loud = connection.client().Submit({"GET", "/loud"});
  connection.client().StopReading(loud);
  EXPECT_EQ(connection.RunUntilClosed(loud).code, 8U);
  EXPECT_TRUE(closed.WaitFor([](int count) { return count == 1; }));
  EXPECT_FALSE(connection.client().answer(silent).is_closed);
}

TEST(Http2ServerTest, AResetInformsTheWriter) {
  IoContext io;
  Writers writers;
  Watched<int> closed;
  const auto server = MakeTlsServer(io, [&](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
    writer->OnClosed([&closed] { closed.Update([](int& count) { ++count; }); });
    writer->StartStream({200});
    writers.Update([&](auto& all) { all.push_back(writer); });
  });
  Http2TestConnection connection(server->port());
  const std::int32_t stream = connection.client().Submit({"GET", "/"});
  const std::int32_t other = connection.client().Submit({"GET", "/"});
  connection.Flush();
  Wait(writers, 1);
  EXPECT_TRUE(writers.Get()[0]->Write("x"));
  connection.client().Reset(stream);
  connection.Flush();
  ASSERT_TRUE(closed.WaitFor([](int count) { return count == 1; }));
  EXPECT_FALSE(writers.Get()[0]->Write("x"));
  EXPECT_EQ(writers.Get()[0]->BufferedBytes(), 0U);
  EXPECT_TRUE(writers.Get()[1]->Write("y"));
  EXPECT_TRUE(connection.RunUntil([&] { return connection.client().answer(other).response.body == "y"; }));
}

TEST(Http2ServerTest, AClientThatGoesInformsAllWriters) {
  IoContext io;
  Writers writers;
  Watched<int> closed;
  const auto server = MakeTlsServer(io, [&](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
    writer->OnClosed([&closed] { closed.Update([](int& count) { ++count; }); });
    writers.Update([&](auto& all) { all.push_back(writer); });
  });
  {
    Http2TestConnection connection(server->port());
    for (int i = 0; i < 3; ++i) connection.client().Submit({"GET", "/"});
    connection.Flush();
    Wait(writers, 2);
  }
  EXPECT_TRUE(closed.WaitFor([](int count) { return count == 3; }));
  writers.Get()[0]->Send({200});  // nobody hears it
}

TEST(Http2ServerTest, ShutdownSaysGoAway) {
  IoContext io;
  Writers writers;
  auto server = MakeTlsServer(io, KeepIn(writers));
  Http2TestConnection connection(server->port());
  const std::int32_t answered = connection.client().Submit({"GET", "/"});
  const std::int32_t waiting = connection.client().Submit({"GET", "/"});
  connection.Flush();
  Wait(writers, 1)->BufferedBytes();
  writers.Get()[0]->Send({200, {}, "answer"});
  server.reset();
  ASSERT_TRUE(connection.RunUntilEnd());
  EXPECT_TRUE(connection.client().has_goaway());
  EXPECT_EQ(connection.client().goaway_code(), 0U);
  EXPECT_EQ(connection.client().goaway_last(), waiting) << "later requests were not looked at";
  EXPECT_EQ(connection.client().answer(answered).response.body, "answer");
  EXPECT_FALSE(connection.client().answer(waiting).has_ended);
  writers.Get()[1]->Send({200});  // nobody hears it
}

TEST(Http2ServerTest, TheServerMayBeDestroyedByAHandler) {
  IoContext io;
  std::unique_ptr<HttpServer> server;
  Watched<bool> is_gone;
  server = MakeTlsServer(io, [&](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
    server.reset();
    is_gone.Update([](bool& gone) { gone = true; });
    writer->Send({200});
  });
  Http2TestConnection connection(server->port());
  for (int i = 0; i < 3; ++i) connection.client().Submit({"GET", "/"});
  EXPECT_TRUE(connection.RunUntilEnd());
  EXPECT_TRUE(is_gone.WaitFor([](bool gone) { return gone; }));
}

TEST(Http2ServerTest, IdleConnectionsAreClosed) {
  IoContext io;
  HttpServerOptions options;
  options.idle_timeout = std::chrono::milliseconds(50);
  const auto server = MakeTlsServer(io, Answer, options);
  Http2TestConnection connection(server->port());
  const std::int32_t stream = connection.client().Submit({"GET", "/"});
  EXPECT_TRUE(connection.RunUntilClosed(stream).has_ended);
  ASSERT_TRUE(connection.RunUntilEnd());
  EXPECT_TRUE(connection.client().has_goaway());
  EXPECT_EQ(connection.client().goaway_code(), 0U);
  EXPECT_EQ(connection.client().goaway_last(), stream);
}

TEST(Http2ServerTest, RequestsThatDoNotComeWholeAreGivenUp) {
  IoContext io;
  HttpServerOptions options;
  options.request_timeout = std::chrono::milliseconds(50);
  options.idle_timeout = std::chrono::milliseconds(400);  // a tick each 100
  const auto server = MakeTlsServer(io, Answer, options);
  {
    Http2TestConnection connection(server->port());
    const std::int32_t half = connection.client().Submit({"POST", "/", {}, "half"}, false);
    EXPECT_EQ(connection.RunUntilClosed(half).code, 8U);
    const std::int32_t next = connection.client().Submit({"GET", "/"});
    EXPECT_TRUE(connection.RunUntilClosed(next).has_ended);
  }
  // A head that is not complete blocks all other streams.
  Http2TestConnection connection(server->port());
  ASSERT_TRUE(connection.RunUntil([] { return true; }));
  connection.Write(RawFrame(1, 1, 1, kHttp2Get));
  EXPECT_TRUE(connection.RunUntilEnd());
}

TEST(Http2ServerTest, LimitsOfARequest) {
  IoContext io;
  HttpServerOptions options;
  options.request_body_bytes_max = 1000;
  options.header_bytes_max = 2000;
  options.malformed = [](int status, std::string_view message) {
    return Response{status, {}, "malformed: " + std::string(message)};
  };
  const auto server = MakeTlsServer(io, Answer, options);
  Http2TestConnection connection(server->port());
  struct Case {
    std::string name;
    Request request;
    int status;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"long body", {"POST", "/", {}, std::string(1001, 'x')}, 413, "the request's body is longer than 1000 bytes"},
      {"long head", {"GET", "/", {{"a", std::string(2000, 'x')}}}, 431, "the request's head is longer than 2000 bytes"},
      {"expectation", {"POST", "/", {{"Expect", "wonders"}}, "x"}, 417, "only 100-continue is understood"},
  };
  for (const Case& c : cases) {
    const auto& answer = connection.RunUntilClosed(connection.client().Submit(c.request));
    EXPECT_EQ(answer.response.status, c.status) << c.name;
    EXPECT_THAT(answer.response.body, HasSubstr("malformed: ")) << c.name;
    EXPECT_THAT(answer.response.body, HasSubstr(c.message)) << c.name;
  }
  EXPECT_EQ(connection.RunUntilClosed(connection.client().Submit({"GET", "/"})).response.status, 200);
}

TEST(Http2ServerTest, LargeRequestsShareTheirRoom) {
  IoContext io;
  HttpServerOptions options;
  options.requests_bytes_max = 300'000;
  options.request_bytes_each = 10'000;
  options.slow_request_time = std::chrono::hours(1);
  Writers writers;
  const auto server = MakeTlsServer(
      io,
      [&](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
        if (request.target != "/hold") return Answer(request, writer);
        writers.Update([&](auto& all) { all.push_back(writer); });
      },
      options);
  Http2TestConnection connection(server->port());
  // Windows are open after an answer.
  EXPECT_EQ(connection.RunUntilClosed(connection.client().Submit({"GET", "/"})).response.status, 200);
  const std::int32_t large = connection.client().Submit({"POST", "/", {}, std::string(200'000, 'x')}, false);
  connection.Flush();
  connection.client().Ping();
  ASSERT_TRUE(connection.RunUntil([&] { return connection.client().pongs() == 1; }));
  // The one that would go beyond the limit is refused.
  const std::int32_t larger = connection.client().Submit({"POST", "/", {}, std::string(250'000, 'x')}, false);
  const auto& refused = connection.RunUntilClosed(larger);
  EXPECT_EQ(refused.response.status, 429);
  EXPECT_EQ(refused.response.Get("Retry-After"), "1");
  EXPECT_FALSE(connection.client().answer(large).is_closed);
  // Small ones go on, on this connection and on others.
  EXPECT_EQ(connection.RunUntilClosed(connection.client().Submit({"GET", "/"})).response.status, 200);
  Http2TestConnection other(server->port());
  EXPECT_EQ(other.RunUntilClosed(other.client().Submit({"POST", "/", {}, std::string(200'000, 'x')})).response.status,
            429);
  EXPECT_EQ(other.RunUntilClosed(other.client().Submit({"POST", "/", {}, "small"})).response.status, 200);
  connection.client().Reset(large);
  EXPECT_EQ(connection.RunUntilClosed(connection.client().Submit({"GET", "/"})).response.status, 200);
  // Requests that wait for their answers are held, too.
  const std::int32_t waiting = other.client().Submit({"POST", "/hold", {}, std::string(200'000, 'x')});
  other.Flush();
  const auto writer = Wait(writers, 0);
  EXPECT_EQ(other.RunUntilClosed(other.client().Submit({"POST", "/", {}, std::string(200'000, 'x')})).response.status,
            429);
  writer->Send({200});
  EXPECT_EQ(other.RunUntilClosed(waiting).response.status, 200);
  EXPECT_EQ(other.RunUntilClosed(other.client().Submit({"POST", "/", {}, std::string(200'000, 'x')})).response.status,
            200);
}

TEST(Http2ServerTest, AnswersThatAreNotReadShareTheirRoom) {
  IoContext io;
  HttpServerOptions options;
  options.answers_bytes_max = 1'000'000;
  options.slow_request_time = std::chrono::hours(1);
  const auto server = MakeTlsServer(
      io,
      [](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
        writer->Send({200, {}, std::string(request.target == "/small" ? 10'000 : 600'000, 'x')});
      },
      options);
  Http2TestConnection connection(server->port());
  const std::int32_t slow = connection.client().Submit({"GET", "/"});
  connection.client().StopReading(slow);
  ASSERT_TRUE(connection.RunUntil([&] { return connection.client().answer(slow).response.body.size() == 65'535; }));
  const auto& refused = connection.RunUntilClosed(connection.client().Submit({"GET", "/"}));
  EXPECT_EQ(refused.response.status, 429);
  EXPECT_EQ(refused.response.Get("Retry-After"), "1");
  EXPECT_EQ(connection.RunUntilClosed(connection.client().Submit({"GET", "/small"})).response.status, 200);
  connection.client().ReadOn(slow);
  EXPECT_EQ(connection.RunUntilClosed(slow).response.body.size(), 600'000U);
  EXPECT_EQ(connection.RunUntilClosed(connection.client().Submit({"GET", "/"})).response.status, 200);
}

// What a client resets may still be worked on: it is counted, as its resets cost the client next to nothing.
TEST(Http2ServerTest, RapidResetsAreBounded) {
  IoContext io;
  Writers writers;
  Watched<int> closed;
  HttpServerOptions options;
  options.streams_max = 5;
  const auto server = MakeTlsServer(
      io,
      [&](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
        writer->OnClosed([&closed] { closed.Update([](int& count) { ++count; }); });
        writers.Update([&](auto& all) { all.push_back(writer); });
      },
      options);
  Http2TestConnection connection(server->port());
  Http2TestClient& client = connection.client();
  for (int i = 0; i < 5; ++i) {
    const std::int32_t stream = client.Submit({"GET", "/"});
    connection.Flush();
    Wait(writers, static_cast<std::size_t>(i));
    client.Reset(stream);
    connection.Flush();
    ASSERT_TRUE(closed.WaitFor([i](int count) { return count == i + 1; }));
  }
  const std::int32_t refused = client.Submit({"GET", "/"});
  EXPECT_EQ(connection.RunUntilClosed(refused).code, 7U) << "it may be sent again";
  // Handlers that have ended count no more.
  writers.Update([](auto& all) { all.clear(); });
  const std::int32_t taken = client.Submit({"GET", "/"});
  connection.Flush();
  const auto writer = Wait(writers, 0);
  writer->Send({200});
  EXPECT_TRUE(connection.RunUntilClosed(taken).has_ended);
  EXPECT_FALSE(client.has_goaway());
}

TEST(Http2ServerTest, WhoGoesOnResettingIsDisconnected) {
  IoContext io;
  Writers writers;
  HttpServerOptions options;
  options.streams_max = 2;
  const auto server = MakeTlsServer(io, KeepIn(writers), options);
  Http2TestConnection connection(server->port());
  Http2TestClient& client = connection.client();
  int requests = 0;
  while (requests < 100 && !client.has_goaway()) {
    ++requests;
    const std::int32_t stream = client.Submit({"GET", "/"});
    connection.Flush();
    if (requests <= 2) {
      Wait(writers, static_cast<std::size_t>(requests) - 1);
      client.Reset(stream);
      continue;
    }
    if (!connection.RunUntil([&] { return client.answer(stream).is_closed || client.has_goaway(); })) break;
  }
  EXPECT_EQ(client.goaway_code(), 11U);
  EXPECT_EQ(requests, 2 + 4 * 2 + 1);
  EXPECT_TRUE(connection.RunUntilEnd());
}

TEST(Http2ServerTest, HandlersMayEndTheConnection) {
  IoContext io;
  Writers writers;
  const auto server = MakeTlsServer(io, [&](const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
    if (request.target == "/last") return writer->Send({401, {{"Connection", "close"}}, "last"});
    writers.Update([&](auto& all) { all.push_back(writer); });
  });
  Http2TestConnection connection(server->port());
  const std::int32_t slow = connection.client().Submit({"GET", "/"});
  connection.Flush();
  const auto writer = Wait(writers, 0);
  const std::int32_t last = connection.client().Submit({"GET", "/last"});
  const auto& answer = connection.RunUntilClosed(last);
  EXPECT_EQ(answer.response.body, "last");
  EXPECT_EQ(answer.response.Get("connection"), "");
  ASSERT_TRUE(connection.RunUntil([&] { return connection.client().has_goaway(); }));
  EXPECT_EQ(connection.client().goaway_code(), 0U);
  // What is under way ends first.
  writer->Send({200, {}, "slow"});
  EXPECT_EQ(connection.RunUntilClosed(slow).response.body, "slow");
  EXPECT_TRUE(connection.RunUntilEnd());
}

TEST(Http2ServerTest, OneConnectionTooMany) {
  IoContext io;
  HttpServerOptions options;
  options.connections_max = 1;
  const auto server = MakeTlsServer(io, Answer, options);
  Http2TestConnection first(server->port());
  EXPECT_EQ(first.RunUntilClosed(first.client().Submit({"GET", "/"})).response.status, 200);
  Http2TestConnection second(server->port());
  EXPECT_EQ(second.RunUntilClosed(second.client().Submit({"GET", "/"})).response.status, 503);
  EXPECT_TRUE(second.RunUntilEnd());
  EXPECT_EQ(first.RunUntilClosed(first.client().Submit({"GET", "/"})).response.status, 200);
}

TEST(Http2ServerTest, SilentConnectionsMakeRoom) {
  IoContext io;
  HttpServerOptions options;
  options.connections_max = 1;
  options.ends_silent_connections = true;
  const auto server = MakeTlsServer(io, Answer, options);
  Http2TestConnection first(server->port());
  EXPECT_EQ(first.RunUntilClosed(first.client().Submit({"GET", "/"})).response.status, 200);
  Http2TestConnection second(server->port());
  EXPECT_TRUE(first.RunUntilEnd());
  EXPECT_TRUE(first.client().has_goaway());
  EXPECT_EQ(second.RunUntilClosed(second.client().Submit({"GET", "/"})).response.status, 200);
}

TEST(Http2ServerTest, WhichVersionIsSpoken) {
  struct Case {
    std::string name;
    bool serves_http2;
    Http2TestConnection::Options client;
    std::string want;
  };
  const std::string both = "\x02h2\x08http/1.1";
  const std::vector<Case> cases = {
      {"both", true, {}, "h2"},
      {"HTTP/1.1 first", true, {"\x08http/1.1\x02h2"}, "h2"},
      {"HTTP/1.1 alone", true, {"\x08http/1.1"}, "http/1.1"},
      {"switched off", false, {}, "http/1.1"},
      {"TLS 1.2", true, {both, true, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"}, "h2"},
      // Suites that HTTP/2 forbids.
      {"without AEAD", true, {both, true, "ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384"}, "http/1.1"},
  };
  IoContext io;
  for (const Case& c : cases) {
    HttpServerOptions options;
    options.tls.emplace();
    options.tls->serves_http2 = c.serves_http2;
    const auto server = MakeTlsServer(io, Answer, options);
    EXPECT_EQ(Http2TestConnection(server->port(), c.client).protocol(), c.want) << c.name;
  }
}

TEST(Http2ServerTest, NonsenseEndsTheConnection) {
  IoContext io;
  const auto server = MakeTlsServer(io, Answer);
  Http2TestConnection connection(server->port());
  EXPECT_TRUE(connection.RunUntilClosed(connection.client().Submit({"GET", "/"})).has_ended);
  connection.Write(RawFrame(0, 0, 0, "data of no stream"));
  ASSERT_TRUE(connection.RunUntilEnd());
  EXPECT_TRUE(connection.client().has_goaway());
  EXPECT_EQ(connection.client().goaway_code(), 1U);
}

}  // namespace
}  // namespace berth::net
