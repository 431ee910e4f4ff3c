// SPDX-License-Identifier: Apache-2.0
// Common operations on text: trimming, splitting, joining, and quoting for messages. Letters and spaces are ASCII. Pure
// functions, thread-safe. go_text.h has the functions whose output must equal Go's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

inline constexpr std::string_view kSpaces = " \t\r\n\v\f";

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
constexpr bool IsAlphanumeric(char c) { return IsLetter(c) || IsDigit(c); }

constexpr char LowerCase(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
std::string LowerCase(std::string_view text);

// Removes the characters of `what` from both ends.
std::string_view Trim(std::string_view text, std::string_view what = kSpaces);

// One part more than there are separators. The parts are views of `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Concatenates the texts with `separator` in between.
template <typename Texts>
std::string Joined(const Texts& texts, std::string_view separator = ", ") {
  std::string joined;
  bool is_first = true;
  for (const auto& text : texts) {
    if (!is_first) joined.append(separator);
    joined.append(text);
    is_first = false;
  }
  return joined;
}

// Untrusted text for a message: in double quotes, with '?' for control characters and bytes of invalid UTF-8, and cut
// to 100 bytes, followed by "...".
std::string Quoted(std::string_view text);

}  // namespace berth
