// SPDX-License-Identifier: Apache-2.0
// FakeMetrics: records the metrics of a plugin under test by name and labels: "berth_things_total,kind=a".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/metrics.h"

namespace berth::testing {

class FakeMetrics final : public framework::Metrics {
 public:
  framework::Counter& GetCounter(std::string_view name, std::string_view, const Labels& labels) override {
    return cells_[KeyOf(name, labels)];
  }
  framework::Gauge& GetGauge(std::string_view name, std::string_view, const Labels& labels) override {
    return cells_[KeyOf(name, labels)];
  }
  framework::Histogram& GetHistogram(std::string_view name, std::string_view, const std::vector<double>&,
                                     const Labels& labels) override {
    return cells_[KeyOf(name, labels)];
  }

  // The value of a counter or gauge; -1: it was not requested.
  double Value(const std::string& key) const {
    const auto it = cells_.find(key);
    return it == cells_.end() ? -1 : it->second.value;
  }
  // The observations of a histogram, in order.
  std::vector<double> Observed(const std::string& key) const {
    const auto it = cells_.find(key);
    return it == cells_.end() ? std::vector<double>() : it->second.observed;
  }
  // The keys that begin with `name`, sorted.
  std::vector<std::string> Keys(std::string_view name) const {
    std::vector<std::string> keys;
    for (const auto& [key, cell] : cells_) {
      if (key.starts_with(name)) keys.push_back(key);
    }
    return keys;
  }

 private:
  struct Cell final : framework::Counter, framework::Gauge, framework::Histogram {
    void Add(double amount) override { value += amount; }
    void Set(double to) override { value = to; }
    void Observe(double of) override { observed.push_back(of); }
    double value = 0;
    std::vector<double> observed;
  };
  static std::string KeyOf(std::string_view name, const Labels& labels) {
    std::string key(name);
    for (const auto& [label, value] : labels) key += "," + label + "=" + value;
    return key;
  }

  std::map<std::string, Cell> cells_;  // references to its values stay valid
};

}  // namespace berth::testing
