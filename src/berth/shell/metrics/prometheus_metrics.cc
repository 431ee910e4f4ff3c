// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/prometheus_metrics.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "berth/shell/metrics/text_format.h"

namespace berth::metrics {
namespace {

class CountedBy final : public framework::Counter {
 public:
  explicit CountedBy(CounterCell& cell) : cell_(cell) {}
  void Add(double amount) override { cell_.AddShared(amount); }

 private:
  CounterCell& cell_;
};

class GaugedBy final : public framework::Gauge {
 public:
  explicit GaugedBy(GaugeCell& cell) : cell_(cell) {}
  void Set(double value) override { cell_.Set(value); }

 private:
  GaugeCell& cell_;
};

class ObservedBy final : public framework::Histogram {
 public:
  explicit ObservedBy(HistogramCell& cell) : cell_(cell) {}
  void Observe(double value) override { cell_.ObserveShared(value); }

 private:
  HistogramCell& cell_;
};

// Splits labels into a description with their names, and their values.
struct Named {
  Named(std::string_view name, std::string_view help, const framework::Metrics::Labels& labels)
      : description{std::string(name), std::string(help), {}, {}} {
    for (const auto& [label, value] : labels) {
      description.labels.push_back(label);
      values.push_back(value);
    }
  }

  MetricDescription description;
  std::vector<std::string_view> values;
};

}  // namespace

struct PrometheusMetrics::State {
  using Key = std::pair<std::string, Labels>;

  MetricRegistry registry;
  MetricView view;
  std::mutex mutex;  // guards the maps
  std::map<Key, CountedBy> counters;
  std::map<Key, GaugedBy> gauges;
  std::map<Key, ObservedBy> histograms;
};

PrometheusMetrics::PrometheusMetrics() : state_(std::make_unique<State>()) {}
PrometheusMetrics::~PrometheusMetrics() = default;

framework::Counter& PrometheusMetrics::GetCounter(std::string_view name, std::string_view help, const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  State::Key key(name, labels);
  if (const auto known = state_->counters.find(key); known != state_->counters.end()) return known->second;
  Named named(name, help, labels);
  CounterCell& cell = state_->registry.AddCounter(std::move(named.description)).With(named.values);
  return state_->counters.emplace(std::move(key), cell).first->second;
}

framework::Gauge& PrometheusMetrics::GetGauge(std::string_view name, std::string_view help, const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  State::Key key(name, labels);
  if (const auto known = state_->gauges.find(key); known != state_->gauges.end()) return known->second;
  Named named(name, help, labels);
  GaugeCell& cell = state_->registry.AddGauge(std::move(named.description)).With(named.values);
  return state_->gauges.emplace(std::move(key), cell).first->second;
}

framework::Histogram& PrometheusMetrics::GetHistogram(std::string_view name, std::string_view help,
                                                      const std::vector<double>& bounds, const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  State::Key key(name, labels);
  if (const auto known = state_->histograms.find(key); known != state_->histograms.end()) return known->second;
  Named named(name, help, labels);
  named.description.buckets = bounds;
  HistogramCell& cell = state_->registry.AddHistogram(std::move(named.description)).With(named.values);
  return state_->histograms.emplace(std::move(key), cell).first->second;
}

MetricRegistry& PrometheusMetrics::registry() { return state_->registry; }

void PrometheusMetrics::SetView(ViewOptions options) { state_->view.SetOptions(std::move(options)); }

void PrometheusMetrics::Reset() { state_->view.Reset(state_->registry); }

std::string PrometheusMetrics::Text() const { return WriteText(state_->registry, state_->view); }

}  // namespace berth::metrics
