// SPDX-License-Identifier: Apache-2.0
// Counters, gauges and histograms as Prometheus defines them. A family has a name and label names. A cell holds the
// value of one combination of label values; With() finds or creates it. Cells live as long as the registry: look a cell
// up once and keep the reference. Writing to a cell takes no lock. A scrape locks one family at a time and never waits
// for writers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Use Add() if only one thread at a time writes the cell, otherwise AddShared(). The same holds for the classes below.
class CounterCell {
 public:
  explicit CounterCell(std::span<const double>) {}
  void Add(double amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void AddShared(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  // For totals that are counted elsewhere.
  void Store(double total) { value_.store(total, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class GaugeCell {
 public:
  explicit GaugeCell(std::span<const double>) {}
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double amount) { value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class HistogramCell {
 public:
  // `bounds` are the buckets' upper bounds, ascending, without +Inf. They must outlive the cell.
  explicit HistogramCell(std::span<const double> bounds)
      : bounds_(bounds), counts_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds.size() + 1)) {}

  // Records `times` observations of the same value.
  void Observe(double value, std::uint64_t times = 1) {
    std::atomic<std::uint64_t>& count = counts_.get()[BucketOf(value)];
    count.store(count.load(std::memory_order_relaxed) + times, std::memory_order_relaxed);
    sum_.store(sum_.load(std::memory_order_relaxed) + value * static_cast<double>(times), std::memory_order_relaxed);
  }
  void ObserveShared(double value) {
    counts_[BucketOf(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  // Observations in each bucket, with that of +Inf last; not cumulative.
  std::vector<std::uint64_t> Counts() const;
  std::uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::size_t BucketOf(double value) const {
    const double* const bounds = bounds_.data();  // avoids the bounds checks of a hardened span
    const std::size_t count = bounds_.size();
    std::size_t bucket = 0;
    while (bucket < count && value > bounds[bucket]) ++bucket;
    return bucket;
  }

  const std::span<const double> bounds_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

struct MetricDescription {
  std::string name;
  std::string help;
  std::vector<std::string> labels;
  std::vector<double> buckets{};  // for histograms
};

// A snapshot of one cell with its label values. A plain value.
struct MetricSeries {
  std::vector<std::string> label_values;  // in the order of the family's labels
  double value = 0;                       // of a counter or gauge
  std::vector<std::uint64_t> counts;      // of a histogram, as HistogramCell::Counts()
  double sum = 0;
};

class MetricFamily {
 public:
  // Limit on combinations of label values. All further ones share a cell that is never shown.
  static constexpr std::size_t kSeriesMax = 10'000;

  MetricFamily(MetricType type, MetricDescription description) : type_(type), description_(std::move(description)) {}
  virtual ~MetricFamily() = default;
  MetricFamily(const MetricFamily&) = delete;
  MetricFamily& operator=(const MetricFamily&) = delete;

  MetricType type() const { return type_; }
  const MetricDescription& description() const { return description_; }
  // Thread-safe. Sorted by label values.
  virtual std::vector<MetricSeries> Collect() const = 0;

 private:
  const MetricType type_;
  const MetricDescription description_;
};

inline void ReadCell(const CounterCell& cell, MetricSeries& to) { to.value = cell.value(); }
inline void ReadCell(const GaugeCell& cell, MetricSeries& to) { to.value = cell.value(); }
void ReadCell(const HistogramCell& cell, MetricSeries& to);

template <typename Cell>
class MetricFamilyOf final : public MetricFamily {
 public:
  MetricFamilyOf(MetricType type, MetricDescription description) : MetricFamily(type, std::move(description)) {
    if (this->description().labels.empty()) With({});
  }

  // The cell of these label values, in the order of the description's labels. Thread-safe; takes a lock.
  Cell& With(std::initializer_list<std::string_view> values) { return With(std::span(values.begin(), values.size())); }
  Cell& With(std::span<const std::string_view> values) {
    std::vector<std::string> key(values.begin(), values.end());
    const std::lock_guard lock(mutex_);
    if (const auto known = by_values_.find(key); known != by_values_.end()) return *known->second;
    Cell& cell = cells_.emplace_back(description().buckets);
    if (by_values_.size() < kSeriesMax) {
      by_values_.emplace(std::move(key), &cell);
      return cell;
    }
    cells_.pop_back();
    return overflow_;
  }

  std::vector<MetricSeries> Collect() const override {
    std::vector<MetricSeries> series;
    const std::lock_guard lock(mutex_);
    series.reserve(by_values_.size());
    for (const auto& [values, cell] : by_values_) {
      MetricSeries& one = series.emplace_back();
      one.label_values = values;
      ReadCell(*cell, one);
    }
    return series;
  }

 private:
  mutable std::mutex mutex_;  // guards the map and the deque, not the cells' values
  std::map<std::vector<std::string>, Cell*> by_values_;
  std::deque<Cell> cells_;
  Cell overflow_{this->description().buckets};
};

using CounterFamily = MetricFamilyOf<CounterCell>;
using GaugeFamily = MetricFamilyOf<GaugeCell>;
using HistogramFamily = MetricFamilyOf<HistogramCell>;

// Thread-safe.
class MetricRegistry {
 public:
  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  // The family with this name. The first call creates it, and later calls do not change its description. If the name
  // belongs to a family of another type or with other labels, the returned family is never shown.
  CounterFamily& AddCounter(MetricDescription description);
  GaugeFamily& AddGauge(MetricDescription description);
  HistogramFamily& AddHistogram(MetricDescription description);

  // `update` is called before each Read(), on its thread, to set values that are computed on demand. It must not call
  // the registry.
  void BeforeReading(std::function<void()> update);
  // The family of that name as it is, without a call of those functions; null: there is none.
  const MetricFamily* Find(const std::string& name) const;
  // Calls the functions given to BeforeReading(), then returns all families, sorted by name.
  std::vector<const MetricFamily*> Read();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// `count` bounds: start, start * factor, ... as client_golang computes them.
std::vector<double> ExponentialBuckets(double start, double factor, int count);

}  // namespace berth
