// SPDX-License-Identifier: Apache-2.0
// What a rebalancer counts (docs/metrics.md). One thread writes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "berth/framework/metrics.h"
#include "berth/rebalance/controller.h"

namespace berth::rebalance {

class ControllerMetrics {
 public:
  // `metrics` must outlive it.
  explicit ControllerMetrics(framework::Metrics& metrics);

  void OnEviction(std::string_view strategy, std::string_view result);
  void OnChange(const MoveChange& change);
  void OnRound(const RoundReport& report, Duration took);

 private:
  // Sets the gauges of a family whose label is a cause; causes that do not hold any more go to 0.
  void SetCauses(std::string_view name, std::string_view help, const std::map<std::string_view, double>& values,
                 std::map<std::string, framework::Gauge*, std::less<>>& gauges);

  framework::Metrics& metrics_;
  framework::Gauge& planned_;
  framework::Gauge& staying_;
  framework::Histogram& seconds_;
  std::map<std::string, framework::Gauge*, std::less<>> waiting_;
  std::map<std::string, framework::Gauge*, std::less<>> held_;
};

}  // namespace berth::rebalance
