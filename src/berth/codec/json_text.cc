// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json_text.h"

#include <array>

#include "berth/codec/json.h"

namespace berth::codec {

namespace {

// Whether a byte stands for itself in a JSON string.
constexpr std::array<bool, 256> kIsPlain = [] {
  std::array<bool, 256> is_plain{};
  for (int c = 0x20; c < 256; ++c) is_plain[static_cast<std::size_t>(c)] = c != '"' && c != '\\' && c != 0x7f;
  return is_plain;
}();

}  // namespace

void AppendJsonString(std::string_view text, std::string& to) {
  for (const char c : text) {
    if (kIsPlain[static_cast<unsigned char>(c)]) continue;
    to += WriteJson(json::value(text));
    return;
  }
  to += '"';
  to.append(text);
  to += '"';
}

}  // namespace berth::codec
