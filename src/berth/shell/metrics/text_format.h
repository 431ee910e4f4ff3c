// SPDX-License-Identifier: Apache-2.0
// The text exposition format 0.0.4 of Prometheus, written as client_golang writes it: families and series in order,
// numbers as Go prints them. Thread-safe.
#pragma once

#include <string>

#include "berth/base/metric_registry.h"
#include "berth/shell/metrics/metric_view.h"

namespace berth::metrics {

inline constexpr const char* kTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Families without series show their HELP and TYPE.
std::string WriteText(MetricRegistry& registry, const MetricView& view = {});

// As Go's strconv prints the shortest form that reads back: "0.001", "1e-05", "1.5e+06", "+Inf".
std::string FormatNumber(double value);

}  // namespace berth::metrics
