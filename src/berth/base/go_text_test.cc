// SPDX-License-Identifier: Apache-2.0
#include "berth/base/go_text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Texts = std::vector<std::string>;

TEST(GoText, QuotesAsPercentQ) {
  EXPECT_EQ(GoQuoted(""), R"("")");
  EXPECT_EQ(GoQuoted("a\"b\\"), R"("a\"b\\")");
  EXPECT_EQ(GoQuoted("\a\b\f\n\r\t\v"), R"("\a\b\f\n\r\t\v")");
  EXPECT_EQ(GoQuoted(std::string_view("\0\x1f\x7f\xff\xc3\xa9", 6)), "\"\\x00\\x1f\\x7f\\xff\xc3\xa9\"");
  EXPECT_EQ(GoQuoted("\xc2\xa0\xe2\x80\xa8\xf0\x9f\x9a\xa2"), "\"\\u00a0\\u2028\xf0\x9f\x9a\xa2\"");
}

TEST(GoText, Json) {
  EXPECT_EQ(GoJson(std::string_view("a\"\\\n\r\t\b\f\x01<>&\x7f\xff\xc3\xa9\xe2\x80\xa9")),
            "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u003c\\u003e\\u0026\x7f\\ufffd\xc3\xa9\\u2029\"");
  EXPECT_EQ(GoJson(Texts{}), "null");
  EXPECT_EQ(GoJson(Texts{"a", "<"}), R"(["a","\u003c"])");
}

TEST(GoText, Lists) {
  EXPECT_EQ(GoList({}), "[]");
  EXPECT_EQ(GoList(Texts{"a"}), "[a]");
  EXPECT_EQ(GoList(Texts{"a", "", "b"}), "[a  b]");
}

TEST(GoText, AggregatesCountAnErrorOnce) {
  EXPECT_EQ(GoAggregate({}), "");
  EXPECT_EQ(GoAggregate(Texts{"a"}), "a");
  EXPECT_EQ(GoAggregate(Texts{"a", "a"}), "a");
  EXPECT_EQ(GoAggregate(Texts{"b", "a", "b"}), "[b, a]");
}

TEST(GoText, Splits) {
  EXPECT_EQ(GoSplit("", "__"), (Texts{""}));
  EXPECT_EQ(GoSplit("a", "__"), (Texts{"a"}));
  EXPECT_EQ(GoSplit("a__b____c", "__"), (Texts{"a", "b", "", "c"}));
  EXPECT_EQ(GoSplit("-", "-"), (Texts{"", ""}));
}

}  // namespace
}  // namespace berth
