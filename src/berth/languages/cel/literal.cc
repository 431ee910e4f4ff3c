// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/literal.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace berth::cel {
namespace {

template <typename T>
bool ReadNumber(std::string_view text, T& number) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return failure == std::errc() && end == text.data() + text.size();
}

Error Wrong(std::string_view what) { return {ErrorCode::kInvalid, std::string(what)}; }

Expected<Value> ReadInt(std::string_view text, bool is_negative) {
  std::uint64_t magnitude = 0;
  const std::uint64_t magnitude_max = (std::uint64_t{1} << 63) - (is_negative ? 0 : 1);
  if (!ReadNumber(text, magnitude) || magnitude > magnitude_max) return Wrong("invalid int literal");
  const std::uint64_t bits = is_negative ? std::uint64_t{0} - magnitude : magnitude;
  return Value::Int(static_cast<std::int64_t>(bits));
}

Expected<Value> ReadUint(std::string_view text) {
  text.remove_suffix(1);
  std::uint64_t number = 0;
  if (!ReadNumber(text, number)) return Wrong("invalid uint literal");
  return Value::Uint(number);
}

Expected<Value> ReadDouble(const std::string& text, bool is_negative) {
  const double number = std::strtod(text.c_str(), nullptr);
  if (std::isinf(number)) return Wrong("invalid double literal");
  return Value::Double(is_negative ? -number : number);
}

Expected<Value> ReadText(std::string_view text, bool is_bytes) {
  if (is_bytes) text.remove_prefix(1);
  auto content = Unescape(text, is_bytes);
  if (!content.ok()) return content.error();
  return is_bytes ? Value::Bytes(*content) : Value::String(*content);
}

}  // namespace

bool IsLiteral(const Token& token) {
  switch (token.kind) {
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNull:
    case TokenKind::kInt:
    case TokenKind::kUint:
    case TokenKind::kDouble:
    case TokenKind::kString:
    case TokenKind::kBytes: return true;
    default: return false;
  }
}

Expected<Value> ReadLiteral(const Token& token, bool is_negative) {
  switch (token.kind) {
    case TokenKind::kTrue: return Value::Bool(true);
    case TokenKind::kFalse: return Value::Bool(false);
    case TokenKind::kInt: return ReadInt(token.text, is_negative);
    case TokenKind::kUint: return ReadUint(token.text);
    case TokenKind::kDouble: return ReadDouble(token.text, is_negative);
    case TokenKind::kString: return ReadText(token.text, false);
    case TokenKind::kBytes: return ReadText(token.text, true);
    default: return Value();
  }
}

}  // namespace berth::cel
