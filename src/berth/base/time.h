// SPDX-License-Identifier: Apache-2.0
// Time as berth counts it: wall-clock microseconds. The core gets it as an input and never reads a clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;

// The outside clock, for the shell. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time Now() const override;
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
