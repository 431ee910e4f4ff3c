// SPDX-License-Identifier: Apache-2.0
// Durations and timestamps of CEL: Go's time package as far as its texts and overflow rules show.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "berth/languages/cel/declarations.h"
#include "berth/languages/cel/value.h"

namespace berth::cel {

// "1h2m3.5s", as time.ParseDuration reads it.
std::optional<Duration> ParseDuration(std::string_view text);
// RFC 3339, as time.Parse reads it; the range is not checked.
std::optional<Timestamp> ParseTimestamp(std::string_view text);
bool IsInRange(const Timestamp& timestamp);  // years 1 to 9999

std::string FormatDuration(Duration duration);     // "3.5s"
std::string FormatTimestamp(Timestamp timestamp);  // RFC 3339 with as many digits as needed

// duration + other, in either order of the operator; timestamp - other.
Value AddToDuration(Duration duration, const Value& other);
Value SubtractFromTimestamp(Timestamp timestamp, const Value& other);

// The functions of both types.
std::span<const OverloadBinding> TimeBindings();

}  // namespace berth::cel
