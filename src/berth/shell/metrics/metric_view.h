// SPDX-License-Identifier: Apache-2.0
// MetricView: the part of a registry that is served, after kube-scheduler's --disabled-metrics and
// --allow-metric-labels, and after DELETE /metrics. The cells go on counting. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/metric_registry.h"

namespace berth::metrics {

struct ViewOptions {
  std::set<std::string, std::less<>> disabled;  // names of families
  // By "FAMILY,LABEL": the values that the label may have. All others are shown as "unexpected", added up.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> label_values;
};

class MetricView {
 public:
  // To be called before the first Series().
  void SetOptions(ViewOptions options) { options_ = std::move(options); }

  // As component-base resets its registry: counters begin at 0 again, those with labels and histograms with labels are
  // gone until they count again, and histograms without labels and what is of the process (process_...) stay. Unlike
  // there gauges with labels stay, too: they say what is.
  void Reset(MetricRegistry& registry);

  // Whether the family is served at all.
  bool Shows(const MetricFamily& family) const { return !options_.disabled.contains(family.description().name); }
  // What the family shows: what was counted since the last Reset().
  std::vector<MetricSeries> Series(const MetricFamily& family) const;

 private:
  using SeriesByLabels = std::map<std::vector<std::string>, MetricSeries>;

  // With mutex_ held.
  void Subtract(const MetricFamily& family, std::vector<MetricSeries>& series) const;
  void Restrict(const MetricFamily& family, std::vector<MetricSeries>& series) const;

  ViewOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, SeriesByLabels, std::less<>> at_reset_;  // by family; guarded by mutex_
};

}  // namespace berth::metrics
