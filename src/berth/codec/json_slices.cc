// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json_slices.h"

#include <cstddef>

#include "berth/base/text.h"

namespace berth::codec {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

// The position after the string that begins with the quote at `at`; npos if it does not end.
std::size_t SkipText(std::string_view json, std::size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// The position of the comma or closing bracket after the value that begins at `at`; npos if there is none.
std::size_t SkipValue(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  while (at < json.size()) {
    switch (json[at]) {
      case '"': at = SkipText(json, at); continue;
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']':
        if (depth == 0) return at;
        --depth;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default: break;
    }
    ++at;
  }
  return std::string_view::npos;
}

std::optional<std::vector<JsonSlice>> Slice(std::string_view text, char open, char close) {
  text = Trim(text);
  if (text.size() < 2 || text.front() != open || text.back() != close) return std::nullopt;
  std::vector<JsonSlice> slices;
  if (Trim(text.substr(1, text.size() - 2)).empty()) return slices;
  const bool has_keys = open == '{';
  std::size_t at = 1;
  for (;;) {
    JsonSlice slice;
    if (has_keys) {
      const std::size_t begin = text.find_first_not_of(kSpaces, at);
      if (begin == std::string_view::npos || text[begin] != '"') return std::nullopt;
      const std::size_t end = SkipText(text, begin);
      if (end == std::string_view::npos) return std::nullopt;
      slice.key = text.substr(begin + 1, end - begin - 2);
      at = text.find_first_not_of(kSpaces, end);
      if (at == std::string_view::npos || text[at] != ':') return std::nullopt;
      ++at;
    }
    const std::size_t end = SkipValue(text, at);
    if (end == std::string_view::npos) return std::nullopt;
    slice.value = Trim(text.substr(at, end - at));
    if (slice.value.empty()) return std::nullopt;
    slices.push_back(slice);
    at = end + 1;
    if (text[end] == ',') continue;
    if (text[end] != close || at != text.size()) return std::nullopt;
    return slices;
  }
}

}  // namespace

std::optional<std::vector<JsonSlice>> SliceObject(std::string_view text) { return Slice(text, '{', '}'); }
std::optional<std::vector<JsonSlice>> SliceArray(std::string_view text) { return Slice(text, '[', ']'); }

std::optional<std::string_view> FindSlice(std::string_view object, std::string_view key) {
  const auto members = SliceObject(object);
  if (!members) return std::nullopt;
  for (const JsonSlice& member : *members) {
    if (member.key == key) return member.value;
  }
  return std::nullopt;
}

std::string_view PlainText(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
  value = value.substr(1, value.size() - 2);
  return value.find_first_of("\"\\") == std::string_view::npos ? value : std::string_view();
}

}  // namespace berth::codec
