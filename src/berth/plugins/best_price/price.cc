// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/best_price/price.h"

#include "berth/base/go_text.h"
#include "berth/base/text.h"

namespace berth::plugins {
namespace {

constexpr std::int64_t kUnitsMax = kPriceMicroMax / kPriceMicroPerUnit;
constexpr int kDigitsExact = 6;
constexpr std::size_t kShownBytesMax = 40;

}  // namespace

std::optional<std::int64_t> ParsePrice(std::string_view text) {
  std::size_t at = 0;
  std::size_t digits = 0;
  std::int64_t units = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at, ++digits) {
    units = units * 10 + (text[at] - '0');
    if (units > kUnitsMax) return std::nullopt;
  }
  std::int64_t micro = 0;
  int fraction_digits = 0;
  bool is_rounded_up = false;
  bool has_fraction = false;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && IsDigit(text[at]); ++at, ++digits) {
      const int digit = text[at] - '0';
      has_fraction |= digit != 0;
      if (fraction_digits < kDigitsExact) micro = micro * 10 + digit;
      if (fraction_digits == kDigitsExact) is_rounded_up = digit >= 5;
      if (fraction_digits <= kDigitsExact) ++fraction_digits;
    }
  }
  if (at != text.size() || digits == 0 || (units == kUnitsMax && has_fraction)) return std::nullopt;
  for (int i = fraction_digits; i < kDigitsExact; ++i) micro *= 10;
  return units * kPriceMicroPerUnit + micro + (is_rounded_up ? 1 : 0);
}

std::string NotAPrice(std::string_view text) {
  const bool is_cut = text.size() > kShownBytesMax;
  return GoQuoted(text.substr(0, kShownBytesMax)) + (is_cut ? "..." : "") +
         " is no price: want a decimal number from 0 to " + std::to_string(kUnitsMax);
}

std::string FormatPrice(std::int64_t price_micro) {
  constexpr std::size_t kDigitsMin = 2;
  std::string fraction = std::to_string(price_micro % kPriceMicroPerUnit);
  fraction.insert(0, static_cast<std::size_t>(kDigitsExact) - fraction.size(), '0');
  while (fraction.size() > kDigitsMin && fraction.back() == '0') fraction.pop_back();
  return std::to_string(price_micro / kPriceMicroPerUnit) + '.' + fraction;
}

}  // namespace berth::plugins
