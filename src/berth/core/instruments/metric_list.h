// SPDX-License-Identifier: Apache-2.0
// The list of kube-scheduler's metrics: names, types, help texts, labels and buckets of pkg/scheduler/metrics of each
// release that berth follows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/base/metric_registry.h"
#include "berth/framework/release.h"

namespace berth::instruments {

// Bucket bounds start, start * factor, ... With count 0 there are none.
struct Buckets {
  double start = 0;
  double factor = 0;
  int count = 0;
};

// What a metric belongs to that has to be switched on: GenericWorkload, and TopologyAwareWorkloadScheduling with it. 1.36
// shows its metrics in any case.
enum class Feature : std::uint8_t { kNone, kPodGroups, kPlacements };

// The releases, by their minor versions, in which a metric is as an entry of the list has it.
struct InReleases {
  int first = framework::kOldestRelease;
  int last = framework::kNewestRelease;
  Feature feature = Feature::kNone;

  bool Have(const framework::Release& release) const {
    if (release.minor < first || release.minor > last) return false;
    if (release.minor < 37) return true;
    switch (feature) {
      case Feature::kNone: break;
      case Feature::kPodGroups: return release.has_pod_groups;
      case Feature::kPlacements: return release.has_pod_groups && release.places_pod_groups_by_topology;
    }
    return true;
  }
};

struct ListedMetric {
  std::string_view name;
  MetricType type = MetricType::kCounter;
  std::string_view stability;  // STABLE, BETA or ALPHA
  std::string_view help;
  std::string_view labels;  // separated by blanks
  Buckets buckets{};        // of a histogram
  InReleases in{};
};

// Sorted by name. A metric that releases have differently has several entries, of different releases.
std::span<const ListedMetric> SchedulerMetricList();
// The description for the registry. Its help text begins with the stability, as component-base writes it.
MetricDescription DescriptionOf(const ListedMetric& metric);
// The first description of that name, which must be in the list. Where a family of the name is in the registry already
// (SchedulerMetrics adds those of its release), any of them leads there.
MetricDescription DescriptionOf(std::string_view name);

}  // namespace berth::instruments
