// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "berth/base/utf8.h"

namespace berth::cel {
namespace {

bool IsDigit(char32_t c) { return c >= '0' && c <= '9'; }
bool IsLetter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsHexDigit(char32_t c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsSpace(char32_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

class Lexer {
 public:
  Lexer(const Source& source, Issues& issues) : runes_(source.runes()), issues_(issues) {}

  std::vector<Token> Run() {
    while (SkipHidden(), at_ < runes_.size()) Take();
    tokens_.push_back({TokenKind::kEnd, "<EOF>", static_cast<int>(at_)});
    return std::move(tokens_);
  }

 private:
  char32_t Peek(std::size_t at) const { return at < runes_.size() ? runes_[at] : U'\0'; }

  void SkipHidden() {
    while (at_ < runes_.size()) {
      if (IsSpace(runes_[at_])) {
        ++at_;
      } else if (runes_[at_] == '/' && Peek(at_ + 1) == '/') {
        while (at_ < runes_.size() && runes_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  void Emit(TokenKind kind, std::size_t end) {
    tokens_.push_back({kind, TextOf(runes_, at_, end), static_cast<int>(at_)});
    at_ = end;
  }

  // Reports text that begins like a token but is not a complete one.
  void Refuse(std::size_t end) {
    std::string shown;
    for (const char c : TextOf(runes_, at_, end)) {
      switch (c) {
        case '\n': shown += "\\n"; break;
        case '\t': shown += "\\t"; break;
        case '\r': shown += "\\r"; break;
        default: shown += c;
      }
    }
    issues_.Report(static_cast<int>(at_), "Syntax error: token recognition error at: '" + shown + "'");
    at_ = end;
  }

  void Take() {
    const char32_t c = runes_[at_];
    if (const auto prefix = StringPrefix()) return TakeString(*prefix);
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(at_ + 1)))) return TakeNumber();
    if (IsLetter(c) || c == '_') return TakeWord();
    if (c == '`') return TakeEscapedIdentifier();
    TakePunctuation();
  }

  struct Prefix {
    std::size_t length = 0;
    bool is_bytes = false;
    bool is_raw = false;
  };

  // A prefix b, r or br before a quote, in either case; nullopt when no string begins here.
  std::optional<Prefix> StringPrefix() const {
    Prefix prefix;
    if (Peek(at_) == 'b' || Peek(at_) == 'B') prefix = {1, true, false};
    const char32_t raw = Peek(at_ + prefix.length);
    if (raw == 'r' || raw == 'R') prefix = {prefix.length + 1, prefix.is_bytes, true};
    const char32_t quote = Peek(at_ + prefix.length);
    if (quote != '"' && quote != '\'') return std::nullopt;
    return prefix;
  }

  // The length of the escape at `at` (a backslash). 0 if it is invalid; `read` is then the length of its valid part.
  std::size_t EscapeLength(std::size_t at, std::size_t& read) const {
    const char32_t c = Peek(at + 1);
    constexpr std::u32string_view kSimple = U"abfnrtv\"'\\?`";
    if (kSimple.find(c) != std::u32string_view::npos && c != 0) return 2;
    const auto digits = [&](std::size_t count, auto is_digit) -> std::size_t {
      for (std::size_t i = 0; i < count; ++i) {
        if (!is_digit(Peek(at + 2 + i))) {
          read = at + 2 + i;
          return 0;
        }
      }
      return 2 + count;
    };
    switch (c) {
      case 'x':
      case 'X': return digits(2, IsHexDigit);
      case 'u': return digits(4, IsHexDigit);
      case 'U': return digits(8, IsHexDigit);
      case '0':
      case '1':
      case '2':
      case '3': return digits(2, [](char32_t digit) { return digit >= '0' && digit <= '7'; });
      default: read = at + 1; return 0;
    }
  }

  void TakeString(const Prefix& prefix) {
    const TokenKind kind = prefix.is_bytes ? TokenKind::kBytes : TokenKind::kString;
    const std::size_t open = at_ + prefix.length;
    const char32_t quote = runes_[open];
    const bool is_triple = Peek(open + 1) == quote && Peek(open + 2) == quote;
    std::size_t failed_at = 0;
    if (is_triple) {
      if (const std::size_t end = StringEnd(open + 3, quote, 3, prefix.is_raw, failed_at)) return Emit(kind, end);
      // The string is not closed: its first two quotes are then the longest token, an empty string.
      return Emit(kind, open + 2);
    }
    if (const std::size_t end = StringEnd(open + 1, quote, 1, prefix.is_raw, failed_at)) return Emit(kind, end);
    if (prefix.length > 0) return TakeWord();
    Refuse(std::min(failed_at + 1, runes_.size()));
  }

  // The end of the string whose content begins at `at`. 0 if there is none; `failed_at` is then the position of the
  // character that ended it.
  std::size_t StringEnd(std::size_t at, char32_t quote, std::size_t quotes, bool is_raw, std::size_t& failed_at) const {
    while (at < runes_.size()) {
      const char32_t c = runes_[at];
      if (c == quote && (quotes == 1 || (Peek(at + 1) == quote && Peek(at + 2) == quote))) return at + quotes;
      if (quotes == 1 && (c == '\n' || c == '\r')) break;
      if (c == '\\' && !is_raw) {
        std::size_t read = 0;
        const std::size_t length = EscapeLength(at, read);
        if (length == 0) {
          failed_at = read;
          return 0;
        }
        at += length;
      } else {
        ++at;
      }
    }
    failed_at = at;
    return 0;
  }

  void TakeNumber() {
    std::size_t at = at_;
    if (Peek(at) == '0' && Peek(at + 1) == 'x' && IsHexDigit(Peek(at + 2))) {
      at += 2;
      while (IsHexDigit(Peek(at))) ++at;
      return FinishInteger(at);
    }
    while (IsDigit(Peek(at))) ++at;
    bool is_double = false;
    if (Peek(at) == '.' && IsDigit(Peek(at + 1))) {
      is_double = true;
      ++at;
      while (IsDigit(Peek(at))) ++at;
    }
    if (Peek(at) == 'e' || Peek(at) == 'E') {
      std::size_t exponent = at + 1;
      if (Peek(exponent) == '+' || Peek(exponent) == '-') ++exponent;
      if (IsDigit(Peek(exponent))) {
        is_double = true;
        at = exponent;
        while (IsDigit(Peek(at))) ++at;
      }
    }
    if (is_double) return Emit(TokenKind::kDouble, at);
    FinishInteger(at);
  }

  void FinishInteger(std::size_t at) {
    if (Peek(at) == 'u' || Peek(at) == 'U') return Emit(TokenKind::kUint, at + 1);
    Emit(TokenKind::kInt, at);
  }

  void TakeWord() {
    std::size_t at = at_;
    while (IsLetter(Peek(at)) || IsDigit(Peek(at)) || Peek(at) == '_') ++at;
    const std::string word = TextOf(runes_, at_, at);
    TokenKind kind = TokenKind::kIdentifier;
    if (word == "true") kind = TokenKind::kTrue;
    if (word == "false") kind = TokenKind::kFalse;
    if (word == "null") kind = TokenKind::kNull;
    if (word == "in") kind = TokenKind::kPunctuation;
    Emit(kind, at);
  }

  void TakeEscapedIdentifier() {
    std::size_t at = at_ + 1;
    const auto is_inside = [](char32_t c) {
      return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '-' || c == '/' || c == ' ';
    };
    while (is_inside(Peek(at))) ++at;
    if (at > at_ + 1 && Peek(at) == '`') return Emit(TokenKind::kEscapedIdentifier, at + 1);
    Refuse(std::min(at + 1, runes_.size()));
  }

  void TakePunctuation() {
    constexpr std::array<std::u32string_view, 23> kPunctuation = {U"==", U"!=", U"<=", U">=", U"&&", U"||", U"<", U">",
                                                                  U"[",  U"]",  U"{",  U"}",  U"(",  U")",  U".", U",",
                                                                  U"-",  U"!",  U"?",  U":",  U"+",  U"*",  U"/"};
    const std::u32string_view rest(runes_.data() + at_, runes_.size() - at_);
    for (const std::u32string_view punctuation : kPunctuation) {
      if (rest.starts_with(punctuation)) return Emit(TokenKind::kPunctuation, at_ + punctuation.size());
    }
    if (rest[0] == '%') return Emit(TokenKind::kPunctuation, at_ + 1);
    // A single &, | or = is reported together with the next character.
    const bool is_half = rest[0] == '&' || rest[0] == '|' || rest[0] == '=';
    Refuse(std::min(at_ + (is_half ? 2 : 1), runes_.size()));
  }

  const std::vector<char32_t>& runes_;
  Issues& issues_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads the escape at the start of `rest` and appends its value.
Expected<void> TakeEscape(std::string_view& rest, bool is_bytes, std::string& text) {
  const char c = rest[1];
  constexpr std::string_view kLetters = "abfnrtv\\'\"`?";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"`?";
  if (const std::size_t at = kLetters.find(c); at != std::string_view::npos) {
    text += kMeanings[at];
    rest.remove_prefix(2);
    return {};
  }
  std::size_t count = 0;
  unsigned base = 16;
  std::size_t skip = 2;
  if (c == 'x' || c == 'X') count = 2;
  if ((c == 'u' || c == 'U') && is_bytes) return InvalidError("unable to unescape string");
  if (c == 'u') count = 4;
  if (c == 'U') count = 8;
  if (c >= '0' && c <= '3') {
    count = 3;
    base = 8;
    skip = 1;
  }
  char32_t code = 0;
  for (std::size_t i = 0; i < count; ++i) code = code * base + static_cast<char32_t>(HexDigit(rest[skip + i]));
  rest.remove_prefix(skip + count);
  if (is_bytes) {
    text += static_cast<char>(static_cast<unsigned char>(code));
    return {};
  }
  if (!IsCharacter(code)) return InvalidError("invalid unicode code point");
  AppendRune(code, text);
  return {};
}

}  // namespace

std::vector<Token> Tokenize(const Source& source, Issues& issues) { return Lexer(source, issues).Run(); }

// The lexer has checked that quotes match and escapes are complete.
Expected<std::string> Unescape(std::string_view literal, bool is_bytes) {
  std::string normal;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\r') {
      normal += literal[i];
    } else {
      normal += '\n';
      if (i + 1 < literal.size() && literal[i + 1] == '\n') ++i;
    }
  }
  std::string_view rest = normal;
  const bool is_raw = rest.starts_with('r') || rest.starts_with('R');
  if (is_raw) rest.remove_prefix(1);
  const bool is_triple = rest.size() >= 6 && (rest.starts_with("\"\"\"") || rest.starts_with("'''"));
  const std::size_t quotes = is_triple ? 3 : 1;
  rest = rest.substr(quotes, rest.size() - 2 * quotes);
  if (is_raw) return std::string(rest);
  std::string text;
  while (!rest.empty()) {
    if (rest[0] != '\\') {
      text += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    BERTH_RETURN_IF_ERROR(TakeEscape(rest, is_bytes, text));
  }
  return text;
}

}  // namespace berth::cel
