// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/best_price/price.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/base/random.h"

namespace berth::plugins {
namespace {

TEST(ParsePrice, Texts) {
  struct Case {
    std::string text;
    std::optional<std::int64_t> want;
  };
  const Case cases[] = {
      {"0", 0},
      {"0.05", 50'000},
      {"12", 12'000'000},
      {".5", 500'000},
      {"5.", 5'000'000},
      {"0.000001", 1},
      {"0.0000004", 0},
      {"0.0000005", 1},
      {"0.00000049999", 0},
      {"0.1234564999", 123'456},
      {"0.1234565", 123'457},
      {"0.9999999", 1'000'000},
      {"007.50", 7'500'000},
      {"1000000000", kPriceMicroMax},
      {"1000000000.000000", kPriceMicroMax},
      {"999999999.999999", kPriceMicroMax - 1},
      {"999999999.9999996", kPriceMicroMax},
      {std::string(100'000, '0') + "1", 1'000'000},
      {"1." + std::string(100'000, '0'), 1'000'000},
      {"1000000000.0000001", std::nullopt},
      {"1000000001", std::nullopt},
      {std::string(100'000, '9'), std::nullopt},
      {"", std::nullopt},
      {".", std::nullopt},
      {"-1", std::nullopt},
      {"-0", std::nullopt},
      {"+1", std::nullopt},
      {" 1", std::nullopt},
      {"1 ", std::nullopt},
      {"1\n", std::nullopt},
      {"1 000", std::nullopt},
      {"1,5", std::nullopt},
      {"1,000.00", std::nullopt},
      {"1_000", std::nullopt},
      {"1.2.3", std::nullopt},
      {"1e3", std::nullopt},
      {"0x10", std::nullopt},
      {"NaN", std::nullopt},
      {"inf", std::nullopt},
      {"Infinity", std::nullopt},
      {"$0.05", std::nullopt},
      {"0.05$", std::nullopt},
      {"€0.05", std::nullopt},
      {"0.05 EUR", std::nullopt},
      {"100m", std::nullopt},
      {"cheap", std::nullopt},
      {"\xd9\xa1", std::nullopt},  // a digit, but not one of ours
      {std::string("1\0", 2), std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(ParsePrice(c.text), c.want) << c.text.substr(0, 40);
}

TEST(ParsePrice, WhatIsNoPriceIsSaidOnOneLine) {
  EXPECT_EQ(NotAPrice("1,5"), "\"1,5\" is no price: want a decimal number from 0 to 1000000000");
  EXPECT_EQ(NotAPrice("a\nb"), "\"a\\nb\" is no price: want a decimal number from 0 to 1000000000");
  EXPECT_LT(NotAPrice(std::string(200'000, 'x')).size(), 200u);
}

TEST(FormatPrice, IsReadBackAsTheSame) {
  EXPECT_EQ(FormatPrice(0), "0.00");
  EXPECT_EQ(FormatPrice(50'000), "0.05");
  EXPECT_EQ(FormatPrice(1'600'000), "1.60");
  EXPECT_EQ(FormatPrice(12'000'000), "12.00");
  EXPECT_EQ(FormatPrice(37'500), "0.0375");
  EXPECT_EQ(FormatPrice(1), "0.000001");
  EXPECT_EQ(FormatPrice(kPriceMicroMax), "1000000000.00");
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto price = static_cast<std::int64_t>(random.Next() >> (14 + random.Below(40)));
    if (price > kPriceMicroMax) continue;
    ASSERT_EQ(ParsePrice(FormatPrice(price)), price);
  }
}

}  // namespace
}  // namespace berth::plugins
