// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/token_stream.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/languages/cel/lexer.h"

namespace berth::cel {
namespace {

struct Text {
  explicit Text(std::string_view text) : source(text), issues(source), tokens(Tokenize(source, issues), issues) {}
  // The text of the first error.
  std::string Error() const {
    const std::string all = issues.ToString();
    constexpr std::string_view kLead = "Syntax error: ";
    const std::size_t begin = all.find(kLead);
    if (begin == std::string::npos) return all;
    return all.substr(begin + kLead.size(), all.find('\n') - begin - kLead.size());
  }

  Source source;
  Issues issues;
  TokenStream tokens;
};

TEST(TokenStream, ReadsFromLeftToRightAndStaysAtTheEnd) {
  Text text("a + 1");
  EXPECT_EQ(text.tokens.Take().text, "a");
  EXPECT_TRUE(text.tokens.IsNow("+"));
  EXPECT_EQ(text.tokens.Ahead(1).text, "1");
  EXPECT_EQ(text.tokens.Ahead(9).kind, TokenKind::kEnd);
  EXPECT_TRUE(text.tokens.TakeIf("+"));
  EXPECT_FALSE(text.tokens.TakeIf("+"));
  text.tokens.Take();
  text.tokens.Take();
  EXPECT_EQ(text.tokens.Take().kind, TokenKind::kEnd);
}

// ANTLR skips or inserts one token; any other error ends parsing.
TEST(TokenStream, ExpectsAClosingSign) {
  const struct {
    const char* name;
    const char* text;
    const char* error;
    bool fails;
  } kCases[] = {
      {"there", ")", "", false},
      {"one token before it", "a )", "extraneous input 'a' expecting ')'", false},
      {"the end instead", "", "missing ')' at '<EOF>'", true},
      {"something else", "a b", "mismatched input 'a' expecting ')'", true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Text text(c.text);
    text.tokens.Expect(")");
    EXPECT_EQ(text.Error(), c.error);
    EXPECT_EQ(text.tokens.failed(), c.fails);
  }
}

TEST(TokenStream, FindsTheBeginningOfAnExpression) {
  const struct {
    const char* name;
    const char* text;
    bool begins;
    bool fails;
  } kCases[] = {
      {"a name", "a", true, false},
      {"one token too many", ") a", true, false},
      {"an operator without its left side", "* a", true, false},
      {"nothing", "", false, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Text text(c.text);
    EXPECT_EQ(text.tokens.SyncExpression(kExpressionStarts), c.begins);
    EXPECT_EQ(text.tokens.failed(), c.fails);
  }
}

TEST(TokenStream, MeasuresTheNameOfAStruct) {
  EXPECT_EQ(Text("a.b.c{}").tokens.StructNameLength(), 5U);
  EXPECT_EQ(Text("a{}").tokens.StructNameLength(), 1U);
  EXPECT_EQ(Text("a.b").tokens.StructNameLength(), 0U);
}

TEST(TokenStream, ReadsNothingMoreOnceItHasFailed) {
  Text text("a , b");
  text.tokens.Fail(text.tokens.Now(), "no");
  text.tokens.Fail(text.tokens.Now(), "again");
  text.tokens.Take();
  EXPECT_FALSE(text.tokens.IsNow(","));
  EXPECT_FALSE(text.tokens.TakeIf(","));
  EXPECT_EQ(text.Error(), "no");
}

}  // namespace
}  // namespace berth::cel
