// SPDX-License-Identifier: Apache-2.0
// CEL's durations and timestamps, with the text formats and overflow rules of Go's time package.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "berth/languages/cel/declarations.h"
#include "berth/languages/cel/value.h"

namespace berth::cel {

// Parses "1h2m3.5s" like time.ParseDuration.
std::optional<Duration> ParseDuration(std::string_view text);
// Parses RFC 3339 like time.Parse; does not check the range.
std::optional<Timestamp> ParseTimestamp(std::string_view text);
bool IsInRange(const Timestamp& timestamp);  // years 1 to 9999

std::string FormatDuration(Duration duration);     // "3.5s"
std::string FormatTimestamp(Timestamp timestamp);  // RFC 3339 with as many digits as needed

// duration + other, for either operand order; timestamp - other.
Value AddToDuration(Duration duration, const Value& other);
Value SubtractFromTimestamp(Timestamp timestamp, const Value& other);

// The functions of both types.
std::span<const OverloadBinding> TimeBindings();

}  // namespace berth::cel
