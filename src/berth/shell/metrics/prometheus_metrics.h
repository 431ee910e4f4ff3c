// SPDX-License-Identifier: Apache-2.0
// PrometheusMetrics: what plugins and the shell count, in the registry in which the core counts as well. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/metric_registry.h"
#include "berth/framework/metrics.h"
#include "berth/shell/metrics/metric_view.h"

namespace berth::metrics {

class PrometheusMetrics final : public framework::Metrics {
 public:
  PrometheusMetrics();
  ~PrometheusMetrics() override;

  framework::Counter& GetCounter(std::string_view name, std::string_view help, const Labels& labels) override;
  framework::Gauge& GetGauge(std::string_view name, std::string_view help, const Labels& labels) override;
  framework::Histogram& GetHistogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                                     const Labels& labels) override;

  MetricRegistry& registry();
  // Sets what Text() shows. To be called before the first Text().
  void SetView(ViewOptions options);
  // Lets counters in Text() begin at 0 again (MetricView::Reset).
  void Reset();
  // The text exposition format 0.0.4.
  std::string Text() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace berth::metrics
