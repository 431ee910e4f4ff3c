// SPDX-License-Identifier: Apache-2.0
// A client of HTTP/2 that does what a test wants, sensible or not: over nghttp2, in memory or over TLS to a server of
// this machine. Blocking, and for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/net/test_peers.h"
#include "berth/shell/net/transport.h"

struct nghttp2_session;
struct ssl_ctx_st;
struct ssl_st;

namespace berth::net {

// A frame as it goes over the wire.
std::string RawFrame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload);

// What a client says first, and the head of "GET https://a/" as a HEADERS frame wants it.
inline constexpr std::string_view kHttp2Greeting("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
inline constexpr std::string_view kHttp2Get = "\x82\x87\x84\x41\x01\x61";

class Http2TestClient {
 public:
  struct Answer {
    Response response;
    int interim_heads = 0;
    bool has_ended = false;  // in good order
    bool is_closed = false;
    std::uint32_t code = 0;  // of the reset, when it is closed
  };

  Http2TestClient();
  ~Http2TestClient();
  Http2TestClient(const Http2TestClient&) = delete;
  Http2TestClient& operator=(const Http2TestClient&) = delete;

  // `is_whole`: else the request's body goes on, but nothing comes.
  std::int32_t Submit(const Request& request, bool is_whole = true);
  void Reset(std::int32_t stream);
  void Ping();
  // What comes on the stream is not taken from its window, until ReadOn.
  void StopReading(std::int32_t stream) { unread_.emplace(stream, 0); }
  void ReadOn(std::int32_t stream);

  void Feed(std::string_view bytes);
  std::string TakeOutput();

  const Answer& answer(std::int32_t stream) { return answers_[stream]; }
  bool has_goaway() const { return has_goaway_; }
  std::uint32_t goaway_code() const { return goaway_code_; }
  std::int32_t goaway_last() const { return goaway_last_; }
  // Pings that the server has answered.
  int pongs() const { return pongs_; }

 private:
  struct Callbacks;

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Answer> answers_;
  std::map<std::int32_t, std::pair<std::string, bool>> bodies_;  // of requests, and whether they end
  std::map<std::int32_t, std::size_t> unread_;                   // bytes by stream
  bool has_goaway_ = false;
  std::uint32_t goaway_code_ = 0;
  std::int32_t goaway_last_ = 0;
  int pongs_ = 0;
};

// That client on a connection to 127.0.0.1, whose certificate it does not look at.
class Http2TestConnection {
 public:
  struct Options {
    std::string protocols = "\x02h2\x08http/1.1";  // as ALPN wants them
    bool is_tls_1_2 = false;
    std::string suites;  // of TLS 1.2, in OpenSSL's words
  };
  explicit Http2TestConnection(std::uint16_t port) : Http2TestConnection(port, Options()) {}
  Http2TestConnection(std::uint16_t port, const Options& options);

  Http2TestClient& client() { return client_; }
  // What ALPN has chosen.
  std::string protocol() const;
  // Sends what is due and reads until it is so, or until the server has closed.
  [[nodiscard]] bool RunUntil(const std::function<bool()>& is_so);
  const Http2TestClient::Answer& RunUntilClosed(std::int32_t stream);
  // The server closes the connection.
  [[nodiscard]] bool RunUntilEnd();
  void Flush();
  void Write(std::string_view bytes);

 private:
  Http2TestClient client_;
  RawSocket socket_;
  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<ssl_st> ssl_;
  bool has_ended_ = false;
};

}  // namespace berth::net
