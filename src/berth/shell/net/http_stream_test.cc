// SPDX-License-Identifier: Apache-2.0
// Stream() of the HTTP client: answers that are read as they come.
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

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
