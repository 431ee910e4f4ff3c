// SPDX-License-Identifier: Apache-2.0
#include "berth/api/quantity.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "berth/base/text.h"

namespace berth::api {
namespace {

using Nanos = Quantity::Nanos;
__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr Wide kNanosCap = static_cast<Wide>(kInt64Max) * 1'000'000'000U;
constexpr int kNanoDigits = 9;
// 10^29 nano-units are above the cap, and fit into 128 bits with room for one more digit.
constexpr int kIntegerDigitsMax = 29;

struct Suffix {
  int decimal_exponent = 0;  // of 10
  int binary_exponent = 0;   // of 2; 0 for decimal suffixes
};

Error NoQuantity(std::string_view text, std::string_view why) {
  return InvalidError(Quoted(text) + " is no quantity: " + std::string(why));
}

Error FormatWrong(std::string_view text) {
  return NoQuantity(text, "it must be a number and a suffix (such as 500m, 2, 1.5Gi or 1e3)");
}

Error SuffixWrong(std::string_view text) {
  return NoQuantity(
      text, "its suffix must be one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3");
}

// The exponent after "e" or "E": an int64 as strconv.ParseInt reads it, of which upstream keeps the low 32 bits.
std::optional<int> ParseExponent(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t exponent = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int>(static_cast<std::uint32_t>(exponent));
}

std::optional<Suffix> ParseSuffix(std::string_view text) {
  if (text.empty()) return Suffix{};
  if (text.size() == 1) {
    switch (text[0]) {
      case 'n': return Suffix{-9, 0};
      case 'u': return Suffix{-6, 0};
      case 'm': return Suffix{-3, 0};
      case 'k': return Suffix{3, 0};
      case 'M': return Suffix{6, 0};
      case 'G': return Suffix{9, 0};
      case 'T': return Suffix{12, 0};
      case 'P': return Suffix{15, 0};
      case 'E': return Suffix{18, 0};
      default: return std::nullopt;
    }
  }
  if (text.size() == 2 && text[1] == 'i') {
    switch (text[0]) {
      case 'K': return Suffix{0, 10};
      case 'M': return Suffix{0, 20};
      case 'G': return Suffix{0, 30};
      case 'T': return Suffix{0, 40};
      case 'P': return Suffix{0, 50};
      case 'E': return Suffix{0, 60};
      default: return std::nullopt;
    }
  }
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  const auto exponent = ParseExponent(text.substr(1));
  if (!exponent) return std::nullopt;
  return Suffix{*exponent, 0};
}

// The parts of the text: the digits before and after the point, and the suffix.
struct Parts {
  bool is_negative = false;
  std::string_view integer;  // without leading zeros
  std::string_view fraction;
  std::string_view suffix;
  bool has_digits = false;
};

std::optional<Parts> PartsOf(std::string_view text) {
  constexpr std::string_view kSuffixLetters = "eEinumkKMGTP";
  Parts parts;
  std::size_t at = 0;
  const auto take_digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    if (at > begin) parts.has_digits = true;
    return text.substr(begin, at - begin);
  };
  if (text[0] == '+' || text[0] == '-') {
    parts.is_negative = text[0] == '-';
    ++at;
  }
  if (at == text.size()) parts.has_digits = true;  // as in upstream, a sign alone is zero
  parts.integer = take_digits();
  while (parts.integer.starts_with('0')) parts.integer.remove_prefix(1);
  if (at < text.size() && text[at] == '.') {
    ++at;
    parts.fraction = take_digits();
  }
  parts.suffix = text.substr(at);
  while (at < text.size() && kSuffixLetters.find(text[at]) != std::string_view::npos) ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  while (at < text.size() && IsDigit(text[at])) ++at;
  if (at != text.size()) return std::nullopt;
  return parts;
}

// The digits of a decimal number without the point.
struct Digits {
  std::string_view head;
  std::string_view tail;

  std::size_t size() const { return head.size() + tail.size(); }
  unsigned at(std::size_t i) const {
    return static_cast<unsigned>((i < head.size() ? head[i] : tail[i - head.size()]) - '0');
  }
};

// digits * 10^exponent * 2^binary_exponent, rounded up, at most kNanosCap.
Wide Scale(Digits digits, std::int64_t exponent, int binary_exponent) {
  while (digits.head.starts_with('0')) digits.head.remove_prefix(1);
  if (digits.head.empty()) {
    while (digits.tail.starts_with('0')) digits.tail.remove_prefix(1);
  }
  if (digits.size() == 0) return 0;

  const std::int64_t integer_digits = static_cast<std::int64_t>(digits.size()) + exponent;
  if (integer_digits > kIntegerDigitsMax) return kNanosCap;
  // 2^60 has 19 digits: with a smaller exponent the result is below one nano-unit, which rounds up to 1.
  if (integer_digits < -19) return 1;

  Wide integer = 0;
  for (std::int64_t i = 0; i < integer_digits; ++i) {
    const bool is_given = i < static_cast<std::int64_t>(digits.size());
    integer = integer * 10 + (is_given ? digits.at(static_cast<std::size_t>(i)) : 0);
  }
  if (integer > (kNanosCap >> binary_exponent)) return kNanosCap;

  std::string fraction;  // digits after the point, as values 0..9
  if (exponent < 0) {
    if (integer_digits < 0) fraction.assign(static_cast<std::size_t>(-integer_digits), '\0');
    const auto first = static_cast<std::size_t>(integer_digits > 0 ? integer_digits : 0);
    for (std::size_t i = first; i < digits.size(); ++i) fraction += static_cast<char>(digits.at(i));
  }
  constexpr int kStepBits = 10;  // every binary suffix is a power of 1024
  for (int bits = 0; bits < binary_exponent; bits += kStepBits) {
    unsigned carry = 0;
    for (std::size_t i = fraction.size(); i-- > 0;) {
      const unsigned product = (static_cast<unsigned>(fraction[i]) << kStepBits) + carry;
      fraction[i] = static_cast<char>(product % 10);
      carry = product / 10;
    }
    integer = (integer << kStepBits) + carry;
  }
  if (fraction.find_first_not_of('\0') != std::string::npos) ++integer;
  return integer > kNanosCap ? kNanosCap : integer;
}

std::int64_t RoundAwayFromZero(Nanos nanos, Nanos unit) {
  Nanos quotient = nanos / unit;
  if (const Nanos rest = nanos % unit; rest > 0) {
    ++quotient;
  } else if (rest < 0) {
    --quotient;
  }
  if (quotient > kInt64Max) return kInt64Max;
  if (quotient < std::numeric_limits<std::int64_t>::min()) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(quotient);
}

}  // namespace

Expected<Quantity> Quantity::Parse(std::string_view text) {
  if (text.empty()) return FormatWrong(text);
  const auto parts = PartsOf(text);
  if (!parts) return FormatWrong(text);
  const auto suffix = ParseSuffix(parts->suffix);
  if (!suffix) return SuffixWrong(text);
  // Upstream's fast path reads missing digits as zero; its slow path rejects them.
  if (!parts->has_digits && (suffix->decimal_exponent < -kNanoDigits || suffix->binary_exponent >= 50)) {
    return NoQuantity(text, "it has no digits");
  }
  const std::int64_t exponent =
      std::int64_t{suffix->decimal_exponent} + kNanoDigits - static_cast<std::int64_t>(parts->fraction.size());
  const auto magnitude =
      static_cast<Nanos>(Scale({parts->integer, parts->fraction}, exponent, suffix->binary_exponent));
  return Quantity(parts->is_negative ? -magnitude : magnitude);
}

std::int64_t Quantity::Value() const { return RoundAwayFromZero(nanos_, kNanosPerUnit); }

std::int64_t Quantity::MilliValue() const { return RoundAwayFromZero(nanos_, kNanosPerMilli); }

}  // namespace berth::api
