// SPDX-License-Identifier: Apache-2.0
// ProxyHandshake: what is said between us and a proxy before a connection through it begins: HTTP's CONNECT, or SOCKS 5
// (RFC 1928, 1929). Bytes in, bytes out, no sockets. For the sources of this folder. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/proxy.h"

namespace berth::net {

// The most bytes of the answer to CONNECT.
inline constexpr std::size_t kProxyAnswerBytesMax = std::size_t{64} << 10;

// The value of a Proxy-Authorization header; empty where the proxy's URL has no user.
std::string ProxyAuthorization(const Proxy& proxy);

class ProxyHandshake {
 public:
  enum class Outcome : std::uint8_t { kNeedMore, kDone, kFailed };

  // A handshake for a connection to `host` (without brackets) and `port`. The proxy looks the name up.
  ProxyHandshake(const Proxy& proxy, std::string host, std::uint16_t port);

  // Bytes that have to be sent before more is read; empty: none.
  std::string TakeOutput();
  // Takes bytes from the proxy. Not to be called after kDone or kFailed.
  Outcome Feed(std::string_view bytes);
  // After kFailed: why, in one line that says "the proxy".
  const std::string& problem() const { return problem_; }

 private:
  enum class Step : std::uint8_t { kConnect, kMethod, kAuthentication, kReply };

  Outcome FeedConnect(std::string_view bytes);
  Outcome FeedSocks(std::string_view bytes);
  Outcome Fail(std::string problem);
  std::string SocksRequest() const;

  const Proxy proxy_;
  const std::string host_;
  const std::uint16_t port_;
  Step step_;
  std::string output_;
  HttpParser parser_;
  std::string unread_;
  std::string problem_;
};

}  // namespace berth::net
