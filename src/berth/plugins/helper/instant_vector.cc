// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/instant_vector.h"

#include <chrono>
#include <string>

#include "berth/codec/json_reader.h"
#include "berth/plugins/helper/outside_source.h"

namespace berth::plugins {
namespace {

// Prometheus counts time in seconds since 1970 as a float; beyond this (the year 9999) it is no time.
constexpr double kSecondsMax = 253402300800.0;

}  // namespace

Expected<simdjson::dom::array> SeriesOf(simdjson::dom::element answer, std::string_view subject) {
  if (codec::StringOrEmpty(answer, "status") != "success") {
    const std::string error = Printable(codec::StringOrEmpty(answer, "error"), 200);
    return InvalidError(std::string(subject) +
                        " refused the query: " + (error.empty() ? "it does not say why" : error));
  }
  const auto data = codec::FindMember(answer, "data");
  const std::string_view type = data ? codec::StringOrEmpty(*data, "resultType") : std::string_view();
  const auto series = data ? codec::FindArray(*data, "result") : std::nullopt;
  if (type != "vector" || !series)
    return InvalidError("the query must give an instant vector; it gives \"" + Printable(type, 40) + '"');
  return *series;
}

std::optional<Time> InstantValue::at() const {
  if (!(seconds >= 0 && seconds < kSecondsMax)) return std::nullopt;
  return Time{std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))};
}

std::optional<InstantValue> InstantValueOf(simdjson::dom::element series) {
  const auto pair = codec::FindArray(series, "value");
  InstantValue value;
  if (!pair || pair->size() != 2 || pair->at(0).get(value.seconds) != simdjson::SUCCESS ||
      pair->at(1).get(value.text) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return value;
}

}  // namespace berth::plugins
