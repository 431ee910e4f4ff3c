// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/plugin_metrics.h"

#include <string>

#include "berth/base/check.h"
#include "berth/core/instruments/metric_list.h"

namespace berth::instruments {
namespace {

framework::Metrics::Labels LabelsOf(const MetricDescription& description,
                                    std::initializer_list<std::string_view> values) {
  BERTH_CHECK(description.labels.size() == values.size(), description.name, values.size());
  framework::Metrics::Labels labels;
  auto label = description.labels.begin();
  for (const std::string_view value : values) labels.emplace_back(*label++, std::string(value));
  return labels;
}

}  // namespace

framework::Counter& CounterOf(framework::Metrics& metrics, std::string_view name,
                              std::initializer_list<std::string_view> values) {
  const MetricDescription description = DescriptionOf(name);
  return metrics.GetCounter(name, description.help, LabelsOf(description, values));
}

framework::Histogram& HistogramOf(framework::Metrics& metrics, std::string_view name,
                                  std::initializer_list<std::string_view> values) {
  const MetricDescription description = DescriptionOf(name);
  return metrics.GetHistogram(name, description.help, description.buckets, LabelsOf(description, values));
}

}  // namespace berth::instruments
