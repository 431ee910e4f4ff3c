// SPDX-License-Identifier: Apache-2.0
// Http2ServerSession: the server's side of one HTTP/2 connection: received bytes and answers in, requests and bytes to
// send out; nghttp2 behind it, no sockets. For the sources of this folder; used on its loop's thread only.
//
// What nghttp2 bounds besides the limits given here: CONTINUATION frames of one head (8), settings in a frame (32),
// acknowledgements that the peer does not read (1,000), and streams that the peer resets (1,000, then 33 a second).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/net/transport.h"

namespace berth::net {

class Http2ServerSession {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    std::size_t header_bytes_max = 0;  // of a request, each header counted with 32 bytes besides
    std::size_t body_bytes_max = 0;    // of a request
    std::uint32_t streams_max = 0;     // open at once
  };

  // Something that the peer has done. Events come in order.
  struct Event {
    enum class Kind : std::uint8_t {
      kRequest,  // `request` is complete
      kRefused,  // the request is not to be handled, but answered with `status`; the rest of it is thrown away
      kClosed,   // the stream is over, whoever has ended it
    };
    Kind kind = Kind::kClosed;
    std::int32_t stream = 0;
    Request request;
    int status = 0;
    std::string problem;  // with status 400 and 417
  };

  // A request that is not complete yet.
  struct Receiving {
    std::int32_t stream = 0;
    std::size_t bytes = 0;
    Time begun;
    std::uint64_t last_fed = 0;  // larger for requests that got bytes later
    bool has_head = false;
  };

  // Bytes of an answer's body. If there are none and they are not the last, they come after Resume().
  struct Part {
    std::size_t bytes = 0;
    bool is_last = false;
  };
  // Moves bytes of an answer's body to `room`. Called from inside Take, and must not call the session.
  using ReadBody = std::function<Part(std::int32_t stream, char* room, std::size_t size)>;

  // With HTTP/2's extra bytes for each header.
  enum class Code : std::uint8_t { kNone = 0, kInternal = 2, kRefusedStream = 7, kCancel = 8, kEnhanceYourCalm = 11 };

  Http2ServerSession(const Limits& limits, ReadBody read_body);
  ~Http2ServerSession();
  Http2ServerSession(const Http2ServerSession&) = delete;
  Http2ServerSession& operator=(const Http2ServerSession&) = delete;

  // False when nothing more can be made of what comes, and nothing may be sent: `problem` says why. A peer that breaks
  // a rule of the protocol is told so first; when that has been taken, is_dead() is true.
  [[nodiscard]] bool Feed(std::string_view bytes, Time now);
  // What has happened in Feed and Take since the last call. A request whose stream was reset meanwhile is not among it.
  std::vector<Event> TakeEvents();
  std::vector<Receiving> receiving() const;

  // Drops a request's bytes, now and later. It is still answered.
  void Refuse(std::int32_t stream);
  // Begins an answer, once for a stream. `length`: of its body, where that is known. Without `has_body` it ends there.
  void Answer(std::int32_t stream, const Response& head, std::optional<std::size_t> length, bool has_body);
  // The answer's body has gone on.
  void Resume(std::int32_t stream);
  // Ends a stream. Nothing more of it is asked for or kept; kClosed follows once the peer is being told.
  void Reset(std::int32_t stream, Code code);

  // The peer is told to begin no further streams; those that are open go on, and is_dead() is true after the last.
  void GoAway();
  // Ends the session with this code.
  void Terminate(Code code);

  // Appends what is to be sent to `out`, until that has about `bytes_max`.
  void Take(std::string& out, std::size_t bytes_max);

  bool is_dead() const;
  // Whether the peer's connection preface has come.
  bool has_begun() const;
  // Streams.
  std::size_t open() const;
  const std::string& problem() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
