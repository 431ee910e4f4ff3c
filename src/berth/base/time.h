// SPDX-License-Identifier: Apache-2.0
// Time in microseconds. All waits, back-offs and deadlines use one clock that never jumps (Clock::Now). Times in
// objects, and times compared with these, are wall time (Clock::WallNow). The core gets time as an input and never
// reads a clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;

// An optional time in the size of a Time: std::optional<Time> is twice as large, in each of 100,000 pods. Time::min()
// stands for none.
class OptionalTime {
 public:
  constexpr OptionalTime() = default;
  constexpr OptionalTime(std::nullopt_t) {}
  constexpr OptionalTime(Time time) : time_(time) {}
  constexpr OptionalTime(std::optional<Time> time) : time_(time.value_or(kNone)) {}

  constexpr bool has_value() const { return time_ != kNone; }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr operator std::optional<Time>() const { return has_value() ? std::optional(time_) : std::nullopt; }
  // has_value() must be true.
  constexpr Time operator*() const { return time_; }
  constexpr Time value_or(Time otherwise) const { return has_value() ? time_ : otherwise; }
  constexpr bool operator==(const OptionalTime&) const = default;

 private:
  static constexpr Time kNone = Time::min();

  Time time_ = kNone;
};

// The shell's interface to the system's clocks. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back and never jumps, whatever happens to the machine's clock. It starts at the wall time, so that logs
  // are readable, but it is not the time of day.
  virtual Time Now() const = 0;
  // The time of day, which administrators and NTP may change in either direction. The same as Now() until they do.
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

// RFC 3339 in UTC, in the forms of metav1.Time (whole seconds) and metav1.MicroTime (six digits).
std::string FormatRfc3339(Time time);
std::string FormatRfc3339Micro(Time time);

// Any RFC 3339 time with fraction and offset; nullopt if the text is invalid.
std::optional<Time> ParseRfc3339(std::string_view text);

// Go's time.Duration text: "300ms", "1.5h", "2h45m", "10s", "0"; nullopt if it is invalid or overflows.
std::optional<Duration> ParseGoDuration(std::string_view text);

// As Go prints a time.Duration: "1m30s", "500ms", "0s".
std::string FormatGoDuration(Duration duration);

}  // namespace berth
