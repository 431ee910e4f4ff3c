// SPDX-License-Identifier: Apache-2.0
// The server's side of a WebSocket (RFC 6455) that only sends: the handshake's answer, frames to write, and what a peer
// says in between. A stream that a handler begins with AcceptWebSocket() is one: Write() takes whole frames, and the
// server's connection answers pings and the peer's close by itself. Pure values, any thread; a reader has one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

// Whether the peer asks for a WebSocket.
bool AsksForWebSocket(const Request& request);

// 101 for a request that AsksForWebSocket(); kInvalid when it is no handshake of version 13. A protocol that the
// request names alone is agreed to, several are left open.
Expected<Response> AcceptWebSocket(const Request& request);

enum class WebSocketOpcode : std::uint8_t { kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

// A whole message in one frame, as a server sends it: unmasked.
void AppendFrame(std::string& out, WebSocketOpcode opcode, std::string_view payload);
// A close frame with a status code: 1000 is a normal end.
void AppendCloseFrame(std::string& out, std::uint16_t code);

// Reads a peer's frames. Messages are thrown away as they arrive, whatever their length.
class WebSocketReader {
 public:
  struct Control {
    WebSocketOpcode opcode = WebSocketOpcode::kPing;  // kPing or kClose
    std::string payload;
  };

  // The control frames that are complete now and that want an answer. False: the peer breaks the protocol.
  bool Feed(std::string_view bytes, std::vector<Control>& controls);

 private:
  std::string frame_;             // a control frame, or the head of a frame, that is not complete
  std::uint64_t skip_bytes_ = 0;  // bytes of a message that are still to be dropped
};

}  // namespace berth::net
