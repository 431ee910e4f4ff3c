// SPDX-License-Identifier: Apache-2.0
// TokenStream: the tokens of an expression, read from left to right, and the syntax errors that ANTLR's recovery would
// report on the way: one token left out or made up, then the end. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/languages/cel/lexer.h"

namespace berth::cel {

// What may begin an expression, as ANTLR lists it.
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
  // Takes `punctuation`, leaving out one token before it or adding it before the end, as ANTLR does.
  void Expect(std::string_view punctuation, std::string_view expected = {});
  // An expression must begin here, or `closing`. False: neither does, and that has been reported.
  bool SyncExpression(std::string_view expected, std::string_view closing = {});
  // How many tokens a.b.c are when a brace follows them; 0 when none does.
  std::size_t StructNameLength() const;
  // Whether another element follows in a list or map. Leaves out a token that is none, at the beginning.
  bool HasElement(std::string_view closing, std::string_view starts, bool is_first);
  // Goes on behind an element: true when a comma came, false at the end.
  bool TakeComma(std::string_view closing);
  // What ANTLR says of a - or a . that nothing sensible follows.
  void FailAfterMinus();
  void FailAfterDot();
  // Nothing more is read: the error has been reported.
  bool failed() const { return failed_; }
  void SetFailed() { failed_ = true; }

 private:
  std::vector<Token> tokens_;
  Issues& issues_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// The function that a relation (==, in, ...) stands for; empty for other tokens.
std::string_view RelationOperator(const Token& token);

struct Arithmetic {
  std::string_view function;
  int precedence = 0;  // 0: the token is no such operator
};
Arithmetic ArithmeticOperator(const Token& token);

bool StartsExpression(const Token& token);

}  // namespace berth::cel
