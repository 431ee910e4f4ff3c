// SPDX-License-Identifier: Apache-2.0
#include "berth/base/go_text.h"

#include <array>
#include <cstdio>
#include <set>

#include "berth/base/utf8.h"

namespace berth {
namespace {

bool IsPrintable(char32_t code) {
  // Approximates unicode.IsPrint for characters that occur in versions and quantities; those of other planes count as
  // printable.
  if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad) return false;
  return code != 0x2028 && code != 0x2029 && code != 0xfeff && !(code >= 0x2000 && code <= 0x200f);
}

}  // namespace

std::string GoQuoted(std::string_view text) {
  std::string quoted = "\"";
  std::array<char, 16> buffer{};
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    const char byte = text[0];
    text.remove_prefix(rune.size);
    switch (rune.code) {
      case '"': quoted += "\\\""; continue;
      case '\\': quoted += "\\\\"; continue;
      case '\a': quoted += "\\a"; continue;
      case '\b': quoted += "\\b"; continue;
      case '\f': quoted += "\\f"; continue;
      case '\n': quoted += "\\n"; continue;
      case '\r': quoted += "\\r"; continue;
      case '\t': quoted += "\\t"; continue;
      case '\v': quoted += "\\v"; continue;
      default: break;
    }
    if (!rune.is_valid || rune.code < 0x20 || rune.code == 0x7f) {
      std::snprintf(buffer.data(), buffer.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
      quoted += buffer.data();
    } else if (IsPrintable(rune.code)) {
      AppendRune(rune.code, quoted);
    } else {
      std::snprintf(buffer.data(), buffer.size(), rune.code < 0x10000 ? "\\u%04x" : "\\U%08x",
                    static_cast<unsigned>(rune.code));
      quoted += buffer.data();
    }
  }
  return quoted + '"';
}

std::string GoJson(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const Rune rune = DecodeRune(text.substr(i));
    const char c = text[i];
    if (!rune.is_valid) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\b') {
      out += "\\b";
    } else if (c == '\f') {
      out += "\\f";
    } else if (rune.size == 1 && (c < ' ' || c == '<' || c == '>' || c == '&')) {
      constexpr std::string_view kHexDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += {kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    } else if (rune.code == 0x2028 || rune.code == 0x2029) {
      out += rune.code == 0x2028 ? "\\u2028" : "\\u2029";
    } else {
      out += text.substr(i, rune.size);
    }
    i += rune.size;
  }
  return out += '"';
}

std::string GoJson(std::span<const std::string> texts) {
  if (texts.empty()) return "null";
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += GoJson(text);
  }
  return out += ']';
}

std::string GoList(std::span<const std::string> texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ' ';
    out += text;
  }
  return out + ']';
}

std::string GoAggregate(std::span<const std::string> errors) {
  std::set<std::string_view> seen;
  std::string out;
  for (const std::string& error : errors) {
    if (!seen.insert(error).second) continue;
    if (seen.size() > 1) out += ", ";
    out += error;
  }
  return seen.size() > 1 ? '[' + out + ']' : out;
}

std::vector<std::string> GoSplit(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace berth
