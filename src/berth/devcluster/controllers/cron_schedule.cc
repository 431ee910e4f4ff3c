// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/cron_schedule.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include "berth/base/text.h"

namespace berth::controllers {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr auto kHorizon = days(5 * 366);

struct Range {
  const char* name;
  unsigned least;
  unsigned most;
};
constexpr std::array<Range, 5> kRanges = {
    {{"minute", 0, 59}, {"hour", 0, 23}, {"day of month", 1, 31}, {"month", 1, 12}, {"day of week", 0, 6}}};
constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNamed = {{{"@yearly", "0 0 1 1 *"},
                                                                                  {"@annually", "0 0 1 1 *"},
                                                                                  {"@monthly", "0 0 1 * *"},
                                                                                  {"@weekly", "0 0 * * 0"},
                                                                                  {"@daily", "0 0 * * *"},
                                                                                  {"@midnight", "0 0 * * *"},
                                                                                  {"@hourly", "0 * * * *"}}};

std::vector<std::string_view> Pieces(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    if (end != 0) pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (!pieces.empty() && pieces.back().empty()) pieces.pop_back();
  return pieces;
}

std::optional<unsigned> NamedValue(std::string_view text, std::span<const std::string_view> names, unsigned first) {
  const std::string lower = LowerCase(text);
  const auto found = std::find(names.begin(), names.end(), lower);
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin()) + first;
}

Expected<unsigned> Value(std::string_view text, std::size_t field) {
  std::optional<unsigned> named;
  if (field == 3) named = NamedValue(text, kMonths, 1);
  if (field == 4) named = NamedValue(text, kWeekdays, 0);
  if (named) return *named;
  unsigned value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) {
    return InvalidError(std::string(kRanges[field].name) + ": \"" + std::string(text) + "\" is no number");
  }
  return value;
}

// The bits of "a", "a-b", "*", each with "/step" or without.
Expected<std::uint64_t> Bits(std::string_view text, std::size_t field) {
  const Range& range = kRanges[field];
  const std::size_t slash = text.find('/');
  const std::string_view span = text.substr(0, slash);
  unsigned step = 1;
  if (slash != std::string_view::npos) {
    BERTH_ASSIGN_OR_RETURN(step, Value(text.substr(slash + 1), 0));
    if (step == 0) return InvalidError(std::string(range.name) + ": a step must be above 0");
  }
  unsigned first = range.least;
  unsigned last = range.most;
  if (span != "*" && span != "?") {
    const std::size_t dash = span.find('-');
    BERTH_ASSIGN_OR_RETURN(first, Value(span.substr(0, dash), field));
    last = first;
    if (dash != std::string_view::npos) {
      BERTH_ASSIGN_OR_RETURN(last, Value(span.substr(dash + 1), field));
    } else if (slash != std::string_view::npos) {
      last = range.most;
    }
  }
  if (first < range.least || last > range.most || first > last) {
    return InvalidError(std::string(range.name) + ": \"" + std::string(text) + "\" is not within " +
                        std::to_string(range.least) + " and " + std::to_string(range.most));
  }
  std::uint64_t bits = 0;
  for (unsigned value = first; value <= last; value += std::min(step, 64U)) bits |= std::uint64_t{1} << value;
  return bits;
}

}  // namespace

Expected<CronSchedule> CronSchedule::Parse(std::string_view text) {
  CronSchedule schedule;
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    schedule.every_ = ParseGoDuration(text.substr(kEvery.size()));
    if (!schedule.every_ || *schedule.every_ < std::chrono::seconds(1)) {
      return InvalidError("\"" + std::string(text) + "\": there must be a duration of a second or more behind @every");
    }
    return schedule;
  }
  for (const auto& [name, fields] : kNamed) {
    if (text == name) text = fields;
  }
  const std::vector<std::string_view> fields = Pieces(text, " \t");
  if (fields.size() != kRanges.size()) {
    return InvalidError("expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" +
                        std::string(text) + ']');
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string_view each : Pieces(fields[i], ",")) {
      BERTH_ASSIGN_OR_RETURN(const std::uint64_t bits, Bits(each, i));
      schedule.bits_[i] |= bits;
    }
    if (schedule.bits_[i] == 0) return InvalidError(std::string(kRanges[i].name) + ": there is no value");
  }
  const auto is_star = [](std::string_view field) { return field.starts_with('*') || field.starts_with('?'); };
  schedule.any_day_ = is_star(fields[kDay]);
  schedule.any_weekday_ = is_star(fields[kWeekday]);
  return schedule;
}

bool CronSchedule::HasDay(sys_days day) const {
  const year_month_day date(day);
  const bool in_days = Has(kDay, static_cast<unsigned>(date.day()));
  const bool in_week = Has(kWeekday, std::chrono::weekday(day).c_encoding());
  return any_day_ || any_weekday_ ? in_days && in_week : in_days || in_week;
}

std::optional<Time> CronSchedule::Next(Time time) const {
  if (every_) return floor<std::chrono::seconds>(time) + *every_;
  auto at = floor<minutes>(time) + minutes(1);
  const auto end = at + kHorizon;
  while (at < end) {
    const sys_days day = floor<days>(at);
    const year_month_day date(day);
    if (!Has(kMonth, static_cast<unsigned>(date.month()))) {
      at = sys_days((date.year() / date.month() + std::chrono::months(1)) / 1);
    } else if (!HasDay(day)) {
      at = day + days(1);
    } else if (const auto hour = floor<hours>(at); !Has(kHour, static_cast<unsigned>((hour - day).count()))) {
      at = hour + hours(1);
    } else if (!Has(kMinute, static_cast<unsigned>((at - hour).count()))) {
      at += minutes(1);
    } else {
      return at;
    }
  }
  return std::nullopt;
}

std::optional<Time> CronSchedule::Last(Time from, Time until) const {
  if (every_) {
    const auto count = (until - from) / *every_;
    return count < 1 ? std::nullopt : std::optional<Time>(floor<std::chrono::seconds>(from) + count * *every_);
  }
  // A schedule that has no time in an hour has few in a day, and so on: no window has many.
  for (const Duration window :
       {Duration(hours(1)), Duration(days(1)), Duration(days(32)), Duration(days(366)), Duration(kHorizon)}) {
    std::optional<Time> last;
    for (auto next = Next(std::max(from, until - window)); next && *next <= until; next = Next(*next)) last = next;
    if (last || until - window <= from) return last;
  }
  return std::nullopt;
}

}  // namespace berth::controllers
