// SPDX-License-Identifier: Apache-2.0
// The metrics of kube-scheduler, as data: names, types, help texts, labels and buckets of pkg/scheduler/metrics (1.36).
#pragma once

#include <span>
#include <string_view>

#include "berth/base/metric_registry.h"

namespace berth::instruments {

// Bounds start, start * factor, ...; count 0: none.
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

// By name.
std::span<const ListedMetric> SchedulerMetricList();
// As the registry takes it: the help text begins with the stability, as component-base writes it.
MetricDescription DescriptionOf(const ListedMetric& metric);
// Of the listed metric of that name, which must be there.
MetricDescription DescriptionOf(std::string_view name);

}  // namespace berth::instruments
