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
  for (const char c : CutUtf8(text, kQuotedMax)) {
    const auto byte = static_cast<unsigned char>(c);
    quoted += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return quoted + (text.size() > kQuotedMax ? "...\"" : "\"");
}

}  // namespace berth
