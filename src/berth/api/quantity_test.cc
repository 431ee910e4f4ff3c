// SPDX-License-Identifier: Apache-2.0
#include "berth/api/quantity.h"

#include <cstdlib>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <boost/multiprecision/cpp_int.hpp>

namespace berth::api {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(QuantityTest, Values) {
  struct Case {
    const char* text;
    std::int64_t value;
    std::int64_t milli;
  };
  const Case cases[] = {
      {"0", 0, 0},
      {"00", 0, 0},
      {"1", 1, 1000},
      {"+7", 7, 7000},
      {"-7", -7, -7000},
      {"100m", 1, 100},
      {"1500m", 2, 1500},
      {"-1500m", -2, -1500},
      {"0.1", 1, 100},
      {".5", 1, 500},
      {"5.", 5, 5000},
      {"1.G", 1'000'000'000, 1'000'000'000'000},
      {"250u", 1, 1},
      {"1000u", 1, 1},
      {"1001u", 1, 2},
      {"1n", 1, 1},
      {"0.1n", 1, 1},
      {"0.0000000001", 1, 1},
      {"0.0n", 0, 0},
      {"2k", 2000, 2'000'000},
      {"3M", 3'000'000, 3'000'000'000},
      {"4G", 4'000'000'000, 4'000'000'000'000},
      {"5T", 5'000'000'000'000, 5'000'000'000'000'000},
      {"6P", 6'000'000'000'000'000, 6'000'000'000'000'000'000},
      {"7E", 7'000'000'000'000'000'000, kMax},
      {"1Ki", 1024, 1024 * 1000},
      {"2Mi", 2 << 20, (2LL << 20) * 1000},
      {"3Gi", 3LL << 30, (3LL << 30) * 1000},
      {"4Ti", 4LL << 40, (4LL << 40) * 1000},
      {"5Pi", 5LL << 50, (5LL << 50) * 1000},
      {"7Ei", 7LL << 60, kMax},
      {"1.5Gi", 1'610'612'736, 1'610'612'736'000},
      {"0.001Ki", 2, 1024},
      {"0.0000000001Ki", 1, 1},
      {"1e3", 1000, 1'000'000},
      {"1E3", 1000, 1'000'000},
      {"1e+3", 1000, 1'000'000},
      {"12e-1", 2, 1200},
      {"1E", 1'000'000'000'000'000'000, kMax},
      {"1e-400", 1, 1},
      {"0e400", 0, 0},
      {"-1e-400", -1, -1},
      {"8Ei", kMax, kMax},
      {"-8Ei", -kMax, std::numeric_limits<std::int64_t>::min()},
      {"100E", kMax, kMax},
      {"1e400", kMax, kMax},
      {"9223372036854775807", kMax, kMax},
      {"9223372036854775808", kMax, kMax},
      {"99999999999999999999999999999999999999999999", kMax, kMax},
      {"0.00000000000000000000000000000000000000000000000000001", 1, 1},
      {"1.0000000000", 1, 1000},
      {"1.0000000001", 2, 1001},
      {"1e4294967296", 1, 1000},  // upstream keeps the low 32 bits of the exponent
      {"+", 0, 0},                // upstream's scanner reads these as zero
      {"-", 0, 0},
      {".", 0, 0},
      {".m", 0, 0},
      {"k", 0, 0},
      {"+Ki", 0, 0},
  };
  for (const Case& c : cases) {
    const auto quantity = Quantity::Parse(c.text);
    ASSERT_TRUE(quantity.ok()) << c.text << ": " << quantity.error().message;
    EXPECT_EQ(quantity->Value(), c.value) << c.text;
    EXPECT_EQ(quantity->MilliValue(), c.milli) << c.text;
  }
}

TEST(QuantityTest, Refusals) {
  const std::string format = " is no quantity: it must be a number and a suffix (such as 500m, 2, 1.5Gi or 1e3)";
  const std::string suffix =
      " is no quantity: its suffix must be one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent "
      "such as e3";
  const std::string digits = " is no quantity: it has no digits";
  const std::pair<const char*, std::string> cases[] = {
      {"", format},     {"x", format},     {"1x", format},    {" 1", format},
      {"1 ", format},   {"1.2.3", format}, {"1e3x", format},  {"--1", suffix},
      {"1,5", format},  {"0x10", format},  {"1e3.5", format}, {"12\n", format},
      {"1K", suffix},   {"1ki", suffix},   {"1mi", suffix},   {"1g", format},
      {"1e", suffix},   {"1Zi", format},   {"1m3", suffix},   {"1+3", suffix},
      {"1Ee3", suffix}, {"1kk", suffix},   {"1e+", suffix},   {"1e99999999999999999999", suffix},
      {"Pi", digits},   {"Ei", digits},    {".e-10", digits}, {"+Ei", digits},
      {"e-20", digits},
  };
  for (const auto& [text, why] : cases) {
    const auto quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity.ok()) << text;
    const std::string shown = std::string(text) == "12\n" ? "12?" : text;
    EXPECT_EQ(quantity.error().message, '"' + shown + '"' + why);
  }
  const auto long_text = Quantity::Parse(std::string(1000, 'y'));
  ASSERT_FALSE(long_text.ok());
  EXPECT_LT(long_text.error().message.size(), 200U);
}

TEST(QuantityTest, Compares) {
  EXPECT_EQ(*Quantity::Parse("1024Ki"), *Quantity::Parse("1Mi"));
  EXPECT_LT(*Quantity::Parse("999m"), Quantity::FromValue(1));
  EXPECT_GT(*Quantity::Parse("1n"), Quantity());
  EXPECT_EQ(Quantity::FromMilli(1500), *Quantity::Parse("1.5"));
  EXPECT_TRUE(Quantity::Parse("0.0Ki")->IsZero());
  EXPECT_TRUE(Quantity::Parse("-1n")->IsNegative());
}

// The plain twin: exact rational numbers.
struct Twin {
  boost::multiprecision::cpp_int nanos;

  static Twin Of(const std::string& digits, int point_at, int decimal_exponent, int binary_exponent) {
    using boost::multiprecision::cpp_int;
    const auto power = [](int base, int exponent) {
      cpp_int result = 1;
      for (int i = 0; i < exponent; ++i) result *= base;
      return result;
    };
    cpp_int numerator = 0;
    for (const char digit : digits) numerator = numerator * 10 + (digit - '0');
    numerator *= power(2, binary_exponent);
    const int exponent = decimal_exponent + 9 - (static_cast<int>(digits.size()) - point_at);
    cpp_int denominator = 1;
    if (exponent >= 0) {
      numerator *= power(10, exponent);
    } else {
      denominator = power(10, -exponent);
    }
    cpp_int nanos = (numerator + denominator - 1) / denominator;
    const cpp_int cap = cpp_int(kMax) * 1'000'000'000;
    return {nanos > cap ? cap : nanos};
  }
};

TEST(QuantityTest, AgreesWithBigNumbers) {
  struct Suffix {
    const char* text;
    int decimal;
    int binary;
  };
  static constexpr Suffix kSuffixes[] = {
      {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0}, {"", 0, 0},       {"k", 3, 0},     {"M", 6, 0},      {"G", 9, 0},
      {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0}, {"Ki", 0, 10},    {"Mi", 0, 20},   {"Gi", 0, 30},    {"Ti", 0, 40},
      {"Pi", 0, 50}, {"Ei", 0, 60}, {"e7", 7, 0}, {"E-12", -12, 0}, {"e+40", 40, 0}, {"e-60", -60, 0},
  };
  setenv("RC_PARAMS", "seed=1 max_success=2000", 0);  // deterministic cases, unless the caller sets another seed
  EXPECT_TRUE(rc::check("a parsed quantity equals exact arithmetic", [] {
    const int length = *rc::gen::inRange(1, 45);
    std::string digits;
    for (int i = 0; i < length; ++i) digits += static_cast<char>('0' + *rc::gen::inRange(0, 10));
    const int point_at = *rc::gen::inRange(0, length + 1);
    const Suffix suffix = *rc::gen::elementOf(std::vector<Suffix>(std::begin(kSuffixes), std::end(kSuffixes)));
    const bool is_negative = *rc::gen::inRange(0, 4) == 0;
    const std::string text = (is_negative ? "-" : "") + digits.substr(0, static_cast<std::size_t>(point_at)) + "." +
                             digits.substr(static_cast<std::size_t>(point_at)) + suffix.text;
    const auto quantity = Quantity::Parse(text);
    RC_ASSERT(quantity.ok());
    const Twin twin = Twin::Of(digits, point_at, suffix.decimal, suffix.binary);
    boost::multiprecision::cpp_int nanos = 0;
    const Quantity::Nanos got = is_negative ? -quantity->nanos() : quantity->nanos();
    nanos = static_cast<std::uint64_t>(got >> 64);
    nanos = (nanos << 64) + static_cast<std::uint64_t>(got);
    RC_ASSERT(nanos == twin.nanos);
  }));
}

}  // namespace
}  // namespace berth::api
