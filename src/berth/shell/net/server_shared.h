// SPDX-License-Identifier: Apache-2.0
// ServerShared: what all connections of one HttpServer have in common. For the sources of this folder; immutable but
// for the shards, each of which belongs to its loop, the count, the budgets and the TLS context. Shards are set before
// the first connection.
#pragma once

#include <atomic>
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
#include "berth/shell/net/server_budget.h"

namespace berth::net {

class ServerConnection;

// Why a request is refused with 429.
inline constexpr std::string_view kTooManyLargeRequests =
    "the server is receiving too many large requests at a time, please try again later";

struct ServerShared {
  // `io` must outlive the server.
  ServerShared(IoContext::Impl& io_in, HttpServerOptions options_in, Handler handler_in)
      : io(io_in),
        options(std::move(options_in)),
        handler(std::move(handler_in)),
        requests(options.requests_bytes_max),
        answers(options.answers_bytes_max) {}

  // The answer of a server without a handler's help.
  Response Malformed(int status, std::string_view message) const {
    if (options.malformed) return options.malformed(status, message);
    return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(message) + "\n"};
  }

  // Why a request is refused with 413 or 431.
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
