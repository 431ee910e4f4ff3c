// SPDX-License-Identifier: Apache-2.0
// Transport: one HTTP exchange as data. The HTTP client implements it over sockets, the embedded API server in process;
// whoever talks to an API server depends on this alone. Any thread may call; callbacks come on the transport's own
// thread and must not block.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::net {

class WriteFence;

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method = "GET";
  std::string target;           // path and query, already percent-encoded
  std::vector<Header> headers;  // without those that frame the message (Content-Length, Connection): they are ignored
  std::string body;
  // Nothing of the request is sent once this has closed (write_fence.h); null: it may always be.
  std::shared_ptr<const WriteFence> fence = nullptr;

  // The first header of that name (case-insensitive), or an empty view.
  std::string_view Get(std::string_view name) const;
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  std::string body;

  // The first header of that name (case-insensitive), or an empty view.
  std::string_view Get(std::string_view name) const;
};

struct SendOptions {
  // From the call to the last byte of the answer.
  Duration timeout = std::chrono::seconds(30);
  // Bytes of an answer's body; a longer one is kTooLarge.
  std::size_t body_bytes_max = std::size_t{256} << 20;
  // Whether an answer 401 may be about the client certificate, so that what follows takes a new connection, which shows
  // the certificate of then. Null: each may.
  bool (*is_about_certificate)(const Response& answer) = nullptr;
  // Only metrics depend on these.
  bool is_retry = false;                                   // the request was sent before
  std::optional<Duration> rate_limit_wait = std::nullopt;  // how long the rate limit held it back; none without a limit
};

// Ends an exchange early; destroying it does the same. After Cancel() returns no further callback starts, on_end
// included. From another thread it waits for a callback that is running: do not hold a lock then that a callback takes.
class StreamHandle {
 public:
  virtual ~StreamHandle() = default;
  virtual void Cancel() = 0;
};

struct StreamCallbacks {
  // The head of the answer. A status other than 2xx carries the (bounded) body, and on_end follows.
  std::function<void(const Response& head)> on_head;
  // Bytes as they arrive, not aligned to lines. While it runs nothing more is read: back-pressure reaches the peer.
  std::function<void(std::string_view bytes)> on_bytes;
  // Once: ok() when the peer ended the body properly.
  std::function<void(Expected<void>)> on_end;
};

struct StreamOptions {
  Duration head_timeout = std::chrono::seconds(30);
  // Silence after which the peer counts as gone (kTimeout). API servers send bookmarks about once a minute.
  Duration idle_timeout = std::chrono::seconds(90);
};

class Transport {
 public:
  using Done = std::function<void(Expected<Response>)>;

  virtual ~Transport() = default;

  // Any HTTP status is a Response; an Error means that no whole answer came. Error::outcome_unknown is set unless it is
  // certain that the request never reached the peer's handler (for example connection refused, or given up while
  // queued). A request on a kept-alive connection that turns out to be closed before the first byte of an answer is
  // sent again only when its method is GET or HEAD. A request whose fence is closed gets FencedError.
  virtual void Send(Request request, SendOptions options, Done done) = 0;

  // A GET whose answer is read as it comes (watch). Uses a connection of its own.
  [[nodiscard]] virtual std::unique_ptr<StreamHandle> Stream(Request request, StreamOptions options,
                                                             StreamCallbacks callbacks) = 0;
};

}  // namespace berth::net
