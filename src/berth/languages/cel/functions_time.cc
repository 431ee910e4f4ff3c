// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/functions_time.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <utility>

#include "berth/base/go_text.h"

namespace berth::cel {
namespace {

using Arguments = std::span<const Value>;
__extension__ using Wide = __int128;

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kFirstSecond = -62'135'596'800;  // 0001-01-01
constexpr std::int64_t kLastSecond = 253'402'300'799;   // 9999-12-31T23:59:59

Value Overflow() { return Value::Error("integer overflow"); }

// Converts between a date of the proleptic Gregorian calendar and days since 1970.
std::int64_t DaysOf(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

struct Civil {
  std::int64_t year = 0;
  std::int64_t month = 0;        // 1..12
  std::int64_t day = 0;          // 1..31
  std::int64_t day_of_year = 0;  // from 0
  std::int64_t weekday = 0;      // 0 is Sunday
  std::int64_t second_of_day = 0;
};

Civil CivilOf(std::int64_t seconds) {
  Civil civil;
  std::int64_t days = seconds / kSecondsPerDay;
  if (seconds % kSecondsPerDay < 0) --days;
  civil.second_of_day = seconds - days * kSecondsPerDay;
  civil.weekday = ((days + 4) % 7 + 7) % 7;
  const std::int64_t shifted = days + 719'468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const std::int64_t day_of_era = shifted - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  civil.day = day_of_year - (153 * month + 2) / 5 + 1;
  civil.month = month < 10 ? month + 3 : month - 9;
  civil.year = year_of_era + era * 400 + (civil.month <= 2 ? 1 : 0);
  civil.day_of_year = days - DaysOf(civil.year, 1, 1);
  return civil;
}

Value TimestampOf(Wide nanos) {
  Wide seconds = nanos / kNanosPerSecond;
  if (nanos % kNanosPerSecond < 0) --seconds;
  const Timestamp timestamp{static_cast<std::int64_t>(seconds),
                            static_cast<std::int32_t>(nanos - seconds * kNanosPerSecond), 0};
  return IsInRange(timestamp) ? Value::Of(timestamp) : Value::Error("timestamp overflow");
}

Wide NanosOf(const Timestamp& timestamp) {
  return static_cast<Wide>(timestamp.seconds) * kNanosPerSecond + timestamp.nanos;
}

// Takes a number of exactly `count` digits.
bool TakeDigits(std::string_view& text, std::size_t count, std::int64_t& number) {
  if (text.size() < count) return false;
  number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool TakeChar(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

Value ToDuration(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  if (a.Is(ValueKind::kDuration)) return a;
  if (a.Is(ValueKind::kString)) {
    if (const auto duration = ParseDuration(a.AsString())) return Value::Of(*duration);
  }
  return Value::Error("type conversion error from '" + std::string(TypeName(a)) + "' to 'google.protobuf.Duration'");
}

Value ToTimestamp(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  if (a.Is(ValueKind::kTimestamp)) return a;
  Timestamp timestamp;
  if (a.Is(ValueKind::kInt)) {
    timestamp.seconds = a.AsInt();
  } else {
    const auto parsed = ParseTimestamp(a.AsString());
    if (!parsed) {
      return Value::Error("type conversion error from '" + std::string(TypeName(a)) +
                          "' to 'google.protobuf.Timestamp'");
    }
    timestamp = *parsed;
  }
  return IsInRange(timestamp) ? Value::Of(timestamp) : Value::Error("timestamp overflow");
}

// Seconds east of UTC for "+02:00" or "UTC". Named zones are not supported.
Expected<std::int64_t> OffsetOf(std::string_view zone) {
  if (zone.empty() || zone == "UTC") return 0;
  const std::size_t colon = zone.find(':');
  if (colon == std::string_view::npos) return InvalidError("unknown time zone " + std::string(zone));
  const auto number = [](std::string_view text) -> Expected<std::int64_t> {
    std::string_view digits = text;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::int32_t value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc() || end != digits.data() + digits.size() || (digits != text && digits.starts_with('-'))) {
      return InvalidError("strconv.Atoi: parsing " + GoQuoted(text) + ": invalid syntax");
    }
    return value;
  };
  BERTH_ASSIGN_OR_RETURN(const std::int64_t hours, number(zone.substr(0, colon)));
  BERTH_ASSIGN_OR_RETURN(const std::int64_t minutes, number(zone.substr(colon + 1)));
  return (hours * 60 + (zone.starts_with('-') ? -minutes : minutes)) * 60;
}

enum class Part : std::uint8_t {
  kYear,
  kMonth,
  kDayOfYear,
  kDayOfMonth,
  kDate,
  kWeekday,
  kHours,
  kMinutes,
  kSeconds,
  kMillis
};

template <Part part>
Value GetPart(Arguments arguments, WorkLimit&) {
  if (arguments[0].Is(ValueKind::kDuration)) {
    const std::int64_t nanos = arguments[0].AsDuration().nanos;
    if constexpr (part == Part::kHours) return Value::Int(nanos / (3600 * kNanosPerSecond));
    if constexpr (part == Part::kMinutes) return Value::Int(nanos / (60 * kNanosPerSecond));
    if constexpr (part == Part::kSeconds) return Value::Int(nanos / kNanosPerSecond);
    return Value::Int(nanos / 1'000'000);
  }
  const Timestamp timestamp = arguments[0].AsTimestamp();
  std::int64_t offset = 0;
  if (arguments.size() == 2) {
    const auto found = OffsetOf(arguments[1].AsString());
    if (!found.ok()) return Value::Error(found.error().message);
    offset = *found;
  }
  const Civil civil = CivilOf(timestamp.seconds + offset);
  switch (part) {
    case Part::kYear: return Value::Int(civil.year);
    case Part::kMonth: return Value::Int(civil.month - 1);
    case Part::kDayOfYear: return Value::Int(civil.day_of_year);
    case Part::kDayOfMonth: return Value::Int(civil.day - 1);
    case Part::kDate: return Value::Int(civil.day);
    case Part::kWeekday: return Value::Int(civil.weekday);
    case Part::kHours: return Value::Int(civil.second_of_day / 3600);
    case Part::kMinutes: return Value::Int(civil.second_of_day / 60 % 60);
    case Part::kSeconds: return Value::Int(civil.second_of_day % 60);
    case Part::kMillis: return Value::Int(timestamp.nanos / 1'000'000);
  }
  return Value::NoSuchOverload();
}

}  // namespace

bool IsInRange(const Timestamp& timestamp) {
  return timestamp.seconds >= kFirstSecond && timestamp.seconds <= kLastSecond;
}

std::optional<Duration> ParseDuration(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration{0};
  if (text.empty()) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kUnits = {{{"ns", 1},
                                                                                {"us", 1000},
                                                                                {"\u00b5s", 1000},
                                                                                {"\u03bcs", 1000},
                                                                                {"ms", 1'000'000},
                                                                                {"s", kNanosPerSecond},
                                                                                {"m", 60 * kNanosPerSecond},
                                                                                {"h", 3600 * kNanosPerSecond}}};
  constexpr Wide kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max()) + 1;
  Wide total = 0;
  while (!text.empty()) {
    Wide whole = 0;
    std::size_t digits = 0;
    const auto digit = [&] { return !text.empty() && text[0] >= '0' && text[0] <= '9'; };
    for (; digit(); text.remove_prefix(1), ++digits) {
      whole = whole * 10 + (text[0] - '0');
      if (whole > kMax) return std::nullopt;
    }
    std::int64_t fraction = 0;
    double scale = 1;
    if (TakeChar(text, '.')) {
      bool is_full = false;
      for (; digit(); text.remove_prefix(1), ++digits) {
        if (is_full || fraction > (std::numeric_limits<std::int64_t>::max() - 9) / 10) {
          is_full = true;
          continue;
        }
        fraction = fraction * 10 + (text[0] - '0');
        scale *= 10;
      }
    }
    if (digits == 0) return std::nullopt;
    const std::string_view unit = text.substr(0, text.find_first_of(".0123456789"));
    std::int64_t nanos = 0;
    for (const auto& [name, size] : kUnits) {
      if (name == unit) nanos = size;
    }
    if (nanos == 0) return std::nullopt;
    text.remove_prefix(unit.size());
    total += whole * nanos;
    if (fraction > 0) total += static_cast<Wide>(static_cast<double>(fraction) * (static_cast<double>(nanos) / scale));
    if (total > kMax) return std::nullopt;
  }
  if (!is_negative && total == kMax) return std::nullopt;
  return Duration{static_cast<std::int64_t>(is_negative ? -total : total)};
}

std::optional<Timestamp> ParseTimestamp(std::string_view text) {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  const bool has_form = TakeDigits(text, 4, year) && TakeChar(text, '-') && TakeDigits(text, 2, month) &&
                        TakeChar(text, '-') && TakeDigits(text, 2, day) && TakeChar(text, 'T') &&
                        TakeDigits(text, 2, hour) && TakeChar(text, ':') && TakeDigits(text, 2, minute) &&
                        TakeChar(text, ':') && TakeDigits(text, 2, second);
  if (!has_form || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t next_month = month == 12 ? DaysOf(year + 1, 1, 1) : DaysOf(year, month + 1, 1);
  if (day < 1 || day > next_month - DaysOf(year, month, 1)) return std::nullopt;
  std::int64_t nanos = 0;
  if (text.starts_with('.') || text.starts_with(',')) {
    text.remove_prefix(1);
    std::int64_t unit = kNanosPerSecond / 10;
    std::size_t digits = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), ++digits) {
      nanos += (text[0] - '0') * unit;
      unit /= 10;
    }
    if (digits == 0) return std::nullopt;
  }
  std::int64_t offset = 0;
  if (!TakeChar(text, 'Z')) {
    const bool is_west = text.starts_with('-');
    if (!is_west && !text.starts_with('+')) return std::nullopt;
    text.remove_prefix(1);
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    if (!TakeDigits(text, 2, hours) || !TakeChar(text, ':') || !TakeDigits(text, 2, minutes)) return std::nullopt;
    if (hours > 24 || minutes > 60) return std::nullopt;
    offset = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
  }
  if (!text.empty()) return std::nullopt;
  const std::int64_t local = DaysOf(year, month, day) * kSecondsPerDay + hour * 3600 + minute * 60 + second;
  return Timestamp{local - offset, static_cast<std::int32_t>(nanos), static_cast<std::int32_t>(offset)};
}

std::string FormatDuration(Duration duration) {
  // As in Go: float64 seconds without an exponent.
  const std::int64_t whole = duration.nanos / kNanosPerSecond;
  const std::int64_t rest = duration.nanos % kNanosPerSecond;
  const double seconds = static_cast<double>(whole) + static_cast<double>(rest) / 1e9;
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), seconds, std::chars_format::fixed).ptr;
  return std::string(buffer.data(), end) + "s";
}

std::string FormatTimestamp(Timestamp timestamp) {
  const Civil civil = CivilOf(timestamp.seconds + timestamp.offset);
  std::array<char, 96> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld",
                static_cast<long long>(civil.year), static_cast<long long>(civil.month),
                static_cast<long long>(civil.day), static_cast<long long>(civil.second_of_day / 3600),
                static_cast<long long>(civil.second_of_day / 60 % 60),
                static_cast<long long>(civil.second_of_day % 60));
  std::string text = buffer.data();
  if (timestamp.nanos > 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%09d", timestamp.nanos);
    text += buffer.data();
    text.erase(text.find_last_not_of('0') + 1);
  }
  if (timestamp.offset == 0) return text + "Z";
  const int minutes = std::abs(timestamp.offset) / 60;
  std::snprintf(buffer.data(), buffer.size(), "%c%02d:%02d", timestamp.offset < 0 ? '-' : '+', minutes / 60,
                minutes % 60);
  return text + buffer.data();
}

Value AddToDuration(Duration duration, const Value& other) {
  if (other.Is(ValueKind::kDuration)) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(duration.nanos, other.AsDuration().nanos, &sum)) return Overflow();
    return Value::Of(Duration{sum});
  }
  if (!other.Is(ValueKind::kTimestamp)) return Value::NoSuchOverload();
  Value sum = TimestampOf(NanosOf(other.AsTimestamp()) + duration.nanos);
  if (sum.IsError()) return sum;
  Timestamp timestamp = sum.AsTimestamp();
  timestamp.offset = other.AsTimestamp().offset;
  return Value::Of(timestamp);
}

Value SubtractFromTimestamp(Timestamp timestamp, const Value& other) {
  if (other.Is(ValueKind::kDuration)) {
    const std::int64_t nanos = other.AsDuration().nanos;
    if (nanos == std::numeric_limits<std::int64_t>::min()) return Overflow();
    return AddToDuration(Duration{-nanos}, Value::Of(timestamp));
  }
  if (!other.Is(ValueKind::kTimestamp)) return Value::NoSuchOverload();
  const Wide difference = NanosOf(timestamp) - NanosOf(other.AsTimestamp());
  if (difference > std::numeric_limits<std::int64_t>::max() || difference < std::numeric_limits<std::int64_t>::min()) {
    return Overflow();
  }
  return Value::Of(Duration{static_cast<std::int64_t>(difference)});
}

std::span<const OverloadBinding> TimeBindings() {
  static constexpr std::array kBindings = {
      OverloadBinding{"duration_to_duration", ToDuration},
      OverloadBinding{"int64_to_duration", ToDuration},
      OverloadBinding{"string_to_duration", ToDuration},
      OverloadBinding{"timestamp_to_timestamp", ToTimestamp},
      OverloadBinding{"int64_to_timestamp", ToTimestamp},
      OverloadBinding{"string_to_timestamp", ToTimestamp},
      OverloadBinding{"timestamp_to_year", GetPart<Part::kYear>},
      OverloadBinding{"timestamp_to_year_with_tz", GetPart<Part::kYear>},
      OverloadBinding{"timestamp_to_month", GetPart<Part::kMonth>},
      OverloadBinding{"timestamp_to_month_with_tz", GetPart<Part::kMonth>},
      OverloadBinding{"timestamp_to_day_of_year", GetPart<Part::kDayOfYear>},
      OverloadBinding{"timestamp_to_day_of_year_with_tz", GetPart<Part::kDayOfYear>},
      OverloadBinding{"timestamp_to_day_of_month", GetPart<Part::kDayOfMonth>},
      OverloadBinding{"timestamp_to_day_of_month_with_tz", GetPart<Part::kDayOfMonth>},
      OverloadBinding{"timestamp_to_day_of_month_1_based", GetPart<Part::kDate>},
      OverloadBinding{"timestamp_to_day_of_month_1_based_with_tz", GetPart<Part::kDate>},
      OverloadBinding{"timestamp_to_day_of_week", GetPart<Part::kWeekday>},
      OverloadBinding{"timestamp_to_day_of_week_with_tz", GetPart<Part::kWeekday>},
      OverloadBinding{"timestamp_to_hours", GetPart<Part::kHours>},
      OverloadBinding{"timestamp_to_hours_with_tz", GetPart<Part::kHours>},
      OverloadBinding{"duration_to_hours", GetPart<Part::kHours>},
      OverloadBinding{"timestamp_to_minutes", GetPart<Part::kMinutes>},
      OverloadBinding{"timestamp_to_minutes_with_tz", GetPart<Part::kMinutes>},
      OverloadBinding{"duration_to_minutes", GetPart<Part::kMinutes>},
      OverloadBinding{"timestamp_to_seconds", GetPart<Part::kSeconds>},
      OverloadBinding{"timestamp_to_seconds_tz", GetPart<Part::kSeconds>},
      OverloadBinding{"duration_to_seconds", GetPart<Part::kSeconds>},
      OverloadBinding{"timestamp_to_milliseconds", GetPart<Part::kMillis>},
      OverloadBinding{"timestamp_to_milliseconds_with_tz", GetPart<Part::kMillis>},
      OverloadBinding{"duration_to_milliseconds", GetPart<Part::kMillis>},
  };
  return kBindings;
}

}  // namespace berth::cel
