// SPDX-License-Identifier: Apache-2.0
// The string extension library (version 2); positions count characters.
#include "berth/languages/cel/functions_strings.h"

#include <array>
#include <optional>
#include <utility>

#include "berth/base/utf8.h"
#include "berth/languages/cel/text_search.h"

namespace berth::cel {
namespace {

using Arguments = std::span<const Value>;

// Limit on results, which may be much longer than the arguments that were charged.
constexpr std::uint64_t kResultBytesMax = 64 << 20;

bool FitsResult(std::uint64_t bytes, WorkLimit& work) {
  work.Spend(bytes / 64);
  if (bytes > kResultBytesMax) work.left = 0;
  return work.left > 0;
}

Value OutOfRange(std::int64_t index) { return Value::Error("index out of range: " + std::to_string(index)); }

Value CharAt(Arguments arguments, WorkLimit&) {
  const auto runes = Runes(arguments[0].AsString());
  const std::int64_t index = arguments[1].AsInt();
  const auto size = static_cast<std::int64_t>(runes.size());
  if (index < 0 || index > size) return OutOfRange(index);
  if (index == size) return Value::String("");
  return Value::String(TextOf(runes, static_cast<std::size_t>(index), static_cast<std::size_t>(index) + 1));
}

bool Both(Arguments arguments) { return arguments[0].Is(ValueKind::kString) && arguments[1].Is(ValueKind::kString); }

Value Contains(Arguments arguments, WorkLimit&) {
  if (!Both(arguments)) return Value::NoSuchOverload();
  const std::string& text = arguments[0].AsString();
  const std::string& wanted = arguments[1].AsString();
  // A longer text is not searched for, because the search allocates a number for each of its characters.
  if (wanted.empty() || wanted.size() > text.size()) return Value::Bool(wanted.empty());
  return Value::Bool(TextSearch<char>(wanted).First(text).has_value());
}
Value StartsWith(Arguments arguments, WorkLimit&) {
  if (!Both(arguments)) return Value::NoSuchOverload();
  return Value::Bool(arguments[0].AsString().starts_with(arguments[1].AsString()));
}
Value EndsWith(Arguments arguments, WorkLimit&) {
  if (!Both(arguments)) return Value::NoSuchOverload();
  return Value::Bool(arguments[0].AsString().ends_with(arguments[1].AsString()));
}

Value IndexOrNone(std::optional<std::size_t> found) {
  return Value::Int(found ? static_cast<std::int64_t>(*found) : -1);
}

Value IndexOfFrom(const std::string& text, const std::string& wanted, std::int64_t from) {
  if (wanted.empty()) return Value::Int(from);
  if (from < 0) return OutOfRange(from);
  const auto runes = Runes(text);
  const auto sought = Runes(wanted);
  if (from >= static_cast<std::int64_t>(runes.size()) || sought.size() > runes.size()) return Value::Int(-1);
  return IndexOrNone(TextSearch<char32_t>(sought).First(runes, static_cast<std::size_t>(from)));
}

Value IndexOfText(Arguments arguments, WorkLimit&) {
  return IndexOfFrom(arguments[0].AsString(), arguments[1].AsString(),
                     arguments.size() == 3 ? arguments[2].AsInt() : 0);
}

Value LastIndexOfText(Arguments arguments, WorkLimit&) {
  const std::string& text = arguments[0].AsString();
  const std::string& wanted = arguments[1].AsString();
  const auto runes = Runes(text);
  const auto size = static_cast<std::int64_t>(runes.size());
  std::int64_t from = 0;
  if (arguments.size() == 3) {
    from = arguments[2].AsInt();
    if (wanted.empty()) return Value::Int(from);
  } else {
    if (wanted.empty()) return Value::Int(size);
    if (text.size() < wanted.size()) return Value::Int(-1);
    from = size - 1;
  }
  if (from < 0) return OutOfRange(from);
  if (from >= size) return Value::Int(-1);
  const auto sought = Runes(wanted);
  if (sought.size() > runes.size()) return Value::Int(-1);
  return IndexOrNone(TextSearch<char32_t>(sought).Last(runes, static_cast<std::size_t>(from)));
}

// As in upstream, invalid UTF-8 becomes U+FFFD.
template <char from, char to, int shift>
Value MapAscii(Arguments arguments, WorkLimit&) {
  auto runes = Runes(arguments[0].AsString());
  for (char32_t& rune : runes) {
    if (rune >= static_cast<char32_t>(from) && rune <= static_cast<char32_t>(to)) {
      rune = static_cast<char32_t>(static_cast<int>(rune) + shift);
    }
  }
  return Value::String(TextOf(runes, 0, runes.size()));
}

Value Replace(Arguments arguments, WorkLimit& work) {
  const std::string& text = arguments[0].AsString();
  const std::string& from = arguments[1].AsString();
  const std::string& to = arguments[2].AsString();
  const std::int64_t limit = arguments.size() == 4 ? arguments[3].AsInt() : -1;
  if (from == to || limit == 0) return arguments[0];
  std::string result;
  std::int64_t count = 0;
  std::size_t at = 0;
  const auto may_replace = [&] { return (limit < 0 || count < limit) && work.left > 0; };
  if (from.empty()) {
    // Inserts before every character and after the last one.
    while (may_replace()) {
      result += to;
      ++count;
      if (result.size() > kResultBytesMax || at >= text.size()) break;
      const std::size_t size = DecodeRune(std::string_view(text).substr(at)).size;
      result.append(text, at, size);
      at += size;
    }
  } else if (from.size() <= text.size()) {
    const TextSearch<char> search(from);
    for (; may_replace(); ++count) {
      const std::optional<std::size_t> found = search.First(text, at);
      if (!found) break;
      result.append(text, at, *found - at);
      result += to;
      at = *found + from.size();
      if (result.size() > kResultBytesMax) break;
    }
  }
  result.append(text, at, std::string::npos);
  if (!FitsResult(result.size(), work)) return Value::Error("string is too large");
  return Value::String(std::move(result));
}

Value Split(Arguments arguments, WorkLimit& work) {
  std::string_view text = arguments[0].AsString();
  const std::string& separator = arguments[1].AsString();
  std::int64_t limit = arguments.size() == 3 ? arguments[2].AsInt() : -1;
  std::vector<Value> parts;
  if (limit == 0) return Value::OfList({});
  work.Spend(text.size());
  const auto is_last = [&] { return limit > 0 && static_cast<std::int64_t>(parts.size()) + 1 >= limit; };
  if (separator.empty()) {
    while (!text.empty() && !is_last()) {
      const std::size_t size = DecodeRune(text).size;
      parts.push_back(Value::String(std::string(text.substr(0, size))));
      text.remove_prefix(size);
    }
    if (!text.empty()) parts.push_back(Value::String(std::string(text)));
    return Value::OfList(std::move(parts));
  }
  if (separator.size() <= text.size()) {
    const TextSearch<char> search(separator);
    while (!is_last()) {
      const std::optional<std::size_t> at = search.First(text);
      if (!at) break;
      parts.push_back(Value::String(std::string(text.substr(0, *at))));
      text.remove_prefix(*at + separator.size());
    }
  }
  parts.push_back(Value::String(std::string(text)));
  return Value::OfList(std::move(parts));
}

Value Substring(Arguments arguments, WorkLimit&) {
  const auto runes = Runes(arguments[0].AsString());
  const auto size = static_cast<std::int64_t>(runes.size());
  const std::int64_t begin = arguments[1].AsInt();
  const std::int64_t end = arguments.size() == 3 ? arguments[2].AsInt() : size;
  if (arguments.size() == 3 && begin > end) {
    return Value::Error("invalid substring range. start: " + std::to_string(begin) + ", end: " + std::to_string(end));
  }
  if (begin < 0 || begin > size) return OutOfRange(begin);
  if (end < 0 || end > size) return OutOfRange(end);
  return Value::String(TextOf(runes, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)));
}

bool IsSpace(char32_t c) {
  if (c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0) return true;
  return c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

Value Trim(Arguments arguments, WorkLimit&) {
  std::string_view text = arguments[0].AsString();
  while (!text.empty() && IsSpace(DecodeRune(text).code)) text.remove_prefix(DecodeRune(text).size);
  while (!text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) --at;
    const Rune last = DecodeRune(text.substr(at));
    if (!IsSpace(last.code) || at + last.size != text.size()) break;
    text.remove_suffix(last.size);
  }
  return Value::String(std::string(text));
}

Value Join(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  const std::string separator = arguments.size() == 2 ? arguments[1].AsString() : "";
  std::string result;
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    const Value& item = list.at(i);
    if (!item.Is(ValueKind::kString)) return Value::Error("join: invalid input: " + GoString(item));
    if (i > 0) result += separator;
    result += item.AsString();
    if (!work.Spend() || result.size() > kResultBytesMax) break;
  }
  if (!FitsResult(result.size(), work)) return Value::Error("string is too large");
  return Value::String(std::move(result));
}

Value QuoteText(Arguments arguments, WorkLimit&) {
  std::string quoted = "\"";
  for (const char32_t c : Runes(arguments[0].AsString())) {
    switch (c) {
      case '\a': quoted += "\\a"; break;
      case '\b': quoted += "\\b"; break;
      case '\f': quoted += "\\f"; break;
      case '\n': quoted += "\\n"; break;
      case '\r': quoted += "\\r"; break;
      case '\t': quoted += "\\t"; break;
      case '\v': quoted += "\\v"; break;
      case '\\': quoted += "\\\\"; break;
      case '"': quoted += "\\\""; break;
      default: AppendRune(c, quoted);
    }
  }
  return Value::String(quoted + '"');
}

}  // namespace

std::span<const OverloadBinding> StringBindings() {
  static constexpr std::array kBindings = {
      OverloadBinding{"contains_string", Contains},
      OverloadBinding{"starts_with_string", StartsWith},
      OverloadBinding{"ends_with_string", EndsWith},
      OverloadBinding{"string_char_at_int", CharAt},
      OverloadBinding{"string_index_of_string", IndexOfText},
      OverloadBinding{"string_index_of_string_int", IndexOfText},
      OverloadBinding{"string_last_index_of_string", LastIndexOfText},
      OverloadBinding{"string_last_index_of_string_int", LastIndexOfText},
      OverloadBinding{"string_lower_ascii", MapAscii<'A', 'Z', 'a' - 'A'>},
      OverloadBinding{"string_upper_ascii", MapAscii<'a', 'z', 'A' - 'a'>},
      OverloadBinding{"string_replace_string_string", Replace},
      OverloadBinding{"string_replace_string_string_int", Replace},
      OverloadBinding{"string_split_string", Split},
      OverloadBinding{"string_split_string_int", Split},
      OverloadBinding{"string_substring_int", Substring},
      OverloadBinding{"string_substring_int_int", Substring},
      OverloadBinding{"string_trim", Trim},
      OverloadBinding{"list_join", Join},
      OverloadBinding{"list_join_string", Join},
      OverloadBinding{"strings_quote", QuoteText},
  };
  return kBindings;
}

}  // namespace berth::cel
