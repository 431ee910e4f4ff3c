// SPDX-License-Identifier: Apache-2.0
#include "berth/base/base64.h"

#include <cstdint>

namespace berth {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j > bytes.size() ? '=' : kAlphabet[group >> (18 - 6 * j) & 63U];
    }
  }
  return text;
}

Expected<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      if (digits < 2 || digits + ++padding > 4) return InvalidError("misplaced '=' in base64 data");
      continue;
    }
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos || padding > 0) return InvalidError("a character that is no base64");
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 0xFFU);
    group = 0;
    digits = 0;
  }
  if (digits == 0 && padding == 0) return bytes;
  if (digits + padding != 4) return InvalidError("base64 data that is cut short: its length is no multiple of 4");
  group <<= 6 * padding;
  for (int i = 0; i < digits - 1; ++i) bytes += static_cast<char>(group >> (16 - 8 * i) & 0xFFU);
  return bytes;
}

}  // namespace berth
