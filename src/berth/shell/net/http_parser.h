// SPDX-License-Identifier: Apache-2.0
// HttpParser: bytes into HTTP/1.x requests or answers, with limits and without sockets; Beast's parser behind it. One
// object parses one message after the other. For the sources of this folder. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "berth/shell/net/transport.h"

namespace berth::net {

class HttpParser {
 public:
  enum class Kind : std::uint8_t { kRequest, kResponse };

  enum class Outcome : std::uint8_t {
    kNeedMore,
    kComplete,
    kNotHttp,         // problem() says why
    kHeaderTooLarge,  // the head, or the line that announces a chunk
    kBodyTooLarge,
    kCutShort,  // only from FeedEof
  };

  struct Limits {
    std::size_t header_bytes_max = std::size_t{64} << 10;
    std::size_t body_bytes_max = kUnlimited;  // over the whole message, also where TakeBody empties it in between
  };
  static constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);

  explicit HttpParser(Kind kind);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  // Begins a message. `has_no_body`: the answer to a HEAD request, whatever its Content-Length says.
  void Start(const Limits& limits, bool has_no_body = false);

  // Takes bytes of the message and sets `consumed` to their number. With kNeedMore the rest has to be passed again with
  // further bytes; with kComplete it belongs to the next message. After any other outcome the connection cannot be used
  // any more.
  Outcome Feed(std::string_view bytes, std::size_t& consumed);
  // The peer has ended its side.
  Outcome FeedEof();

  bool has_started() const;  // a byte of the message has come
  bool is_head_done() const;
  bool is_complete() const;
  // Valid once the head is done. Whether the connection may carry another message after this one.
  bool keep_alive() const;
  bool is_http_1_0() const;
  bool expects_continue() const;       // a request with "Expect: 100-continue"
  bool has_unknown_expect() const;     // a request that expects anything else
  const std::string& problem() const;  // one line; empty while nothing is wrong

  // What was parsed so far; the caller may move from them once the head (or, for the body, the message) is complete.
  Request& request();    // with Kind::kRequest
  Response& response();  // with Kind::kResponse
  std::string& body();   // the body of the request or response

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The standard phrase of a status code; "Unknown" for others.
std::string_view ReasonPhrase(int status);

// Whether the text may stand in a message's head: method, target, header name, header value.
bool IsToken(std::string_view text);
bool IsTargetText(std::string_view text);
bool IsHeaderValue(std::string_view text);

}  // namespace berth::net
