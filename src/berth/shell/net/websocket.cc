// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/websocket.h"

#include <algorithm>
#include <array>

#include <openssl/evp.h>

#include "berth/base/base64.h"
#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

constexpr std::string_view kKeySuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // from RFC 6455
constexpr std::size_t kControlBytesMax = 125;
constexpr std::size_t kMaskBytes = 4;
constexpr std::uint8_t kFinal = 0x80;
constexpr std::uint8_t kReserved = 0x70;
constexpr std::uint8_t kMasked = 0x80;

std::string AcceptKey(std::string_view key) {
  const std::string text = std::string(key).append(kKeySuffix);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) return {};
  return EncodeBase64({reinterpret_cast<const char*>(digest.data()), size});
}

void AppendBigEndian(std::string& out, std::uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

std::uint64_t BigEndian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<std::uint8_t>(c);
  return number;
}

}  // namespace

bool AsksForWebSocket(const Request& request) { return EqualsIgnoreCase(request.Get("Upgrade"), "websocket"); }

Expected<Response> AcceptWebSocket(const Request& request) {
  const std::string_view key = request.Get("Sec-WebSocket-Key");
  const auto nonce = DecodeBase64(key);
  if (request.method != "GET" || !nonce.ok() || nonce->size() != 16) {
    return InvalidError("not a WebSocket handshake: it needs GET and a Sec-WebSocket-Key of 16 bytes");
  }
  if (request.Get("Sec-WebSocket-Version") != "13") {
    return InvalidError("not a WebSocket handshake of version 13");
  }
  Response response;
  response.status = 101;
  response.headers.push_back({"Upgrade", "websocket"});
  response.headers.push_back({"Sec-WebSocket-Accept", AcceptKey(key)});
  if (const std::string_view protocol = request.Get("Sec-WebSocket-Protocol"); IsToken(protocol)) {
    response.headers.push_back({"Sec-WebSocket-Protocol", std::string(protocol)});
  }
  return response;
}

void AppendFrame(std::string& out, WebSocketOpcode opcode, std::string_view payload) {
  out += static_cast<char>(kFinal | static_cast<std::uint8_t>(opcode));
  if (payload.size() <= kControlBytesMax) {
    out += static_cast<char>(payload.size());
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(126);
    AppendBigEndian(out, payload.size(), 2);
  } else {
    out += static_cast<char>(127);
    AppendBigEndian(out, payload.size(), 8);
  }
  out.append(payload);
}

void AppendCloseFrame(std::string& out, std::uint16_t code) {
  std::string payload;
  AppendBigEndian(payload, code, 2);
  AppendFrame(out, WebSocketOpcode::kClose, payload);
}

bool WebSocketReader::Feed(std::string_view bytes, std::vector<Control>& controls) {
  while (true) {
    const std::size_t skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_bytes_, bytes.size()));
    skip_bytes_ -= skipped;
    bytes.remove_prefix(skipped);
    // Moves the bytes that frame_ still needs from `bytes`.
    const auto fill = [&](std::size_t size) {
      const std::size_t taken = std::min(size - std::min(size, frame_.size()), bytes.size());
      frame_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      return frame_.size() >= size;
    };
    if (bytes.empty() || !fill(2)) return true;
    const auto first = static_cast<std::uint8_t>(frame_[0]);
    const auto second = static_cast<std::uint8_t>(frame_[1]);
    const std::uint8_t opcode = first & 0x0f;
    const bool is_control = opcode >= 8;
    std::uint64_t size = second & 0x7f;
    if ((first & kReserved) != 0 || (second & kMasked) == 0) return false;
    if (opcode > 10 || (opcode > 2 && opcode < 8)) return false;
    if (is_control && ((first & kFinal) == 0 || size > kControlBytesMax)) return false;
    std::size_t head = 2;
    if (size > kControlBytesMax) {
      head += size == 126 ? 2 : 8;
      if (!fill(head)) return true;
      size = BigEndian(std::string_view(frame_).substr(2, head - 2));
    }
    if (!fill(head + kMaskBytes)) return true;
    if (!is_control) {
      skip_bytes_ = size;
      frame_.clear();
      continue;
    }
    if (!fill(head + kMaskBytes + static_cast<std::size_t>(size))) return true;
    std::string payload = frame_.substr(head + kMaskBytes);
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] ^= frame_[head + i % kMaskBytes];
    frame_.clear();
    const auto control = static_cast<WebSocketOpcode>(opcode);
    if (control != WebSocketOpcode::kPong) controls.push_back({control, std::move(payload)});
  }
}

}  // namespace berth::net
