// SPDX-License-Identifier: Apache-2.0
// TokenStream: the tokens of an expression from left to right, with the syntax errors of ANTLR's recovery: a single
// token is skipped or inserted, any other error ends parsing. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/languages/cel/lexer.h"

namespace berth::cel {

// The tokens that may begin an expression, as ANTLR lists them.
inline constexpr std::string_view kExpressionStarts =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

class TokenStream {
 public:
  // `issues` must outlive it.
  TokenStream(std::vector<Token> tokens, Issues& issues) : tokens_(std::move(tokens)), issues_(issues) {}

  const Token& Now() const { return tokens_[at_]; }
  const Token& Ahead(std::size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  bool IsNow(std::string_view punctuation) const { return !failed_ && Now().Is(punctuation); }
  Token Take() {
    Token token = Now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool TakeIf(std::string_view punctuation) {
    if (!IsNow(punctuation)) return false;
    Take();
    return true;
  }
  void Report(const Token& token, std::string message);
  void Fail(const Token& token, std::string message);
  // Takes `punctuation`. As ANTLR, skips one token before it, or inserts it before the end.
  void Expect(std::string_view punctuation, std::string_view expected = {});
  // Checks that an expression begins here, or `closing` follows. Returns false if neither does, which has been
  // reported.
  bool SyncExpression(std::string_view expected, std::string_view closing = {});
  // Number of tokens in a.b.c if a brace follows; otherwise 0.
  std::size_t StructNameLength() const;
  // Whether another element of a list or map follows. At the beginning, skips a token that cannot begin one.
  bool HasElement(std::string_view closing, std::string_view starts, bool is_first);
  // Continues after an element: returns true for a comma, false at the end.
  bool TakeComma(std::string_view closing);
  // ANTLR's messages for a - or a . without a valid continuation.
  void FailAfterMinus();
  void FailAfterDot();
  // Parsing has ended with an error, which has been reported.
  bool failed() const { return failed_; }
  void SetFailed() { failed_ = true; }

 private:
  std::vector<Token> tokens_;
  Issues& issues_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// The function of a relation (==, in, ...); empty for other tokens.
std::string_view RelationOperator(const Token& token);

struct Arithmetic {
  std::string_view function;
  int precedence = 0;  // 0: the token is not such an operator
};
Arithmetic ArithmeticOperator(const Token& token);

bool StartsExpression(const Token& token);

}  // namespace berth::cel
