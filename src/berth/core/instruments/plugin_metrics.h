// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's metrics that plugins record through the metrics of their handle. Thread-safe. Each call looks the
// cell up, so that this is for rare events.
#pragma once

#include <initializer_list>
#include <string_view>

#include "berth/framework/metrics.h"

namespace berth::instruments {

// `name` must be in SchedulerMetricList(); `values` are the values of its labels, in their order.
framework::Counter& CounterOf(framework::Metrics& metrics, std::string_view name,
                              std::initializer_list<std::string_view> values);
framework::Histogram& HistogramOf(framework::Metrics& metrics, std::string_view name,
                                  std::initializer_list<std::string_view> values);

}  // namespace berth::instruments
