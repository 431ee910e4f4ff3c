// SPDX-License-Identifier: Apache-2.0
// Prices as annotations, arguments and files spell them. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::plugins {

// Prices are held in millionths of whatever currency the cluster uses.
inline constexpr std::int64_t kPriceMicroPerUnit = 1'000'000;
inline constexpr std::int64_t kPriceMicroMax = 1'000'000'000 * kPriceMicroPerUnit;

// A decimal number from 0 to 1e9, written as in Kubernetes' quantities but without suffix: "0.05", "12", ".5", "5.".
// Six digits after the point are exact, and what follows them is rounded half up. nullopt for all else: signs, spaces,
// exponents, currencies, thousands separators, infinity.
std::optional<std::int64_t> ParsePrice(std::string_view text);

// `"1,5" is no price: want a decimal number from 0 to 1000000000`. Long texts are cut, and control characters escaped.
std::string NotAPrice(std::string_view text);

// The price as text with two digits after the point, or as many as it takes: "0.05", "1.60", "12.00", "0.0375".
std::string FormatPrice(std::int64_t price_micro);

}  // namespace berth::plugins
