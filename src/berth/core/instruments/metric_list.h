// SPDX-License-Identifier: Apache-2.0
// The list of kube-scheduler's metrics: names, types, help texts, labels and buckets of pkg/scheduler/metrics (1.36).
#pragma once

#include <span>
#include <string_view>

#include "berth/base/metric_registry.h"

namespace berth::instruments {

// Bucket bounds start, start * factor, ... With count 0 there are none.
struct Buckets {
  double start = 0;
  double factor = 0;
  int count = 0;
};

struct ListedMetric {
  std::string_view name;
  MetricType type = MetricType::kCounter;
  std::string_view stability;  // STABLE, BETA or ALPHA
  std::string_view help;
  std::string_view labels;  // separated by blanks
  Buckets buckets{};        // of a histogram
};

// Sorted by name.
std::span<const ListedMetric> SchedulerMetricList();
// The description for the registry. Its help text begins with the stability, as component-base writes it.
MetricDescription DescriptionOf(const ListedMetric& metric);
// The description of the metric with that name, which must be in the list.
MetricDescription DescriptionOf(std::string_view name);

}  // namespace berth::instruments
