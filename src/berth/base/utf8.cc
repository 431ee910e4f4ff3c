// SPDX-License-Identifier: Apache-2.0
#include "berth/base/utf8.h"

#include <array>

namespace berth {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

}  // namespace

bool IsCharacter(char32_t code) { return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff); }

Rune DecodeRune(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1, true};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  const Rune bad{kRuneError, 1, false};
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return bad;
  char32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return bad;
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || !IsCharacter(code)) return bad;
  return {code, size, true};
}

void AppendRune(char32_t code, std::string& text) {
  if (!IsCharacter(code)) code = kRuneError;
  const auto put = [&text](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

std::vector<char32_t> Runes(std::string_view text) {
  std::vector<char32_t> runes;
  runes.reserve(text.size());
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    runes.push_back(rune.code);
    text.remove_prefix(rune.size);
  }
  return runes;
}

std::string TextOf(const std::vector<char32_t>& runes, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) AppendRune(runes[i], text);
  return text;
}

std::string_view CutUtf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && IsContinuation(text[bytes_max])) --bytes_max;
  return text.substr(0, bytes_max);
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    // Fast path: most texts are ASCII.
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    const Rune rune = DecodeRune(text);
    if (!rune.is_valid) return false;
    text.remove_prefix(rune.size);
  }
  return true;
}

}  // namespace berth
