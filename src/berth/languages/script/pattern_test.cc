// SPDX-License-Identifier: Apache-2.0
// Lua's patterns according to the manual, and the limit on their work.
#include "berth/languages/script/pattern.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::script {
namespace {

// "begin-end:capture,capture" of the first match (positions as "@n"), "none", or the error.
std::string FirstMatch(std::string_view subject, std::string_view pattern, std::int64_t steps = 100'000) {
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  Pattern match(subject, pattern, steps);
  for (std::size_t at = 0; at <= subject.size(); ++at) {
    switch (match.MatchAt(at)) {
      case Pattern::Result::kMatch: {
        std::string text = std::to_string(at) + "-" + std::to_string(match.end());
        for (int i = 0; i < match.capture_count(); ++i) {
          const Pattern::Capture& capture = match.capture(i);
          text += i == 0 ? ":" : ",";
          text += capture.length == Pattern::kPosition ? "@" + std::to_string(capture.begin)
                                                       : std::string(subject.substr(capture.begin, capture.length));
        }
        return text;
      }
      case Pattern::Result::kNoMatch: break;
      case Pattern::Result::kOutOfSteps: return "out of steps";
      case Pattern::Result::kMalformed: return match.error();
    }
    if (is_anchored) break;
  }
  return "none";
}

TEST(Pattern, Matches) {
  const struct {
    const char* subject;
    const char* pattern;
    const char* want;
  } kCases[] = {
      {"zone-a", "zone", "0-4"},
      {"zone-a", "%-", "4-5"},
      {"zone-a", "x", "none"},
      {"", "", "0-0"},
      {"abc", "", "0-0"},
      {"abc", "^b", "none"},
      {"abc", "^a", "0-1"},
      {"abc", "c$", "2-3"},
      {"a$c", "a$c", "0-3"},
      {"abc", "b$", "none"},
      {"aaa", "a*", "0-3"},
      {"aaa", "a-", "0-0"},
      {"aaa", "^a-$", "0-3"},
      {"aaa", "a+", "0-3"},
      {"bbb", "a+", "none"},
      {"bbb", "a*", "0-0"},
      {"color", "colou?r", "0-5"},
      {"colour", "colou?r", "0-6"},
      {"key=value", "(%w+)=(%w+)", "0-9:key,value"},
      {"key=value", "()=()", "3-4:@3,@4"},
      {"((a))", "((%a))", "2-3:a,a"},
      {"nested", "(n(e)(s)t)", "0-4:nest,e,s"},
      {"f(a(b)c)d", "%b()", "1-8"},
      {"f(a(b)c", "%b()", "3-6"},
      {"THE (quick) fox", "%f[%a]%a+%f[%A]", "0-3"},
      {"12:34", "^(%d+):(%d+)$", "0-5:12,34"},
      {"x=[[y]]", "%[(=*)%[", "2-4:"},
      {"hello hello", "(%w+) %1", "0-11:hello"},
      {"hello help", "(%w+) %1", "none"},
      {"hello ohelp", "(%w+) %1", "4-7:o"},
      {"a-b]c", "[]]", "3-4"},
      {"a-b]c", "[^a%-b]", "3-4"},
      {"m5.large", "%.", "2-3"},
      {"m5.large", "[0-9]", "1-2"},
      {"m5-large", "[a-]", "2-3"},
      {"A\tb", "%s", "1-2"},
      {"abcXYZ", "%u+", "3-6"},
      {"abcXYZ", "%L+", "3-6"},
      {"a,b", "%p", "1-2"},
      {"a\x01", "%c", "1-2"},
      {"0xFF", "%x+$", "2-4"},
      {"a b", "%g+", "0-1"},
      {"az", "[%z]", "none"},
      {"az", "%Z+", "0-2"},
      {"aab", "()a%1", "none"},
      {"h\xc3\xa9", "%w+", "0-1"},
  };
  for (const auto& test : kCases) EXPECT_EQ(FirstMatch(test.subject, test.pattern), test.want) << test.pattern;
}

TEST(Pattern, Malformed) {
  const struct {
    const char* pattern;
    const char* want;
  } kCases[] = {
      {"%", "malformed pattern (ends with '%')"},
      {"[a", "malformed pattern (missing ']')"},
      {"[]", "malformed pattern (missing ']')"},
      {"[%", "malformed pattern (missing ']')"},
      {"a)", "invalid pattern capture"},
      {"%1", "invalid capture index %1"},
      {"(%1)", "invalid capture index %1"},
      {"%0", "invalid capture index %0"},
      {"%b", "malformed pattern (missing arguments to '%b')"},
      {"%bx", "malformed pattern (missing arguments to '%b')"},
      {"%fa", "missing '[' after '%f' in pattern"},
  };
  for (const auto& test : kCases) EXPECT_EQ(FirstMatch("abc", test.pattern), test.want) << test.pattern;
  std::string many;
  for (int i = 0; i < 40; ++i) many += "()";
  EXPECT_EQ(FirstMatch("abc", many), "too many captures");
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "a?";
  EXPECT_EQ(FirstMatch(std::string(400, 'a'), deep), "pattern too complex");
}

TEST(Pattern, WorkIsBounded) {
  const std::string subject(100, 'a');
  EXPECT_EQ(FirstMatch(subject, "(.-)(.-)(.-)(.-)(.-)(.-)(.-)b"), "out of steps");
  EXPECT_EQ(FirstMatch(subject, ".*.*.*.*.*.*.*b"), "out of steps");
  EXPECT_EQ(FirstMatch(subject, "a*$"), "0-100");
  EXPECT_EQ(FirstMatch(subject, "a*$", 50), "out of steps");
  EXPECT_EQ(FirstMatch(std::string(200'000, '('), "%b()"), "out of steps");
  EXPECT_EQ(FirstMatch("x", "[" + std::string(200'000, 'y') + "]"), "out of steps");
}

TEST(Pattern, IsPlain) {
  EXPECT_TRUE(Pattern::IsPlain("zone_a b"));
  for (const char* pattern : {"^a", "a$", "a*", "a+", "a?", "a.b", "(a", "[a", "%a", "a-b"})
    EXPECT_FALSE(Pattern::IsPlain(pattern)) << pattern;
}

}  // namespace
}  // namespace berth::script
