// SPDX-License-Identifier: Apache-2.0
#include "berth/base/metric_registry.h"

#include <utility>

namespace berth {

std::vector<std::uint64_t> HistogramCell::Counts() const {
  std::vector<std::uint64_t> counts(bounds_.size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

std::uint64_t HistogramCell::count() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) count += counts_[i].load(std::memory_order_relaxed);
  return count;
}

void ReadCell(const HistogramCell& cell, MetricSeries& to) {
  to.counts = cell.Counts();
  to.sum = cell.sum();
}

struct MetricRegistry::State {
  // The family with the description's name if its type and labels match; otherwise a new one, which is readable if the
  // name is unused.
  template <typename Family>
  Family& Add(MetricType type, MetricDescription&& description) {
    const std::lock_guard lock(mutex);
    const auto known = by_name.find(description.name);
    if (known != by_name.end()) {
      auto* const same = dynamic_cast<Family*>(known->second.get());
      if (same != nullptr && same->description().labels == description.labels) return *same;
    }
    std::string name = description.name;
    auto family = std::make_unique<Family>(type, std::move(description));
    Family& made = *family;
    if (known == by_name.end()) {
      by_name.emplace(std::move(name), std::move(family));
    } else {
      unread.push_back(std::move(family));
    }
    return made;
  }

  std::mutex mutex;  // guards all members
  std::map<std::string, std::unique_ptr<MetricFamily>, std::less<>> by_name;
  std::vector<std::unique_ptr<MetricFamily>> unread;
  std::vector<std::function<void()>> updates;
};

MetricRegistry::MetricRegistry() : state_(std::make_unique<State>()) {}
MetricRegistry::~MetricRegistry() = default;

CounterFamily& MetricRegistry::AddCounter(MetricDescription description) {
  return state_->Add<CounterFamily>(MetricType::kCounter, std::move(description));
}
GaugeFamily& MetricRegistry::AddGauge(MetricDescription description) {
  return state_->Add<GaugeFamily>(MetricType::kGauge, std::move(description));
}
HistogramFamily& MetricRegistry::AddHistogram(MetricDescription description) {
  return state_->Add<HistogramFamily>(MetricType::kHistogram, std::move(description));
}

void MetricRegistry::BeforeReading(std::function<void()> update) {
  const std::lock_guard lock(state_->mutex);
  state_->updates.push_back(std::move(update));
}

const MetricFamily* MetricRegistry::Find(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->by_name.find(name);
  return known == state_->by_name.end() ? nullptr : known->second.get();
}

std::vector<const MetricFamily*> MetricRegistry::Read() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& update : state_->updates) update();
  std::vector<const MetricFamily*> families;
  families.reserve(state_->by_name.size());
  for (const auto& [name, family] : state_->by_name) families.push_back(family.get());
  return families;
}

std::vector<double> ExponentialBuckets(double start, double factor, int count) {
  std::vector<double> bounds;
  for (int i = 0; i < count; ++i, start *= factor) bounds.push_back(start);
  return bounds;
}

}  // namespace berth
