// SPDX-License-Identifier: Apache-2.0
// ServerReply: one answer of the HTTP server in the making, and the ResponseWriter that fills it. Shared by the writer
// (any thread) and the connection (its loop). For the sources of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/shell/net/http_server.h"
#include "berth/shell/net/server_shared.h"

namespace berth::net {

struct ServerReply {
  enum class State : std::uint8_t {
    kOpen,       // nothing sent
    kStreaming,  // head sent, chunks follow
    kEnded,      // all is in `pieces`
    kGone,       // the connection is closed: what is written now is lost
  };

  // From the request, and set before the handler is called.
  bool is_head_request = false;
  bool is_http_1_0 = false;
  bool keeps_alive = false;               // whether the request allows keep-alive
  std::int32_t http2_stream = 0;          // 0: HTTP/1
  ServerBudget* small_answers = nullptr;  // over HTTP/2: of all small answers on the connection
  std::shared_ptr<const std::vector<std::string>> peer_certificates;

  std::mutex mutex;
  State state = State::kOpen;                     // guarded by mutex
  std::deque<std::string> pieces;                 // guarded by mutex: for the connection to fetch
  std::optional<Response> head;                   // guarded by mutex: over HTTP/2, for the connection to fetch
  std::optional<std::size_t> length;              // guarded by mutex: over HTTP/2, of the body, where it is known
  std::size_t taken_bytes = 0;                    // guarded by mutex: over HTTP/2, of the first piece
  std::optional<ServerBudget::Share> held;        // guarded by mutex: of a large answer, until it is sent
  std::optional<ServerBudget::Share> held_small;  // guarded by mutex: of a small one over HTTP/2
  std::size_t unsent_bytes = 0;                   // guarded by mutex: of pieces and of what the connection has fetched
  bool is_flush_posted = false;                   // guarded by mutex
  bool is_chunked = false;                        // guarded by mutex
  bool is_upgraded = false;                       // guarded by mutex: a WebSocket from here on (websocket.h)
  bool has_body = true;                           // guarded by mutex: false for HEAD and 204
  bool closes = false;                            // guarded by mutex: the connection is to end with this answer
  std::function<void()> on_closed;                // guarded by mutex
  std::shared_ptr<ServerConnection> connection;   // guarded by mutex; empty once the answer is over
};

// Answers up to this size need no share of the server's budget: over HTTP/1 each, over HTTP/2 all of a connection
// together.
inline constexpr std::size_t kSmallAnswerBytesMax = std::size_t{16} << 10;

// Detaches the writer from the connection: what is written from now on is lost. With `calls_back` the writer's
// on_closed is called. On the connection's loop. False when the handler has not ended its answer yet.
bool EndReply(const std::shared_ptr<ServerReply>& reply, bool calls_back);

// Status line and headers, without those that say how the answer is framed and without the empty line.
void AppendHead(std::string& out, const Response& response);

std::shared_ptr<ResponseWriter> MakeResponseWriter(std::shared_ptr<ServerShared> shared,
                                                   std::shared_ptr<ServerReply> reply);

}  // namespace berth::net
