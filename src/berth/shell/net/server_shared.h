// SPDX-License-Identifier: Apache-2.0
// ServerShared: what all connections of one HttpServer have in common. For the sources of this folder; immutable but
// for the shards, each of which belongs to its loop, the count, the budgets and the TLS context. Shards are set before
// the first connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context_impl.h"

namespace berth::net {

class ServerConnection;

// Why a request is refused with 429.
inline constexpr std::string_view kTooManyLargeRequests =
    "the server is receiving too many large requests at a time, please try again later";

// The bytes that requests being received hold, or answers that are not read yet, of all connections of one server
// together. Thread-safe.
class ServerBudget {
 public:
  explicit ServerBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // The share that one request or answer holds, beyond what each may hold. It is given back when it is destroyed.
  class Share {
   public:
    explicit Share(ServerBudget& budget) : budget_(budget) {}
    ~Share() { Set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // False if all shares together would be too large: nothing is changed then.
    bool Set(std::size_t bytes) {
      if (bytes > bytes_) {
        const std::size_t more = bytes - bytes_;
        if (budget_.bytes_.fetch_add(more) + more > budget_.bytes_max_) {
          budget_.bytes_.fetch_sub(more);
          return false;
        }
      } else {
        budget_.bytes_.fetch_sub(bytes_ - bytes);
      }
      bytes_ = bytes;
      return true;
    }
    std::size_t bytes() const { return bytes_; }

   private:
    ServerBudget& budget_;
    std::size_t bytes_ = 0;
  };

  std::size_t bytes() const { return bytes_.load(); }
  std::size_t bytes_max() const { return bytes_max_; }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_{0};
};

struct ServerShared {
  // `io` must outlive the server.
  ServerShared(IoContext::Impl& io_in, HttpServerOptions options_in, Handler handler_in)
      : io(io_in),
        options(std::move(options_in)),
        handler(std::move(handler_in)),
        requests(options.requests_bytes_max),
        answers(options.answers_bytes_max) {}

  // An answer that no handler gives.
  Response Malformed(int status, std::string_view message) const {
    if (options.malformed) return options.malformed(status, message);
    return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(message) + "\n"};
  }

  // The message of a refusal with 413 or 431.
  std::string TooLongText(int status) const {
    const auto text = [](std::string_view what, std::size_t bytes_max) {
      return "the request's " + std::string(what) + " is longer than " + std::to_string(bytes_max) + " bytes";
    };
    return status == 431 ? text("head", options.header_bytes_max) : text("body", options.request_body_bytes_max);
  }

  // The connections of one loop; touched on that loop only.
  struct Shard {
    explicit Shard(Loop& loop_in) : loop(loop_in) {}
    Loop& loop;
    std::unordered_set<std::shared_ptr<ServerConnection>> connections;
    std::optional<boost::asio::steady_timer> tick;
    bool is_closed = false;
    std::atomic<bool> is_sweep_posted{false};  // any thread
  };

  // Null: plain HTTP. Any thread.
  std::shared_ptr<const TlsContext> tls() const {
    const std::lock_guard lock(tls_mutex);
    return tls_now;
  }
  void SetTls(std::shared_ptr<const TlsContext> tls) {
    const std::lock_guard lock(tls_mutex);
    tls_now = std::move(tls);
  }

  IoContext::Impl& io;
  const HttpServerOptions options;
  const Handler handler;
  mutable std::mutex tls_mutex;
  std::shared_ptr<const TlsContext> tls_now;  // guarded by tls_mutex
  std::deque<Shard> shards;
  std::atomic<int> connection_count{0};
  ServerBudget requests;
  ServerBudget answers;
};

}  // namespace berth::net
