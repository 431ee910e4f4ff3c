// SPDX-License-Identifier: Apache-2.0
// The server's side of HTTP/2 in memory, with clients that keep to the protocol and others that do not.
#include "berth/shell/net/http2_server_session.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/test_http2_client.h"

namespace berth::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using std::string_view_literals::operator""sv;
using Event = Http2ServerSession::Event;
using Kind = Http2ServerSession::Event::Kind;

constexpr Http2ServerSession::Time kNow{};
constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kPriority = 2;
constexpr std::uint8_t kReset = 3;
constexpr std::uint8_t kSettings = 4;
constexpr std::uint8_t kPing = 6;
constexpr std::uint8_t kWindowUpdate = 8;
constexpr std::uint8_t kContinuation = 9;
constexpr std::uint8_t kUnknown = 99;
constexpr std::uint8_t kAck = 1;
constexpr std::uint8_t kEndStream = 1;
constexpr std::uint8_t kEndHeaders = 4;

// A session whose answers' bodies a test writes.
class TestServer {
 public:
  struct Body {
    std::string bytes;
    bool is_whole = true;
    std::size_t taken = 0;
  };

  explicit TestServer(Http2ServerSession::Limits limits = {1000, 100'000, 100})
      : session(limits, [this](std::int32_t stream, char* room, std::size_t size) {
          Body& body = bodies[stream];
          const std::size_t taken = body.bytes.copy(room, size, body.taken);
          body.taken += taken;
          return Http2ServerSession::Part{taken, body.is_whole && body.taken == body.bytes.size()};
        }) {}

  bool Feed(std::string_view bytes) {
    const bool is_good = session.Feed(bytes, kNow);
    for (Event& event : session.TakeEvents()) events.push_back(std::move(event));
    return is_good;
  }

  std::string Take() {
    std::string out;
    session.Take(out, std::size_t{1} << 30);
    for (Event& event : session.TakeEvents()) events.push_back(std::move(event));
    return out;
  }

  void Answer(std::int32_t stream, const std::string& body, bool is_whole = true) {
    bodies[stream] = {body, is_whole};
    session.Answer(stream, {200, {}, {}}, is_whole ? std::optional(body.size()) : std::nullopt, true);
  }

  // Exchanges bytes until neither side has more to send.
  void Exchange(Http2TestClient& client) {
    for (;;) {
      const std::string to_server = client.TakeOutput();
      if (!to_server.empty()) {
        ASSERT_TRUE(Feed(to_server)) << session.problem();
      }
      const std::string to_client = Take();
      if (!to_client.empty()) client.Feed(to_client);
      if (to_server.empty() && to_client.empty()) return;
    }
  }

  const Request& request(std::int32_t stream) const {
    for (const Event& event : events) {
      if (event.stream == stream && event.kind == Kind::kRequest) return event.request;
    }
    static const Request none{"none"};
    return none;
  }
  std::vector<std::int32_t> Streams(Kind kind) const {
    std::vector<std::int32_t> streams;
    for (const Event& event : events) {
      if (event.kind == kind) streams.push_back(event.stream);
    }
    return streams;
  }

  std::map<std::int32_t, Body> bodies;
  std::vector<Event> events;
  Http2ServerSession session;
};

// The code of the GOAWAY frame in a server's bytes; -1: there is none.
int GoawayCode(std::string_view out) {
  while (out.size() >= 9) {
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<std::uint8_t>(out[at])); };
    const std::size_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
    if (byte(3) == 7) return static_cast<int>(byte(16));
    out.remove_prefix(std::min(out.size(), 9 + size));
  }
  return -1;
}

TEST(Http2ServerSessionTest, RequestsComeWhole) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t get = client.Submit({"GET", "/a?b=c", {{"Host", "kube"}, {"X-Test", "1"}}});
  const std::int32_t post = client.Submit({"POST", "/", {{"Content-Length", "70000"}}, LargeBody(70'000)});
  const std::int32_t half = client.Submit({"PUT", "/half", {}, "half"}, false);
  server.Exchange(client);
  EXPECT_TRUE(server.session.has_begun());
  EXPECT_EQ(server.request(get).method, "GET");
  EXPECT_EQ(server.request(get).target, "/a?b=c");
  EXPECT_EQ(server.request(get).Get("Host"), "kube");
  EXPECT_EQ(server.request(get).Get("X-Test"), "1");
  EXPECT_EQ(server.request(post).body, LargeBody(70'000));
  EXPECT_THAT(server.Streams(Kind::kRequest), ElementsAre(get, post));
  const auto receiving = server.session.receiving();
  ASSERT_EQ(receiving.size(), 1U);
  EXPECT_EQ(receiving[0].stream, half);
  EXPECT_GE(receiving[0].bytes, 4U);
  EXPECT_TRUE(receiving[0].has_head);
  EXPECT_EQ(server.session.open(), 3U);
}

TEST(Http2ServerSessionTest, Answers) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t get = client.Submit({"GET", "/"});
  const std::int32_t head = client.Submit({"HEAD", "/"});
  const std::int32_t none = client.Submit({"DELETE", "/"});
  server.Exchange(client);
  server.bodies[get] = {LargeBody(300'000)};
  server.session.Answer(get,
                        {201,
                         {{"Content-Type", "text"},
                          {"A", " b\r\nevil: 1 "},
                          {"Connection", "close"},
                          {"Transfer-Encoding", "chunked"},
                          {"Content-Length", "9"},
                          {"B c", "d"}},
                         {}},
                        300'000, true);
  server.session.Answer(head, {200, {}, {}}, 11, true);
  server.session.Answer(none, {204, {}, {}}, std::nullopt, false);
  server.Exchange(client);
  const auto& got = client.answer(get);
  EXPECT_TRUE(got.has_ended);
  EXPECT_EQ(got.response.status, 201);
  EXPECT_EQ(got.response.body, LargeBody(300'000));
  std::string headers;
  for (const Header& header : got.response.headers) headers += header.name + '=' + header.value + ';';
  EXPECT_EQ(headers, "content-type=text;a=b  evil: 1;content-length=300000;");
  EXPECT_TRUE(client.answer(head).has_ended);
  EXPECT_EQ(client.answer(head).response.Get("content-length"), "11");
  EXPECT_EQ(client.answer(head).response.body, "");
  EXPECT_EQ(client.answer(none).response.status, 204);
  EXPECT_THAT(server.Streams(Kind::kClosed), testing::UnorderedElementsAre(get, head, none));
  EXPECT_EQ(server.session.open(), 0U);
  EXPECT_FALSE(server.session.is_dead());
}

TEST(Http2ServerSessionTest, StreamsGoOnWhenThereIsMore) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t watch = client.Submit({"GET", "/"});
  server.Exchange(client);
  server.Answer(watch, "", false);
  server.Exchange(client);
  EXPECT_EQ(client.answer(watch).response.status, 200);
  for (const char* event : {"one\n", "two\n"}) {
    server.bodies[watch].bytes += event;
    server.session.Resume(watch);
    server.Exchange(client);
    EXPECT_EQ(client.answer(watch).response.body, server.bodies[watch].bytes);
  }
  server.bodies[watch].is_whole = true;
  server.session.Resume(watch);
  server.Exchange(client);
  EXPECT_TRUE(client.answer(watch).has_ended);
}

TEST(Http2ServerSessionTest, RefusedRequests) {
  struct Case {
    std::string name;
    Request request;
    int status;
    bool is_whole = true;
  };
  const std::vector<Case> cases = {
      {"long head", {"GET", "/", {{"a", std::string(1000, 'x')}}}, 431},
      // HTTP/2 counts 32 bytes for each header besides its texts.
      {"many headers", {"GET", "/", std::vector<Header>(27, Header{"a", "b"})}, 431},
      {"long body", {"POST", "/", {}, std::string(100'001, 'x')}, 413},
      {"long body that goes on", {"POST", "/", {}, std::string(100'001, 'x')}, 413, false},
      {"unknown expectation", {"POST", "/", {{"Expect", "wonders"}}, "x"}, 417},
      {"no ASCII in the path", {"GET", "/\xc3\xa4"}, 400},
  };
  for (const Case& c : cases) {
    TestServer server;
    Http2TestClient client;
    const std::int32_t stream = client.Submit(c.request, c.is_whole);
    server.Exchange(client);
    ASSERT_THAT(server.Streams(Kind::kRefused), ElementsAre(stream)) << c.name;
    EXPECT_THAT(server.Streams(Kind::kRequest), IsEmpty()) << c.name;
    EXPECT_EQ(server.events.front().status, c.status) << c.name;
    EXPECT_THAT(server.session.receiving(), IsEmpty()) << c.name;
    server.Answer(stream, "no");
    server.Exchange(client);
    EXPECT_EQ(client.answer(stream).response.body, "no") << c.name;
    EXPECT_TRUE(client.answer(stream).has_ended) << c.name;
    // The client need not send the rest.
    EXPECT_TRUE(client.answer(stream).is_closed) << c.name;
    EXPECT_EQ(client.answer(stream).code, 0U) << c.name;
    EXPECT_EQ(server.session.open(), 0U) << c.name;
    // The connection goes on.
    const std::int32_t next = client.Submit({"GET", "/"});
    server.Exchange(client);
    EXPECT_THAT(server.Streams(Kind::kRequest), ElementsAre(next)) << c.name;
  }
}

TEST(Http2ServerSessionTest, TrailersAreTakenWithinTheHeadsLimit) {
  for (const bool is_long : {false, true}) {
    TestServer server;
    ASSERT_TRUE(server.Feed(kHttp2Greeting));
    ASSERT_TRUE(server.Feed(RawFrame(kHeaders, kEndHeaders, 1, kHttp2Get) + RawFrame(kData, 0, 1, "ab")));
    const std::string value(is_long ? 120 : 20, 'x');
    std::string trailers;
    for (int i = 0; i < 10; ++i) {
      trailers += "\x00\x01t"sv;
      trailers += static_cast<char>(value.size());
      trailers += value;
    }
    ASSERT_TRUE(server.Feed(RawFrame(kHeaders, kEndHeaders | kEndStream, 1, trailers)));
    EXPECT_EQ(server.request(1).body, is_long ? "" : "ab");
    EXPECT_EQ(server.Streams(Kind::kRefused).size(), is_long ? 1U : 0U);
    EXPECT_FALSE(server.session.is_dead());
  }
}

TEST(Http2ServerSessionTest, AnswersToContinue) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t waits = client.Submit({"POST", "/", {{"Expect", "100-continue"}}}, false);
  const std::int32_t whole = client.Submit({"GET", "/", {{"Expect", "100-continue"}}});
  server.Exchange(client);
  EXPECT_EQ(client.answer(waits).interim_heads, 1);
  EXPECT_EQ(client.answer(whole).interim_heads, 0);
  server.Answer(waits, "early");
  server.Exchange(client);
  EXPECT_EQ(client.answer(waits).response.status, 200);
  EXPECT_EQ(client.answer(waits).response.body, "early");
}

TEST(Http2ServerSessionTest, AResetRequestIsNotHandled) {
  TestServer server;
  ASSERT_TRUE(server.Feed(kHttp2Greeting));
  const std::string request = RawFrame(kHeaders, kEndHeaders | kEndStream, 1, kHttp2Get);
  ASSERT_TRUE(server.Feed(request + RawFrame(kReset, 0, 1, "\0\0\0\x08"sv)));
  EXPECT_THAT(server.Streams(Kind::kRequest), IsEmpty());
  EXPECT_THAT(server.Streams(Kind::kClosed), ElementsAre(1));
  EXPECT_EQ(server.session.open(), 0U);
}

TEST(Http2ServerSessionTest, AnswersToStreamsThatHaveGoneAreLost) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t stream = client.Submit({"GET", "/"});
  server.Exchange(client);
  client.Reset(stream);
  server.Exchange(client);
  EXPECT_THAT(server.Streams(Kind::kClosed), ElementsAre(stream));
  server.Answer(stream, "late");
  server.session.Resume(stream);
  server.session.Reset(stream, Http2ServerSession::Code::kCancel);
  server.Exchange(client);
  EXPECT_EQ(client.answer(stream).response.status, 0);
}

TEST(Http2ServerSessionTest, ASlowReaderHoldsOnlyItsOwnStream) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t slow = client.Submit({"GET", "/slow"});
  client.StopReading(slow);
  const std::int32_t quick = client.Submit({"GET", "/quick"});
  server.Exchange(client);
  server.Answer(slow, LargeBody(1'000'000));
  server.Answer(quick, LargeBody(1'000'000));
  server.Exchange(client);
  EXPECT_TRUE(client.answer(quick).has_ended);
  EXPECT_EQ(client.answer(quick).response.body, LargeBody(1'000'000));
  EXPECT_FALSE(client.answer(slow).has_ended);
  EXPECT_EQ(server.bodies[slow].taken, 65'535U) << "the window, which this client has left as it is at first";
  client.ReadOn(slow);
  server.Exchange(client);
  EXPECT_TRUE(client.answer(slow).has_ended);
  EXPECT_EQ(client.answer(slow).response.body, LargeBody(1'000'000));
}

TEST(Http2ServerSessionTest, Resets) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t broken = client.Submit({"GET", "/"});
  const std::int32_t refused = client.Submit({"GET", "/"});
  server.Exchange(client);
  server.Answer(broken, "half", false);
  server.Exchange(client);
  server.session.Reset(broken, Http2ServerSession::Code::kInternal);
  server.session.Reset(refused, Http2ServerSession::Code::kRefusedStream);
  server.Exchange(client);
  EXPECT_EQ(client.answer(broken).response.body, "half");
  EXPECT_FALSE(client.answer(broken).has_ended);
  EXPECT_EQ(client.answer(broken).code, 2U);
  EXPECT_EQ(client.answer(refused).code, 7U);
}

TEST(Http2ServerSessionTest, GoingAwayLetsOpenStreamsEnd) {
  TestServer server;
  Http2TestClient client;
  const std::int32_t open = client.Submit({"GET", "/"});
  server.Exchange(client);
  server.session.GoAway();
  // Before the client has heard of it.
  const std::int32_t late = client.Submit({"GET", "/"});
  ASSERT_TRUE(server.Feed(client.TakeOutput()));
  server.Exchange(client);
  EXPECT_TRUE(client.has_goaway());
  EXPECT_EQ(client.goaway_code(), 0U);
  EXPECT_EQ(client.goaway_last(), open);
  EXPECT_EQ(client.answer(late).code, 7U);
  EXPECT_THAT(server.Streams(Kind::kRequest), ElementsAre(open));
  EXPECT_FALSE(server.session.is_dead());
  server.Answer(open, "answer");
  server.Exchange(client);
  EXPECT_EQ(client.answer(open).response.body, "answer");
  EXPECT_TRUE(server.session.is_dead());
}

TEST(Http2ServerSessionTest, StreamsAreBounded) {
  TestServer server({1000, 1000, 2});
  ASSERT_TRUE(server.Feed(kHttp2Greeting));
  const auto request = [](std::uint32_t stream) {
    return RawFrame(kHeaders, kEndHeaders | kEndStream, stream, kHttp2Get);
  };
  // Before the client has seen the limit, one more is refused; later it is a breach of the protocol.
  ASSERT_TRUE(server.Feed(request(1) + request(3) + request(5)));
  EXPECT_THAT(server.Take(), HasSubstr(RawFrame(kReset, 0, 5, "\0\0\0\x07"sv)));
  EXPECT_THAT(server.Streams(Kind::kRequest), ElementsAre(1, 3));
  ASSERT_TRUE(server.Feed(RawFrame(kSettings, kAck, 0, "") + request(7)));
  EXPECT_EQ(GoawayCode(server.Take()), 1);
  EXPECT_TRUE(server.session.is_dead());
}

TEST(Http2ServerSessionTest, BadFrames) {
  struct Case {
    std::string name;
    std::string bytes;
    int code;  // of GOAWAY; -1: the connection ends without a word, 0: nothing happens
  };
  const std::string get = RawFrame(kHeaders, kEndHeaders | kEndStream, 1, kHttp2Get);
  const std::vector<Case> cases = {
      {"data of no stream", RawFrame(kData, 0, 0, "x"), 1},
      {"data of an idle stream", RawFrame(kData, 0, 5, "x"), 1},
      {"an even stream", RawFrame(kHeaders, kEndHeaders | kEndStream, 2, kHttp2Get), 1},
      {"a stream again", get + get, 5},
      {"settings with a length of their own", RawFrame(kSettings, 0, 0, "abc"), 6},
      {"settings of a stream", RawFrame(kSettings, 0, 1, ""), 1},
      {"a window that does not grow", RawFrame(kWindowUpdate, 0, 0, "\0\0\0\0"sv), 1},
      {"a short ping", RawFrame(kPing, 0, 0, "abc"), 6},
      {"a frame beyond the limit", RawFrame(kData, 0, 1, std::string(16'385, 'x')), 6},
      {"bad compression", RawFrame(kHeaders, kEndHeaders | kEndStream, 1, "\xff\xff\xff\xff\xff\xff"), 9},
      {"a continuation of nothing", RawFrame(kContinuation, kEndHeaders, 1, kHttp2Get), 1},
      {"something between a head's parts",
       RawFrame(kHeaders, kEndStream, 1, kHttp2Get) + RawFrame(kPing, 0, 0, "12345678"), 1},
      {"an unknown frame", RawFrame(kUnknown, 7, 1, "whatever") + get, 0},
      {"a priority", RawFrame(kPriority, 0, 1, "\0\0\0\3\x10"sv) + get, 0},
  };
  for (const Case& c : cases) {
    TestServer server;
    ASSERT_TRUE(server.Feed(kHttp2Greeting)) << c.name;
    ASSERT_TRUE(server.Feed(c.bytes)) << c.name << ": " << server.session.problem();
    EXPECT_EQ(GoawayCode(server.Take()), c.code == 0 ? -1 : c.code) << c.name;
    EXPECT_EQ(server.session.is_dead(), c.code != 0) << c.name;
    EXPECT_EQ(server.Streams(Kind::kRequest).empty(), c.name != "a stream again" && c.code != 0) << c.name;
  }
  TestServer server;
  EXPECT_FALSE(server.Feed("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(server.session.problem().empty());
  EXPECT_TRUE(server.session.is_dead());
}

TEST(Http2ServerSessionTest, BadRequestsEndTheirStreamsAlone) {
  struct Case {
    std::string name;
    std::string head;
  };
  const std::vector<Case> cases = {
      {"no path", "\x82\x87\x41\x01\x61"},
      {"no authority", "\x82\x87\x84"},
      {"a capital", std::string(kHttp2Get) + std::string("\x00\x01X\x01y", 5)},
      {"what a WebSocket asks for",
       std::string(kHttp2Get) + std::string("\x00\x0a", 2) + "connection" + "\x07" + "upgrade"},
      {"a pseudo header behind others", std::string("\x00\x01x\x01y", 5) + std::string(kHttp2Get)},
  };
  for (const Case& c : cases) {
    TestServer server;
    ASSERT_TRUE(server.Feed(kHttp2Greeting)) << c.name;
    ASSERT_TRUE(server.Feed(RawFrame(kHeaders, kEndHeaders | kEndStream, 1, c.head))) << c.name;
    EXPECT_THAT(server.Take(), HasSubstr(RawFrame(kReset, 0, 1, "\0\0\0\1"sv))) << c.name;
    EXPECT_THAT(server.Streams(Kind::kRequest), IsEmpty()) << c.name;
    EXPECT_FALSE(server.session.is_dead()) << c.name;
    EXPECT_EQ(server.session.open(), 0U) << c.name;
  }
}

// A name and value of 1,500 bytes in the dynamic table, and then one byte for each time that it comes again.
TEST(Http2ServerSessionTest, AHeadThatUnpacksToFarTooMuchEndsTheConnection) {
  TestServer server({10'000, 1000, 100});
  ASSERT_TRUE(server.Feed(kHttp2Greeting));
  std::string head(kHttp2Get);
  head += "\x40\x01x\x7f\xdd\x0a";  // 127 + 0x5d + (0x0a << 7) = 1,500
  head += std::string(1500, 'y');
  const std::string once = head + '\xbe';
  EXPECT_TRUE(server.Feed(RawFrame(kHeaders, kEndHeaders | kEndStream, 1, once)));
  EXPECT_THAT(server.Streams(Kind::kRequest), ElementsAre(1));
  // What is in the table now: 62 that header, 63 the authority.
  const std::string again = "\x82\x87\x84\xbf";
  EXPECT_TRUE(server.Feed(RawFrame(kHeaders, kEndHeaders | kEndStream, 3, again + std::string(8, '\xbe'))));
  EXPECT_THAT(server.Streams(Kind::kRefused), ElementsAre(3));
  EXPECT_EQ(GoawayCode(server.Take()), -1);
  EXPECT_TRUE(server.Feed(RawFrame(kHeaders, kEndHeaders | kEndStream, 5, again + std::string(99, '\xbe'))));
  EXPECT_EQ(GoawayCode(server.Take()), 11);
  EXPECT_TRUE(server.session.is_dead());
}

TEST(Http2ServerSessionTest, FloodsEndTheConnection) {
  struct Case {
    std::string name;
    std::string begin;
    std::function<std::string(std::uint32_t)> frames;
    bool is_read = false;  // the client reads what the server says
  };
  const auto request = [](std::uint32_t i, std::string_view head = kHttp2Get) {
    return RawFrame(kHeaders, kEndHeaders | kEndStream, 2 * i + 1, head);
  };
  const std::vector<Case> cases = {
      {"pings", "", [](std::uint32_t) { return RawFrame(kPing, 0, 0, "12345678"); }},
      {"settings", "", [](std::uint32_t) { return RawFrame(kSettings, 0, 0, ""); }},
      {"requests that cannot be", "", [&](std::uint32_t i) { return request(i, "\x82\x87\x84"); }},
      {"continuations", RawFrame(kHeaders, kEndStream, 1, kHttp2Get),
       [](std::uint32_t) { return RawFrame(kContinuation, 0, 1, ""); }, true},
      {"resets", "", [&](std::uint32_t i) { return request(i) + RawFrame(kReset, 0, 2 * i + 1, "\0\0\0\x08"sv); },
       true},
  };
  constexpr std::uint32_t kFramesMax = 20'000;
  for (const Case& c : cases) {
    TestServer server;
    ASSERT_TRUE(server.Feed(kHttp2Greeting));
    ASSERT_TRUE(server.Feed(c.begin));
    std::uint32_t sent = 0;
    while (sent < kFramesMax && server.Feed(c.frames(sent)) && !server.session.is_dead()) {
      ++sent;
      if (c.is_read) server.Take();
    }
    EXPECT_LT(sent, kFramesMax) << c.name;
    EXPECT_TRUE(server.session.is_dead()) << c.name;
  }
}

TEST(Http2ServerSessionTest, PingsOfAClientThatReadsAreAnswered) {
  TestServer server;
  Http2TestClient client;
  for (int i = 0; i < 5000; ++i) {
    client.Ping();
    server.Exchange(client);
  }
  EXPECT_EQ(client.pongs(), 5000);
}

TEST(Http2ServerSessionTest, TerminatingEndsAll) {
  TestServer server;
  Http2TestClient client;
  client.Submit({"GET", "/"});
  server.Exchange(client);
  server.session.Terminate(Http2ServerSession::Code::kEnhanceYourCalm);
  EXPECT_FALSE(server.session.is_dead());
  server.Exchange(client);
  EXPECT_EQ(client.goaway_code(), 11U);
  EXPECT_TRUE(server.session.is_dead());
}

}  // namespace
}  // namespace berth::net
