// SPDX-License-Identifier: Apache-2.0
// Texts as nghttp2 takes and gives them, for both sides of HTTP/2. For the sources of this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "berth/base/text.h"
#include "berth/shell/net/url.h"

namespace berth::net {

inline std::string_view Http2View(const std::uint8_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}

// Both texts must stay until the field has been submitted.
inline nghttp2_nv Http2Field(std::string_view name, std::string_view value) {
  // nghttp2 takes what it only reads as non-const.
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Names of headers have no capitals in HTTP/2.
inline void AppendLowerCase(std::string& out, std::string_view name) {
  for (const char c : name) out += LowerCase(c);
}

// A header that frames a message of HTTP/1.1. HTTP/2 forbids all of these but content-length, which the session adds.
inline bool FramesMessage(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"connection", "content-length",   "transfer-encoding",
                                                             "keep-alive", "proxy-connection", "upgrade"};
  for (const std::string_view each : kNames) {
    if (EqualsIgnoreCase(name, each)) return true;
  }
  return false;
}

}  // namespace berth::net
