// SPDX-License-Identifier: Apache-2.0
#include "berth/base/text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Parts = std::vector<std::string_view>;

TEST(TextTest, TrimsBothEnds) {
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n "), "");
  EXPECT_EQ(Trim(""), "");
  EXPECT_EQ(Trim("__a_b_", "_"), "a_b");
}

TEST(TextTest, SplitsAtEachSeparator) {
  EXPECT_EQ(Split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(Split("", ','), Parts{""});
  EXPECT_EQ(Split("a,", ','), (Parts{"a", ""}));
}

TEST(TextTest, JoinsTextsOfAnyKind) {
  EXPECT_EQ(Joined(Parts{"a", "b"}), "a, b");
  EXPECT_EQ(Joined(std::vector<std::string>{"", "b", ""}, "+"), "+b+");
  EXPECT_EQ(Joined(Parts{}), "");
}

TEST(TextTest, LowersAsciiAlone) { EXPECT_EQ(LowerCase(std::string_view("AzZ-\xc3\x84")), "azz-\xc3\x84"); }

TEST(TextTest, QuotesForeignTextOnOneShortLine) {
  EXPECT_EQ(Quoted("a b"), "\"a b\"");
  EXPECT_EQ(Quoted("a\nb\x7f"), "\"a?b?\"");
  EXPECT_EQ(Quoted("a\xff\xc3\xa4\xc3"), "\"a?\xc3\xa4?\"");
  EXPECT_EQ(Quoted(std::string(100, 'x')), '"' + std::string(100, 'x') + '"');
  EXPECT_EQ(Quoted(std::string(101, 'x')), '"' + std::string(100, 'x') + "...\"");
  // A character is not cut in two.
  EXPECT_EQ(Quoted(std::string(99, 'x') + "\xc3\xa4y"), '"' + std::string(99, 'x') + "...\"");
}

}  // namespace
}  // namespace berth
