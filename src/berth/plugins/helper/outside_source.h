// SPDX-License-Identifier: Apache-2.0
// What policies that decide by data from outside share: the arguments of their sources, names and words that come from
// there. Plain functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "berth/core/config/reader.h"
#include "berth/framework/outside_data.h"

namespace berth::plugins {

// The fields `url` (required), `caFile`, `insecureSkipTLSVerify`, `bearerTokenFile` and `basicAuthFile`.
void ReadEndpoint(config::ObjectReader& reader, framework::OutsideSource& source);

// The fields `interval` (at least a second) and `timeout` (more than nothing).
void ReadPolling(config::ObjectReader& reader, framework::OutsideSource& source);

// The field as a Go duration that is at least `min`.
void ReadDuration(config::ObjectReader& reader, std::string_view key, Duration min, Duration& out);

// Adds to the path, "/" once between the two: "http://host/prometheus/" and "/api/v1" are
// "http://host/prometheus/api/v1".
std::string JoinUrl(std::string_view base, std::string_view path);

// The text for the query of a URL: all but letters, digits and "-._~" becomes %XX.
std::string PercentEncode(std::string_view text);

// "node-1:9100" is "node-1". Other names, IPv6 addresses among them, stay as they are.
std::string_view WithoutPort(std::string_view name);

// The words in one line of printable UTF-8, runs of blanks as one space, anything else as "?"; cut to `bytes_max` (at
// least 3) with "..." where it is longer.
std::string Printable(std::string_view words, std::size_t bytes_max);

// A finite decimal number and nothing else; nullopt for others.
std::optional<double> ParseNumber(std::string_view text);

}  // namespace berth::plugins
