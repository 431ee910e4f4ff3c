// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/base64_url.h"

#include <cstdint>

namespace berth::apiserver {
namespace {

constexpr std::string_view kBase64Url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string EncodeBase64Url(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text += kBase64Url[(bits >> (count - 6)) & 63];
  }
  if (count > 0) text += kBase64Url[(bits << (6 - count)) & 63];
  return text;
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kBase64Url.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>((bits >> count) & 255);
    }
  }
  return bytes;
}

}  // namespace berth::apiserver
