// SPDX-License-Identifier: Apache-2.0
// Splits a CEL expression into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/languages/cel/source.h"

namespace berth::cel {

enum class TokenKind : std::uint8_t {
  kEnd,
  kPunctuation,  // identified by its text; includes "in"
  kTrue,
  kFalse,
  kNull,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kIdentifier,
  kEscapedIdentifier,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // original text; "<EOF>" for the end
  int offset = 0;

  bool Is(std::string_view punctuation) const { return kind == TokenKind::kPunctuation && text == punctuation; }
};

// All tokens, followed by the end. Invalid text is reported and skipped, as ANTLR's lexer does.
std::vector<Token> Tokenize(const Source& source, Issues& issues);

// The content of a string or bytes literal (without the b), without quotes and with escapes replaced. Errors are
// cel-go's.
Expected<std::string> Unescape(std::string_view literal, bool is_bytes);

}  // namespace berth::cel
