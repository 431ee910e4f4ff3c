// SPDX-License-Identifier: Apache-2.0
// PrometheusMetrics: what plugins count, as Prometheus reads it. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "berth/framework/metrics.h"

namespace berth::metrics {

class PrometheusMetrics final : public framework::Metrics {
 public:
  PrometheusMetrics();
  ~PrometheusMetrics() override;

  framework::Counter& GetCounter(std::string_view name, std::string_view help, const Labels& labels) override;
  framework::Gauge& GetGauge(std::string_view name, std::string_view help, const Labels& labels) override;

  // The text exposition format 0.0.4.
  std::string Text() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace berth::metrics
