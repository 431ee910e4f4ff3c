// SPDX-License-Identifier: Apache-2.0
// DeskMetrics: what is counted of questions (docs/serve.md). Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "berth/base/metric_registry.h"
#include "berth/base/time.h"

namespace berth::ask {

class DeskMetrics {
 public:
  // `registry` must outlive it.
  explicit DeskMetrics(MetricRegistry& registry);

  // `outcome`: "yes", "no", "failed", "invalid", "timeout", "cancelled" or "error".
  void OnAnswer(std::string_view question, std::string_view outcome, Duration took);
  // `reason`: "waiting" or "client".
  void OnRefusal(std::string_view reason);
  void SetWaiting(std::size_t count);
  void OnLoads(std::size_t count);

 private:
  CounterFamily& questions_;
  HistogramFamily& seconds_;
  CounterFamily& refused_;
  GaugeFamily& waiting_;
  CounterFamily& loads_;
};

}  // namespace berth::ask
