// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/prometheus_metrics.h"

#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace berth::metrics {
namespace {

class CountedBy final : public framework::Counter {
 public:
  explicit CountedBy(prometheus::Counter& counter) : counter_(counter) {}
  void Add(double amount) override { counter_.Increment(amount); }

 private:
  prometheus::Counter& counter_;
};

class GaugedBy final : public framework::Gauge {
 public:
  explicit GaugedBy(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void Set(double value) override { gauge_.Set(value); }

 private:
  prometheus::Gauge& gauge_;
};

}  // namespace

struct PrometheusMetrics::State {
  using Key = std::pair<std::string, Labels>;

  prometheus::Registry registry;
  std::mutex mutex;  // guards the maps
  std::map<Key, CountedBy> counters;
  std::map<Key, GaugedBy> gauges;
};

PrometheusMetrics::PrometheusMetrics() : state_(std::make_unique<State>()) {}
PrometheusMetrics::~PrometheusMetrics() = default;

framework::Counter& PrometheusMetrics::GetCounter(std::string_view name, std::string_view help, const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  State::Key key(name, labels);
  if (const auto known = state_->counters.find(key); known != state_->counters.end()) return known->second;
  auto& family = prometheus::BuildCounter().Name(key.first).Help(std::string(help)).Register(state_->registry);
  CountedBy counter(family.Add({labels.begin(), labels.end()}));
  return state_->counters.emplace(std::move(key), counter).first->second;
}

framework::Gauge& PrometheusMetrics::GetGauge(std::string_view name, std::string_view help, const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  State::Key key(name, labels);
  if (const auto known = state_->gauges.find(key); known != state_->gauges.end()) return known->second;
  auto& family = prometheus::BuildGauge().Name(key.first).Help(std::string(help)).Register(state_->registry);
  GaugedBy gauge(family.Add({labels.begin(), labels.end()}));
  return state_->gauges.emplace(std::move(key), gauge).first->second;
}

std::string PrometheusMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace berth::metrics
