// SPDX-License-Identifier: Apache-2.0
// What Prometheus answers to an instant query (/api/v1/query): series, each with labels and one value. Pure functions; what
// they return lives as long as the parsed document.
#pragma once

#include <optional>
#include <string_view>

#include <simdjson.h>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::plugins {

// The series; kInvalid, with what is wrong. `subject` is what the text calls Prometheus: "it".
Expected<simdjson::dom::array> SeriesOf(simdjson::dom::element answer, std::string_view subject);

// The value of a series, as it is written, and when it was measured, in seconds since 1970.
struct InstantValue {
  double seconds = 0;
  std::string_view text;

  // nullopt: it is no time.
  std::optional<Time> at() const;
};
// nullopt: the series has none.
std::optional<InstantValue> InstantValueOf(simdjson::dom::element series);

}  // namespace berth::plugins
