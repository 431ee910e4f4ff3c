// SPDX-License-Identifier: Apache-2.0
// CronSchedule: when a CronJob's Jobs are due, in UTC, by the five fields that upstream's parser reads. A value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::controllers {

class CronSchedule {
 public:
  // "*/5 2-4 1,15 * MON-FRI", "@hourly" and its like, "@every 1h30m". The error says which field is wrong, and how.
  static Expected<CronSchedule> Parse(std::string_view text);

  // The first time after `time`; nullopt when there is none within five years, as of 30 February.
  std::optional<Time> Next(Time time) const;
  // The last time that is after `from` and not after `until`.
  std::optional<Time> Last(Time from, Time until) const;

 private:
  enum Field : std::uint8_t { kMinute, kHour, kDay, kMonth, kWeekday };

  bool Has(Field field, unsigned value) const { return (bits_[field] >> value & 1) != 0; }
  bool HasDay(std::chrono::sys_days day) const;

  std::array<std::uint64_t, 5> bits_{};
  bool any_day_ = false;  // the field is a star: only the other one of day and weekday counts
  bool any_weekday_ = false;
  std::optional<Duration> every_;  // in place of the fields
};

}  // namespace berth::controllers
