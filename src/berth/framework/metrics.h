// Metrics that plugins keep, beside those of the scheduler itself. Names are Prometheus': snake case, with the unit,
// and
// "_total" for counters; berth's own begin with "berth_".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::framework {

// Thread-safe, and cheap enough for any path.
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

class Metrics {
 public:
  // Label names and values. Values come from a small set, known beforehand: never names of pods.
  using Labels = std::vector<std::pair<std::string, std::string>>;

  virtual ~Metrics() = default;
  // The one of that name and labels, made when it is first asked for. It lives as long as the metrics; ask once and
  // keep it. Any thread. Equal names have equal help texts and label names.
  virtual Counter& GetCounter(std::string_view name, std::string_view help, const Labels& labels) = 0;
  virtual Gauge& GetGauge(std::string_view name, std::string_view help, const Labels& labels) = 0;

  // Counts nothing.
  static Metrics& None();
};

}  // namespace berth::framework
