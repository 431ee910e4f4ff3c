// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/token_stream.h"

#include <array>

#include "berth/languages/cel/ast.h"

namespace berth::cel {
namespace {

bool IsBinaryOperator(const Token& token) {
  return token.Is("&&") || token.Is("||") || !RelationOperator(token).empty() ||
         (ArithmeticOperator(token).precedence > 0 && !token.Is("-"));
}

}  // namespace

std::string_view RelationOperator(const Token& token) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOperators = {{{"<", "_<_"},
                                                                                        {"<=", "_<=_"},
                                                                                        {">=", "_>=_"},
                                                                                        {">", "_>_"},
                                                                                        {"==", op::kEquals},
                                                                                        {"!=", op::kNotEquals},
                                                                                        {"in", op::kIn}}};
  if (token.kind != TokenKind::kPunctuation) return {};
  for (const auto& [text, name] : kOperators) {
    if (token.text == text) return name;
  }
  return {};
}

Arithmetic ArithmeticOperator(const Token& token) {
  if (token.Is("*")) return {"_*_", 2};
  if (token.Is("/")) return {"_/_", 2};
  if (token.Is("%")) return {"_%_", 2};
  if (token.Is("+")) return {op::kAdd, 1};
  if (token.Is("-")) return {"_-_", 1};
  return {};
}

bool StartsExpression(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
    case TokenKind::kEscapedIdentifier: return false;
    case TokenKind::kPunctuation:
      return token.text == "[" || token.text == "{" || token.text == "(" || token.text == "." || token.text == "-" ||
             token.text == "!";
    default: return true;
  }
}

void TokenStream::Report(const Token& token, std::string message) {
  issues_.Report(token.offset, "Syntax error: " + std::move(message));
}

void TokenStream::Fail(const Token& token, std::string message) {
  if (!failed_) Report(token, std::move(message));
  failed_ = true;
}

void TokenStream::Expect(std::string_view punctuation, std::string_view expected) {
  if (failed_ || TakeIf(punctuation)) return;
  const std::string quoted = expected.empty() ? "'" + std::string(punctuation) + "'" : std::string(expected);
  if (Ahead(1).Is(punctuation)) {
    Report(Now(), "extraneous input '" + Now().text + "' expecting " + quoted);
    Take();
    Take();
  } else if (expected.empty() && Now().kind == TokenKind::kEnd && punctuation != ":") {
    Fail(Now(), "missing " + quoted + " at '<EOF>'");
  } else if (punctuation == ":" && StartsExpression(Now()) && Now().kind != TokenKind::kEnd) {
    Fail(Now(), "missing ':' at '" + Now().text + "'");
  } else {
    Fail(Now(), "mismatched input '" + Now().text + "' expecting " + quoted);
  }
}

bool TokenStream::SyncExpression(std::string_view expected, std::string_view closing) {
  if (failed_) return false;
  if (StartsExpression(Now())) return true;
  const bool closes_next = !closing.empty() && Ahead(1).Is(closing);
  if (StartsExpression(Ahead(1)) || closes_next) {
    Report(Now(), "extraneous input '" + Now().text + "' expecting " + std::string(expected));
    Take();
    return !closes_next;
  }
  // ANTLR's recovery continues after an operator without its left side; any other token ends parsing.
  Report(Now(), "mismatched input '" + Now().text + "' expecting " + std::string(expected));
  failed_ = !IsBinaryOperator(Now());
  return !failed_;
}

std::size_t TokenStream::StructNameLength() const {
  std::size_t length = 1;
  while (Ahead(length).Is(".") && Ahead(length + 1).kind == TokenKind::kIdentifier) length += 2;
  return Ahead(length).Is("{") ? length : 0;
}

bool TokenStream::HasElement(std::string_view closing, std::string_view starts, bool is_first) {
  if (failed_ || IsNow(closing)) return false;
  if (StartsExpression(Now()) || IsNow("?")) return true;
  if (!is_first) return false;
  // A single comma may precede the end, as in [,].
  if (TakeIf(",")) return false;
  return SyncExpression(starts, closing);
}

bool TokenStream::TakeComma(std::string_view closing) {
  if (failed_) return false;
  if (TakeIf(",")) return true;
  Expect(closing, closing == "]" ? "{']', ','}" : "{'}', ','}");
  return false;
}

void TokenStream::FailAfterMinus() {
  const bool is_end = Now().kind == TokenKind::kEnd;
  const std::string text = is_end ? "" : Now().text;
  Report(Now(), "no viable alternative at input '-" + text + "'");
  if (is_end) Report(Now(), "mismatched input '<EOF>' expecting " + std::string(kExpressionStarts));
  failed_ = true;
}

void TokenStream::FailAfterDot() {
  const Token& token = Now();
  if (token.Is("in")) return Report(token, "no viable alternative at input '.in'");
  if (token.kind == TokenKind::kTrue || token.kind == TokenKind::kFalse || token.kind == TokenKind::kNull) {
    return Fail(token, "mismatched input '" + token.text + "' expecting IDENTIFIER");
  }
  Fail(token, "no viable alternative at input '." + (token.kind == TokenKind::kEnd ? "" : token.text) + "'");
}

}  // namespace berth::cel
