// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/proxy_handshake.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using std::string_literals::operator""s;

Proxy ProxyOf(const std::string& url) {
  auto proxy = ParseProxy(url);
  BERTH_CHECK(proxy.ok(), url);
  return *std::move(proxy);
}

TEST(ProxyHandshakeTest, AsksForATunnel) {
  struct Case {
    std::string url;
    std::string host;
    std::uint16_t port;
    std::string want;
  };
  const Case cases[] = {
      {"http://p", "kube.example", 6443, "CONNECT kube.example:6443 HTTP/1.1\r\nHost: kube.example:6443\r\n\r\n"},
      {"https://p", "::1", 443, "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"},
      {"http://user:p%40ss@p", "h", 1,
       "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n"},
      {"http://user@p", "h", 1, "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic dXNlcjo=\r\n\r\n"},
  };
  for (const Case& c : cases) {
    ProxyHandshake handshake(ProxyOf(c.url), c.host, c.port);
    EXPECT_EQ(handshake.TakeOutput(), c.want) << c.url;
    EXPECT_EQ(handshake.TakeOutput(), "") << c.url;
  }
}

// Byte by byte and in one piece: it ends the same way.
TEST(ProxyHandshakeTest, AnswersToConnect) {
  struct Case {
    std::string name;
    std::string answer;
    std::string want;  // empty: done; "...": it waits for more
    std::string url = "http://p";
  };
  const Case cases[] = {
      {"good", "HTTP/1.1 200 Connection established\r\n\r\n", ""},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nProxy-agent: x\r\n\r\n", ""},
      {"a length means nothing", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", ""},
      {"nor do chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
      {"half", "HTTP/1.1 200 OK\r\n", "..."},
      {"nothing", "", "..."},
      {"407", "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\n\r\n",
       "the proxy refused CONNECT: 407 Proxy Authentication Required: it wants a user and a password in its URL"},
      {"407 with a user", "HTTP/1.1 407 Who?\r\n\r\n", "the proxy refused CONNECT: 407 Proxy Authentication Required",
       "http://u:secret@p"},
      {"403 with a body", "HTTP/1.1 403 No\r\nContent-Length: 3\r\n\r\n", "the proxy refused CONNECT: 403 Forbidden"},
      {"502", "HTTP/1.1 502 No\r\n\r\n", "the proxy refused CONNECT: 502 Bad Gateway"},
      {"204", "HTTP/1.1 204 No\r\n\r\n", "the proxy refused CONNECT: 204 No Content"},
      {"100", "HTTP/1.1 100 Continue\r\n\r\n", "the proxy refused CONNECT: 100 Continue"},
      {"nonsense", "SSH-2.0-x\r\n\r\n", "the proxy answered something that is not HTTP: "},
      {"an endless head", "HTTP/1.1 200 OK\r\nA: " + std::string(2 * kProxyAnswerBytesMax, 'x'),
       "the proxy's answer to CONNECT is longer than 65536 bytes"},
  };
  for (const Case& c : cases) {
    for (const std::size_t piece : {c.answer.size() + 1, std::size_t{1}, std::size_t{1000}}) {
      ProxyHandshake handshake(ProxyOf(c.url), "h", 443);
      handshake.TakeOutput();
      auto outcome = ProxyHandshake::Outcome::kNeedMore;
      for (std::size_t at = 0; at < c.answer.size() && outcome == ProxyHandshake::Outcome::kNeedMore; at += piece) {
        outcome = handshake.Feed(std::string_view(c.answer).substr(at, piece));
        EXPECT_EQ(handshake.TakeOutput(), "") << c.name;
      }
      const bool is_done = outcome == ProxyHandshake::Outcome::kDone;
      EXPECT_EQ(is_done, c.want.empty()) << c.name << ": " << handshake.problem();
      EXPECT_EQ(outcome == ProxyHandshake::Outcome::kNeedMore, c.want == "...")
          << c.name << ": " << handshake.problem();
      if (!is_done && c.want != "...") {
        EXPECT_THAT(handshake.problem(), StartsWith(c.want)) << c.name;
      }
      EXPECT_THAT(handshake.problem(), Not(HasSubstr("secret"))) << c.name;
    }
  }
}

TEST(ProxyHandshakeTest, BytesBehindTheAnswer) {
  ProxyHandshake handshake(ProxyOf("http://p"), "h", 443);
  EXPECT_EQ(handshake.Feed("HTTP/1.1 200 OK\r\n\r\n\x16"), ProxyHandshake::Outcome::kFailed);
  EXPECT_EQ(handshake.problem(), "the proxy sent bytes behind its answer to CONNECT, where the server never begins");
}

// What the proxy says, step by step, and what is sent before each of it.
TEST(ProxyHandshakeTest, Socks) {
  struct Case {
    std::string name;
    std::string url;
    std::string host;
    std::vector<std::string> said;
    std::vector<std::string> want_sent;
    std::string want;  // empty: done; "...": it waits for more
  };
  const std::string to_name = "\5\1\0\3\1h\1\xbb"s;
  const std::string plain = "\5\1\0"s;
  const std::string good = "\5\0\0\1\0\0\0\0\0\0"s;
  const Case cases[] = {
      {"a name", "socks5://p", "h", {"\5\0"s, good}, {plain, to_name}, ""},
      {"an IPv4 address",
       "socks5://p",
       "10.0.0.1",
       {"\5\0"s, "\5\0\0\4"s + std::string(18, 'x')},
       {plain, "\5\1\0\1\x0a\0\0\1\1\xbb"s},
       ""},
      {"an IPv6 address",
       "socks5h://p",
       "2001:db8::1",
       {"\5\0"s, "\5\0\0\3\2xy\0\0"s},
       {plain, "\5\1\0\4\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\1\xbb"s},
       ""},
      {"user and password",
       "socks5://us:pass@p",
       "h",
       {"\5\2"s, "\1\0"s, good},
       {"\5\2\0\2"s, "\1\2us\4pass"s, to_name},
       ""},
      {"a user nobody asks for", "socks5://us:secret@p", "h", {"\5\0"s, good}, {"\5\2\0\2"s, to_name}, ""},
      {"a wrong password",
       "socks5://us:secret@p",
       "h",
       {"\5\2"s, "\1\1"s},
       {"\5\2\0\2"s, "\1\2us\6secret"s},
       "the proxy refused the user or the password"},
      {"it wants a password", "socks5://p", "h", {"\5\xff"s}, {plain}, "the proxy wants a user and a password"},
      {"it takes what was not offered", "socks5://p", "h", {"\5\2"s}, {plain}, "the proxy wants a user and a password"},
      {"it takes neither",
       "socks5://us:secret@p",
       "h",
       {"\5\xff"s},
       {"\5\2\0\2"s},
       "the proxy takes neither a user with a password nor a client without one"},
      {"HTTP", "socks5://p", "h", {"HTTP/1.1 400"s}, {plain}, "the proxy does not speak SOCKS 5"},
      {"refused",
       "socks5://p",
       "h",
       {"\5\0"s, "\5\5\0\1"s},
       {plain, to_name},
       "the proxy made no connection: connection refused"},
      {"an unknown failure",
       "socks5://p",
       "h",
       {"\5\0"s, "\5\xf0\0\1"s},
       {plain, to_name},
       "the proxy made no connection: failure 240"},
      {"an unknown address",
       "socks5://p",
       "h",
       {"\5\0"s, "\5\0\0\7\0"s},
       {plain, to_name},
       "the proxy's answer has an address of an unknown kind"},
      {"too much, too early", "socks5://p", "h", {"\5\0x"s}, {plain}, "the proxy sent bytes behind its answer"},
      {"too much",
       "socks5://p",
       "h",
       {"\5\0"s, good + "x"},
       {plain, to_name},
       "the proxy sent bytes behind its answer"},
      {"not all", "socks5://p", "h", {"\5\0"s, good.substr(0, 9)}, {plain, to_name}, "..."},
  };
  for (const Case& c : cases) {
    ProxyHandshake handshake(ProxyOf(c.url), c.host, 443);
    auto outcome = ProxyHandshake::Outcome::kNeedMore;
    std::vector<std::string> sent;
    for (const std::string& said : c.said) {
      sent.push_back(handshake.TakeOutput());
      outcome = handshake.Feed(said);
    }
    EXPECT_EQ(sent, c.want_sent) << c.name;
    if (c.want.empty()) {
      EXPECT_EQ(outcome, ProxyHandshake::Outcome::kDone) << c.name << ": " << handshake.problem();
    } else if (c.want == "...") {
      EXPECT_EQ(outcome, ProxyHandshake::Outcome::kNeedMore) << c.name << ": " << handshake.problem();
    } else {
      EXPECT_EQ(outcome, ProxyHandshake::Outcome::kFailed) << c.name;
      EXPECT_THAT(handshake.problem(), StartsWith(c.want)) << c.name;
    }
    EXPECT_THAT(handshake.problem(), Not(HasSubstr("secret"))) << c.name;
  }
}

}  // namespace
}  // namespace berth::net
