// SPDX-License-Identifier: Apache-2.0
// Time as berth counts it, in microseconds. All waits, back-offs and deadlines are of one clock that never steps
// (Clock::Now); what is written into objects, or compared with what others wrote there, is wall time (Clock::WallNow).
// The core gets time as an input and never reads a clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;

// A time or none, in the room of a Time: std::optional<Time> takes twice that, in each of 100,000 pods. Time::min() is
// none.
class OptionalTime {
 public:
  constexpr OptionalTime() = default;
  constexpr OptionalTime(std::nullopt_t) {}
  constexpr OptionalTime(Time time) : time_(time) {}
  constexpr OptionalTime(std::optional<Time> time) : time_(time.value_or(kNone)) {}

  constexpr bool has_value() const { return time_ != kNone; }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr operator std::optional<Time>() const { return has_value() ? std::optional(time_) : std::nullopt; }
  // It must have one.
  constexpr Time operator*() const { return time_; }
  constexpr Time value_or(Time otherwise) const { return has_value() ? time_ : otherwise; }
  constexpr bool operator==(const OptionalTime&) const = default;

 private:
  static constexpr Time kNone = Time::min();

  Time time_ = kNone;
};

// The outside clock, for the shell. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back and never jumps, whatever is done to the machine's clock. It began as wall time, so that it reads
  // well in a log, but it says nothing about the time of day.
  virtual Time Now() const = 0;
  // The time of day, which administrators and NTP may move either way. The same as Now() until somebody has.
  virtual Time WallNow() const { return Now(); }
};

class SystemClock final : public Clock {
 public:
  SystemClock();
  Time Now() const override;
  Time WallNow() const override;

 private:
  const Time wall_start_;
  const std::chrono::steady_clock::time_point steady_start_;
};

// RFC 3339 in UTC, as metav1.Time (whole seconds) and metav1.MicroTime (six digits) are written.
std::string FormatRfc3339(Time time);
std::string FormatRfc3339Micro(Time time);

// Any RFC 3339 time with fraction and offset; nullopt when it is none.
std::optional<Time> ParseRfc3339(std::string_view text);

// Go's time.Duration text: "300ms", "1.5h", "2h45m", "10s", "0"; nullopt when it is none or overflows.
std::optional<Duration> ParseGoDuration(std::string_view text);

// As Go prints a time.Duration: "1m30s", "500ms", "0s".
std::string FormatGoDuration(Duration duration);

}  // namespace berth
