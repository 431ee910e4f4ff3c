// SPDX-License-Identifier: Apache-2.0
#include "berth/base/base64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace berth {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The two characters for each 12 bits. Half as many look-ups as one character at a time.
constexpr auto kPairs = [] {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kAlphabet[i >> 6], kAlphabet[i & 63U]};
  return pairs;
}();

// Of whole groups of three bytes; returns where the text ends.
char* EncodeGroups(std::string_view bytes, char* to) {
  // The library checks each index of a view.
  const char* const from = bytes.data();
  const auto byte = [from](std::size_t at) { return std::uint32_t{static_cast<unsigned char>(from[at])}; };
  for (std::size_t i = 0; i < bytes.size(); i += 3, to += 4) {
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    std::memcpy(to, kPairs[group >> 12].data(), 2);
    std::memcpy(to + 2, kPairs[group & 4095U].data(), 2);
  }
  return to;
}

// As many bytes become text at once.
constexpr std::size_t kPartBytes = 768;

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  AppendBase64(bytes, text);
  return text;
}

// By way of a part that fits into the processor's nearest cache: a string is filled before it can be written into.
void AppendBase64(std::string_view bytes, std::string& to) {
  to.reserve(to.size() + (bytes.size() + 2) / 3 * 4);
  char part[kPartBytes / 3 * 4];
  while (bytes.size() >= 3) {
    const std::size_t taken = std::min(kPartBytes, bytes.size() / 3 * 3);
    to.append(part, EncodeGroups(bytes.substr(0, taken), part));
    bytes.remove_prefix(taken);
  }
  if (bytes.empty()) return;
  char last[3] = {};
  bytes.copy(last, bytes.size());
  to.append(part, EncodeGroups({last, sizeof(last)}, part));
  std::fill(to.end() - static_cast<std::ptrdiff_t>(sizeof(last) - bytes.size()), to.end(), '=');
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
