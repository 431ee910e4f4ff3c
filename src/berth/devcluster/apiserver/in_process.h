// SPDX-License-Identifier: Apache-2.0
// A net::Transport that calls a handler directly: the embedded API server without sockets. Same semantics as over HTTP,
// bounds on bodies and on unread stream bytes included.
#pragma once

#include <cstddef>
#include <memory>

#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/net/transport.h"

namespace berth::apiserver {

// Bytes of a stream that its reader has not taken yet; beyond it the stream is closed, as HttpServer does.
inline constexpr std::size_t kInProcessUnreadBytesMax = std::size_t{64} << 20;

// Requests are handled on `io`'s threads, and callbacks come there. `io` outlives the transport and its streams.
std::unique_ptr<net::Transport> MakeInProcessTransport(net::IoContext& io, net::Handler handler);

}  // namespace berth::apiserver
