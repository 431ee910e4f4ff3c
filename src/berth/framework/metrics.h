// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms of plugins. Names follow Prometheus: snake case, with the unit, and "_total"
// for counters; berth's own begin with "berth_". Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::framework {

// Updates are cheap enough for hot paths.
class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Add(double amount = 1) = 0;
};
class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double value) = 0;
};

class Metrics {
 public:
  // Label names and values. Values must come from a small known set: never names of pods.
  using Labels = std::vector<std::pair<std::string, std::string>>;

  virtual ~Metrics() = default;
  // Returns the counter with this name and labels, which the first call makes. It lives as long as the metrics: call
  // once and keep the reference. Equal names must have equal help texts and label names.
  virtual Counter& GetCounter(std::string_view name, std::string_view help, const Labels& labels) = 0;
  virtual Gauge& GetGauge(std::string_view name, std::string_view help, const Labels& labels) = 0;
  // `bounds`: upper bounds of the buckets, ascending, without +Inf.
  virtual Histogram& GetHistogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                                  const Labels& labels) = 0;

  // Metrics that discard all values.
  static Metrics& None();
};

}  // namespace berth::framework
