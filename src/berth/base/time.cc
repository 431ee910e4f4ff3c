// SPDX-License-Identifier: Apache-2.0
#include "berth/base/time.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace berth {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

// Writes the last `count` digits of `value` at `to`; returns the position after them.
char* WriteDigits(char* to, unsigned value, int count) {
  for (int i = count - 1; i >= 0; --i, value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + count;
}

// Every event and condition has times, so this is written digit by digit, which takes a tenth of the time of snprintf.
std::string FormatSeconds(Time time) {
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{floor<seconds>(time - day)};
  const int year = static_cast<int>(date.year());
  if (year < 0 || year > 9999) {  // RFC 3339 has no such years, but a wrong clock may
    std::array<char, 40> text;
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", year, static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    return text.data();
  }
  std::string text("0000-00-00T00:00:00");
  char* at = WriteDigits(text.data(), static_cast<unsigned>(year), 4) + 1;
  at = WriteDigits(at, static_cast<unsigned>(date.month()), 2) + 1;
  at = WriteDigits(at, static_cast<unsigned>(date.day()), 2) + 1;
  at = WriteDigits(at, static_cast<unsigned>(clock.hours().count()), 2) + 1;
  at = WriteDigits(at, static_cast<unsigned>(clock.minutes().count()), 2) + 1;
  WriteDigits(at, static_cast<unsigned>(clock.seconds().count()), 2);
  return text;
}

// Reads exactly `count` digits at `at`.
std::optional<int> Digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool Has(std::string_view text, std::size_t at, char c) { return at < text.size() && text[at] == c; }

}  // namespace

SystemClock::SystemClock() : wall_start_(WallNow()), steady_start_(std::chrono::steady_clock::now()) {}

Time SystemClock::Now() const {
  return wall_start_ + floor<Duration>(std::chrono::steady_clock::now() - steady_start_);
}

Time SystemClock::WallNow() const { return floor<Duration>(std::chrono::system_clock::now()); }

std::string FormatRfc3339(Time time) { return FormatSeconds(time) + "Z"; }

std::string FormatRfc3339Micro(Time time) {
  std::array<char, 8> fraction = {'.', '0', '0', '0', '0', '0', '0', 'Z'};
  WriteDigits(&fraction[1], static_cast<unsigned>((time - floor<seconds>(time)).count()), 6);
  return FormatSeconds(time).append(fraction.data(), fraction.size());
}

std::optional<Time> ParseRfc3339(std::string_view text) {
  const auto year = Digits(text, 0, 4), month = Digits(text, 5, 2), day = Digits(text, 8, 2);
  const auto hour = Digits(text, 11, 2), minute = Digits(text, 14, 2), second = Digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (!Has(text, 4, '-') || !Has(text, 7, '-') || !(Has(text, 10, 'T') || Has(text, 10, 't')) || !Has(text, 13, ':') ||
      !Has(text, 16, ':')) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::size_t at = 19;
  std::int64_t micros = 0;
  if (Has(text, at, '.')) {
    ++at;
    const std::size_t start = at;
    std::int64_t scale = 100000;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10)
      micros += (text[at] - '0') * scale;
    if (at == start) return std::nullopt;
  }
  seconds offset{0};
  if (Has(text, at, 'Z') || Has(text, at, 'z')) {
    ++at;
  } else if (Has(text, at, '+') || Has(text, at, '-')) {
    const auto offset_hours = Digits(text, at + 1, 2), offset_minutes = Digits(text, at + 4, 2);
    if (!offset_hours || !offset_minutes || !Has(text, at + 3, ':')) return std::nullopt;
    offset = hours{*offset_hours} + minutes{*offset_minutes};
    if (text[at] == '-') offset = -offset;
    at += 6;
  } else {
    return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  return Time{sys_days{date}} + hours{*hour} + minutes{*minute} + seconds{*second} + microseconds{micros} - offset;
}

std::optional<Duration> ParseGoDuration(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return Duration{0};
  if (text.empty()) return std::nullopt;
  long double total = 0;
  while (!text.empty()) {
    long double number = 0;
    long double scale = 1;
    std::size_t digits = 0, at = 0;
    bool fraction = false;
    for (; at < text.size(); ++at) {
      if (text[at] == '.' && !fraction) {
        fraction = true;
      } else if (text[at] >= '0' && text[at] <= '9') {
        ++digits;
        number = number * 10 + (text[at] - '0');
        if (fraction) scale *= 10;
      } else {
        break;
      }
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(at);
    long double unit = 0;
    std::size_t length = 1;
    if (text.starts_with("ns")) {
      unit = 1e-3L;
      length = 2;
    } else if (text.starts_with("us")) {
      unit = 1;
      length = 2;
    } else if (text.starts_with("\xC2\xB5s") || text.starts_with("\xCE\xBCs")) {
      unit = 1;
      length = 3;
    } else if (text.starts_with("ms")) {
      unit = 1e3L;
      length = 2;
    } else if (text.starts_with("s"))
      unit = 1e6L;
    else if (text.starts_with("m"))
      unit = 6e7L;
    else if (text.starts_with("h"))
      unit = 3.6e9L;
    else
      return std::nullopt;
    text.remove_prefix(length);
    total += number / scale * unit;
    if (total > 9.2e15L) return std::nullopt;  // the limit of Go's int64 nanoseconds
  }
  const auto micros = static_cast<std::int64_t>(std::llround(total));
  return Duration{negative ? -micros : micros};
}

std::string FormatGoDuration(Duration duration) {
  std::int64_t micros = duration.count();
  if (micros == 0) return "0s";
  std::string out = micros < 0 ? "-" : "";
  micros = std::abs(micros);
  const auto decimal = [](std::int64_t whole, std::int64_t rest, int width) {
    std::string text = std::to_string(whole);
    if (rest == 0) return text;
    std::string digits = std::to_string(rest);
    digits.insert(0, static_cast<std::size_t>(width) - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    return text + "." + digits;
  };
  if (micros < 1000) return out + std::to_string(micros) + "\xC2\xB5s";
  if (micros < 1000000) return out + decimal(micros / 1000, micros % 1000, 3) + "ms";
  const std::int64_t whole = micros / 1000000;
  if (whole >= 3600) out += std::to_string(whole / 3600) + "h";
  if (whole >= 60) out += std::to_string(whole / 60 % 60) + "m";
  return out + decimal(whole % 60, micros % 1000000, 6) + "s";
}

}  // namespace berth
