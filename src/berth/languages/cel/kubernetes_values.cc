// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/kubernetes_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "berth/base/go_text.h"
#include "berth/base/text.h"

namespace berth::cel {
namespace {

bool IsDigits(std::string_view text) { return std::ranges::all_of(text, IsDigit); }
bool IsIdentifier(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return IsAlphanumeric(c) || c == '-'; });
}

std::vector<std::string_view> SplitAt(std::string_view text, char separator, std::size_t parts_max) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < parts_max) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

// Parses a number like strconv.ParseUint, with its errors.
Expected<std::uint64_t> ParseUint(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc::result_out_of_range) {
    return InvalidError("strconv.ParseUint: parsing " + GoQuoted(text) + ": value out of range");
  }
  if (failure != std::errc() || end != text.data() + text.size()) {
    return InvalidError("strconv.ParseUint: parsing " + GoQuoted(text) + ": invalid syntax");
  }
  return number;
}

Expected<std::uint64_t> ParsePart(std::string_view text, std::string_view lower, std::string_view upper) {
  if (!IsDigits(text)) {
    return InvalidError("Invalid character(s) found in " + std::string(lower) + " number " + GoQuoted(text));
  }
  if (text.size() > 1 && text[0] == '0') {
    return InvalidError(std::string(upper) + " number must not contain leading zeroes " + GoQuoted(text));
  }
  return ParseUint(text);
}

Expected<Semver::Identifier> ParsePrerelease(std::string_view text) {
  if (text.empty()) return InvalidError("Prerelease is empty");
  if (IsDigits(text)) {
    if (text.size() > 1 && text[0] == '0') {
      return InvalidError("Numeric PreRelease version must not contain leading zeroes " + GoQuoted(text));
    }
    BERTH_ASSIGN_OR_RETURN(const std::uint64_t number, ParseUint(text));
    return Semver::Identifier{{}, number, true};
  }
  if (!IsIdentifier(text)) return InvalidError("Invalid character(s) found in prerelease " + GoQuoted(text));
  return Semver::Identifier{std::string(text), 0, false};
}

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int OrderIdentifiers(const Semver::Identifier& a, const Semver::Identifier& b) {
  if (a.is_number != b.is_number) return a.is_number ? -1 : 1;
  return a.is_number ? Order(a.number, b.number) : Order(a.text, b.text);
}

constexpr std::size_t kAnyParts = std::string_view::npos;

// A decimal number and a suffix, split like upstream's parseQuantityString.
struct QuantityParts {
  bool is_negative = false;
  std::string_view integer;  // without leading zeros, "0" when there is nothing else
  std::string_view fraction;
  std::string_view suffix;
};

std::optional<QuantityParts> CutQuantity(std::string_view text) {
  QuantityParts parts;
  std::size_t at = 0;
  if (text.starts_with('-') || text.starts_with('+')) {
    parts.is_negative = text[0] == '-';
    ++at;
  }
  while (at < text.size() && text[at] == '0') ++at;
  const auto take_digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return text.substr(begin, at - begin);
  };
  parts.integer = take_digits();
  if (parts.integer.empty()) parts.integer = "0";
  if (at < text.size() && text[at] == '.') {
    ++at;
    parts.fraction = take_digits();
  }
  const std::size_t suffix_at = at;
  while (at < text.size() && std::string_view("eEinumkKMGTP").find(text[at]) != std::string_view::npos) ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  take_digits();
  if (at != text.size()) return std::nullopt;
  parts.suffix = text.substr(suffix_at);
  return parts;
}

struct Suffix {
  int exponent = 0;
  bool is_binary = false;
};

std::optional<Suffix> InterpretSuffix(std::string_view suffix) {
  constexpr std::array<std::pair<std::string_view, Suffix>, 16> kSuffixes = {{{"", {0, false}},
                                                                              {"n", {-9, false}},
                                                                              {"u", {-6, false}},
                                                                              {"m", {-3, false}},
                                                                              {"k", {3, false}},
                                                                              {"M", {6, false}},
                                                                              {"G", {9, false}},
                                                                              {"T", {12, false}},
                                                                              {"P", {15, false}},
                                                                              {"E", {18, false}},
                                                                              {"Ki", {10, true}},
                                                                              {"Mi", {20, true}},
                                                                              {"Gi", {30, true}},
                                                                              {"Ti", {40, true}},
                                                                              {"Pi", {50, true}},
                                                                              {"Ei", {60, true}}}};
  for (const auto& [name, meaning] : kSuffixes) {
    if (name == suffix) return meaning;
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  std::string_view digits = suffix.substr(1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return Suffix{static_cast<int>(static_cast<std::uint32_t>(exponent)), false};
}

// The mantissa and exponent of upstream's int64Amount, if its ParseQuantity uses the fast path.
std::optional<QuantityValue::Scaled> QuickAmount(const QuantityParts& parts, const Suffix& suffix) {
  constexpr int kInt64Digits = 18;
  const int digits = static_cast<int>(parts.integer.size() + parts.fraction.size());
  std::int64_t factor = 1;
  int exponent = 0;
  int precision = -1;
  if (!suffix.is_binary) {
    exponent = suffix.exponent;
    precision = kInt64Digits - digits;
  } else if (parts.fraction.empty()) {
    factor = std::int64_t{1} << suffix.exponent;
    precision = 15 - static_cast<int>(parts.integer.size()) -
                static_cast<int>(static_cast<float>(suffix.exponent) * 3 / 10) - 1;
  }
  exponent -= static_cast<int>(parts.fraction.size());
  if (precision < 0 || exponent < -9) return std::nullopt;
  const std::string shifted = std::string(parts.integer) + std::string(parts.fraction);
  std::int64_t mantissa = 0;
  std::from_chars(shifted.data(), shifted.data() + shifted.size(), mantissa);
  if (__builtin_mul_overflow(mantissa, factor, &mantissa)) return std::nullopt;
  return QuantityValue::Scaled{parts.is_negative ? -mantissa : mantissa, exponent};
}

}  // namespace

Expected<Semver> Semver::Parse(std::string_view text) {
  if (text.empty()) return InvalidError("Version string empty");
  const auto parts = SplitAt(text, '.', 3);
  if (parts.size() != 3) return InvalidError("No Major.Minor.Patch elements found");
  Semver version;
  BERTH_ASSIGN_OR_RETURN(version.major, ParsePart(parts[0], "major", "Major"));
  BERTH_ASSIGN_OR_RETURN(version.minor, ParsePart(parts[1], "minor", "Minor"));
  std::string_view patch = parts[2];
  std::vector<std::string_view> build;
  std::vector<std::string_view> prerelease;
  if (const std::size_t at = patch.find('+'); at != std::string_view::npos) {
    build = SplitAt(patch.substr(at + 1), '.', kAnyParts);
    patch = patch.substr(0, at);
  }
  if (const std::size_t at = patch.find('-'); at != std::string_view::npos) {
    prerelease = SplitAt(patch.substr(at + 1), '.', kAnyParts);
    patch = patch.substr(0, at);
  }
  BERTH_ASSIGN_OR_RETURN(version.patch, ParsePart(patch, "patch", "Patch"));
  for (const std::string_view part : prerelease) {
    BERTH_ASSIGN_OR_RETURN(Identifier identifier, ParsePrerelease(part));
    version.prerelease.push_back(std::move(identifier));
  }
  for (const std::string_view part : build) {
    if (part.empty()) return InvalidError("Build meta data is empty");
    if (!IsIdentifier(part)) return InvalidError("Invalid character(s) found in build meta data " + GoQuoted(part));
    version.build.emplace_back(part);
  }
  return version;
}

Expected<Semver> Semver::ParseNormalized(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  for (std::string_view part : SplitAt(text, '.', 3)) {
    std::string normal(part);
    if (part.size() > 1) {
      while (part.starts_with('0')) part.remove_prefix(1);
      normal = part.empty() || !IsDigit(part[0]) ? "0" + std::string(part) : std::string(part);
    }
    parts.push_back(std::move(normal));
  }
  if (parts.size() < 3) {
    if (parts.back().find_first_of("+-") != std::string::npos) {
      return InvalidError("short version cannot contain PreRelease/Build meta data");
    }
    parts.resize(3, "0");
  }
  return Parse(parts[0] + "." + parts[1] + "." + parts[2]);
}

int Semver::Compare(const Semver& other) const {
  if (const int order = Order(major, other.major); order != 0) return order;
  if (const int order = Order(minor, other.minor); order != 0) return order;
  if (const int order = Order(patch, other.patch); order != 0) return order;
  if (prerelease.empty() || other.prerelease.empty()) return Order(prerelease.empty(), other.prerelease.empty());
  const std::size_t common = std::min(prerelease.size(), other.prerelease.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (const int order = OrderIdentifiers(prerelease[i], other.prerelease[i]); order != 0) return order;
  }
  return Order(prerelease.size(), other.prerelease.size());
}

std::string Semver::ToString() const {
  std::string text = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  for (std::size_t i = 0; i < prerelease.size(); ++i) {
    text += i == 0 ? "-" : ".";
    text += prerelease[i].is_number ? std::to_string(prerelease[i].number) : prerelease[i].text;
  }
  for (std::size_t i = 0; i < build.size(); ++i) text += (i == 0 ? "+" : ".") + build[i];
  return text;
}

Expected<QuantityValue> ParseQuantity(std::string_view text) {
  const auto format_error = [] {
    return InvalidError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  };
  if (text.empty()) return format_error();
  const auto parts = CutQuantity(text);
  if (!parts) return format_error();
  const auto suffix = InterpretSuffix(parts->suffix);
  if (!suffix) return InvalidError("unable to parse quantity's suffix");
  auto amount = api::Quantity::Parse(text);
  if (!amount.ok()) return InvalidError("unable to parse numeric part of quantity");
  return QuantityValue{*amount, QuickAmount(*parts, *suffix), false};
}

QuantityValue QuantityFromAmount(const api::Quantity& amount) {
  constexpr api::Quantity::Nanos kUnit = 1'000'000'000;
  QuantityValue quantity{amount, std::nullopt, false};
  // Trailing zeros go into the exponent, as in "1500m"; an integer keeps exponent 0.
  api::Quantity::Nanos mantissa = amount.nanos();
  int exponent = -9;
  if (mantissa % kUnit == 0) {
    mantissa /= kUnit;
    exponent = 0;
  }
  while (exponent < 0 && mantissa % 10 == 0) {
    mantissa /= 10;
    ++exponent;
  }
  if (mantissa >= INT64_MIN && mantissa <= INT64_MAX) {
    quantity.scaled = QuantityValue::Scaled{static_cast<std::int64_t>(mantissa), exponent};
  }
  return quantity;
}

}  // namespace berth::cel
