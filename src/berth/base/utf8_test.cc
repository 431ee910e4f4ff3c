// SPDX-License-Identifier: Apache-2.0
#include "berth/base/utf8.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Utf8, WhatIsValid) {
  for (const char* good : {"", "plain", "\x7f", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
                           "a\xe2\x82\xac"
                           "b"}) {
    EXPECT_TRUE(IsValidUtf8(good)) << good;
  }
  const struct {
    const char* name;
    const char* text;
  } bad[] = {
      {"a continuation alone", "\x80"},       {"cut", "a\xe2\x82"},
      {"a letter inside", "\xc3q"},           {"two bytes for ASCII", "\xc1\xbf"},
      {"three for two", "\xe0\x9f\xbf"},      {"four for three", "\xf0\x8f\xbf\xbf"},
      {"half of a pair", "\xed\xa0\x80"},     {"beyond the last character", "\xf4\x90\x80\x80"},
      {"no lead at all", "\xf8\x88\x80\x80"}, {"after valid text", "plain\xff"},
  };
  for (const auto& test : bad) EXPECT_FALSE(IsValidUtf8(test.text)) << test.name;
}

TEST(Utf8, CutsBetweenCharacters) {
  const std::string_view text = "a\xc3\xa9\xe2\x82\xac";
  EXPECT_EQ(CutUtf8(text, 6), text);
  EXPECT_EQ(CutUtf8(text, 5), "a\xc3\xa9");
  EXPECT_EQ(CutUtf8(text, 3), "a\xc3\xa9");
  EXPECT_EQ(CutUtf8(text, 2), "a");
  EXPECT_EQ(CutUtf8(text, 0), "");
}

TEST(Utf8, ReadsAndWritesCharacters) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xa2";
  const std::vector<char32_t> runes = Runes(text);
  EXPECT_EQ(runes, (std::vector<char32_t>{'a', 0xe9, 0x20ac, 0x1f6a2}));
  EXPECT_EQ(TextOf(runes, 0, runes.size()), text);
  EXPECT_EQ(TextOf(runes, 1, 2), "\xc3\xa9");
  // As in Go, each byte of an invalid sequence is one character.
  EXPECT_EQ(Runes("\xed\xa0z"), (std::vector<char32_t>{kRuneError, kRuneError, 'z'}));
  EXPECT_EQ(DecodeRune("").size, 0U);
  std::string out;
  AppendRune(0xd800, out);
  EXPECT_EQ(out, "\xef\xbf\xbd");
}

}  // namespace
}  // namespace berth
