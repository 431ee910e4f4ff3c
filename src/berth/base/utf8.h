// SPDX-License-Identifier: Apache-2.0
// UTF-8 with Go's rules: a byte that does not begin a valid sequence is one character, U+FFFD, of size 1. Pure
// functions, thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct Rune {
  char32_t code = 0;
  std::size_t size = 0;  // bytes read; 0 for an empty text
  bool is_valid = false;
};

inline constexpr char32_t kRuneError = 0xfffd;

// The first character of `text`.
Rune DecodeRune(std::string_view text);
// Appends the character; an invalid code becomes U+FFFD.
void AppendRune(char32_t code, std::string& text);
std::vector<char32_t> Runes(std::string_view text);
// The characters in [begin, end).
std::string TextOf(const std::vector<char32_t>& runes, std::size_t begin, std::size_t end);
bool IsValidUtf8(std::string_view text);
// The first `bytes_max` bytes, or fewer so that no character is cut in two.
std::string_view CutUtf8(std::string_view text, std::size_t bytes_max);
bool IsCharacter(char32_t code);  // neither a surrogate nor above U+10FFFF

}  // namespace berth
