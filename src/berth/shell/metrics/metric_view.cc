// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/metric_view.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace berth::metrics {
namespace {

constexpr std::string_view kUnexpected = "unexpected";

// client_golang's collector of the process counts elsewhere, and cannot be reset.
bool IsOfProcess(const MetricFamily& family) { return family.description().name.starts_with("process_"); }

bool IsReset(const MetricFamily& family) {
  if (IsOfProcess(family)) return false;
  return family.type() == MetricType::kCounter ||
         (family.type() == MetricType::kHistogram && !family.description().labels.empty());
}

bool IsZero(const MetricSeries& series) {
  return series.value == 0 &&
         std::all_of(series.counts.begin(), series.counts.end(), [](auto count) { return count == 0; });
}

// Adds `other`, or subtracts it if `sign` is -1.
void Add(MetricSeries& to, const MetricSeries& other, int sign) {
  to.value += sign * other.value;
  to.sum += sign * other.sum;
  for (std::size_t i = 0; i < to.counts.size() && i < other.counts.size(); ++i) {
    to.counts[i] = sign > 0 ? to.counts[i] + other.counts[i] : to.counts[i] - std::min(to.counts[i], other.counts[i]);
  }
}

}  // namespace

void MetricView::Reset(MetricRegistry& registry) {
  const auto families = registry.Read();
  const std::lock_guard lock(mutex_);
  for (const MetricFamily* family : families) {
    if (!IsReset(*family)) continue;
    SeriesByLabels& at_reset = at_reset_[family->description().name];
    at_reset.clear();
    for (MetricSeries& series : family->Collect()) {
      std::vector<std::string> labels = series.label_values;
      at_reset.emplace(std::move(labels), std::move(series));
    }
  }
}

std::vector<MetricSeries> MetricView::Series(const MetricFamily& family) const {
  std::vector<MetricSeries> series;
  {
    // The lock keeps a Reset() from coming between, after which more would be subtracted than was collected.
    const std::lock_guard lock(mutex_);
    series = family.Collect();
    Subtract(family, series);
  }
  Restrict(family, series);
  return series;
}

void MetricView::Subtract(const MetricFamily& family, std::vector<MetricSeries>& series) const {
  const auto found = at_reset_.find(family.description().name);
  if (found == at_reset_.end()) return;
  const SeriesByLabels& at_reset = found->second;
  for (MetricSeries& one : series) {
    if (const auto before = at_reset.find(one.label_values); before != at_reset.end()) Add(one, before->second, -1);
  }
  std::erase_if(series, [&](const MetricSeries& one) {
    return !one.label_values.empty() && IsZero(one) && at_reset.contains(one.label_values);
  });
}

void MetricView::Restrict(const MetricFamily& family, std::vector<MetricSeries>& series) const {
  const MetricDescription& description = family.description();
  bool is_restricted = false;
  for (std::size_t label = 0; label < description.labels.size(); ++label) {
    const auto allowed = options_.label_values.find(description.name + ',' + description.labels[label]);
    if (allowed == options_.label_values.end()) continue;
    is_restricted = true;
    for (MetricSeries& one : series) {
      if (!allowed->second.contains(one.label_values[label])) one.label_values[label] = kUnexpected;
    }
  }
  if (!is_restricted) return;
  SeriesByLabels merged;
  for (MetricSeries& one : series) {
    const auto [entry, is_new] = merged.try_emplace(one.label_values, one);
    if (!is_new) Add(entry->second, one, 1);
  }
  series.clear();
  for (auto& [labels, one] : merged) series.push_back(std::move(one));
}

}  // namespace berth::metrics
