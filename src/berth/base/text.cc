// SPDX-License-Identifier: Apache-2.0
#include "berth/base/text.h"

#include <algorithm>
#include <cstddef>

#include "berth/base/utf8.h"

namespace berth {
namespace {

constexpr std::size_t kQuotedMax = 100;  // bytes

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

std::string_view Trim(std::string_view text, std::string_view what) {
  const std::size_t begin = text.find_first_not_of(what);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(what) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (std::string_view rest = CutUtf8(text, kQuotedMax); !rest.empty();) {
    const Rune rune = DecodeRune(rest);
    const bool is_shown = rune.is_valid && rune.code >= 0x20 && rune.code != 0x7f;
    quoted.append(is_shown ? rest.substr(0, rune.size) : "?");
    rest.remove_prefix(rune.size);
  }
  return quoted + (text.size() > kQuotedMax ? "...\"" : "\"");
}

}  // namespace berth
