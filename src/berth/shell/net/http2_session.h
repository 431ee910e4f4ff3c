// SPDX-License-Identifier: Apache-2.0
// Http2Session: the client's side of one HTTP/2 connection: requests and received bytes in, bytes to send and answers
// out; nghttp2 behind it, no sockets. For the sources of this folder; used on its loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/net/transport.h"

namespace berth::net {

struct Http2End {
  enum class How : std::uint8_t {
    kComplete,
    kRefused,  // certainly not looked at by the peer: it may be sent again, whatever it is
    kTooLarge,
    kBroken,
    kFenced,  // its fence has closed (write_fence.h)
  };
  How how = How::kBroken;
  std::string reason;              // one line; empty where the connection just closed
  bool was_sent = false;           // at least its head was handed out for sending
  std::vector<Header> trailers{};  // with kComplete: header fields after the body
};

// Gets one answer. Calls come from inside Feed(), or with kFenced from inside Take(). They may call Submit() and
// Reset(), but not Feed() or Take().
class Http2Reader {
 public:
  virtual ~Http2Reader() = default;
  // Once, 1xx answers left out.
  virtual void OnHttp2Head(Response&& head) = 0;
  virtual void OnHttp2Body(std::string_view bytes) = 0;
  // The last call.
  virtual void OnHttp2End(const Http2End& end) = 0;
};

class Http2Session {
 public:
  // Heads of answers, with their trailers, are bounded by `header_bytes_max`. `scheme` is of static storage.
  explicit Http2Session(std::size_t header_bytes_max, std::string_view scheme = "https");
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  struct Target {
    std::string_view authority;
    std::string_view path;
  };
  // Begins a request; `request.target` is replaced by `target`. 0 when the session takes none any more. `reader` must
  // stay until its last call or Reset.
  std::int32_t Submit(const Target& target, const Request& request, std::string body, Http2Reader& reader);
  // Ends the request: its reader gets no more calls, and the peer gets a RST_STREAM.
  void Reset(std::int32_t id);

  // Sends a PING.
  void Ping();

  // False when nothing more can be made of what comes: `problem` says why. A peer that does not keep to the protocol is
  // told so first; when that has been taken, is_dead() is true.
  [[nodiscard]] bool Feed(std::string_view bytes);
  // Appends what is to be sent to `out`, until that has about `bytes_max`. Requests whose fence has closed end here.
  void Take(std::string& out, std::size_t bytes_max);
  // What the latest Take has made may be sent: every fence in it is open.
  bool MaySend() const;
  bool has_output() const;
  bool is_dead() const;

  // Whether another request may begin now.
  bool HasRoom() const;
  // Whether the peer or our side accepts no further requests.
  bool is_closing() const;
  std::size_t open() const;
  const std::string& problem() const;

  // Tells every reader that it is over. May be called once; Submit and Feed do nothing afterwards.
  void FailAll(const std::string& reason);
  // Ends the session without calls of readers.
  void DropAll();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
