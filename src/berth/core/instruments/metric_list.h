// SPDX-License-Identifier: Apache-2.0
// The list of kube-scheduler's metrics: names, types, help texts, labels and buckets of pkg/scheduler/metrics in each
// followed release.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/base/metric_registry.h"
#include "berth/framework/release.h"

namespace berth::instruments {

// Bucket bounds start, start * factor, ... A count of 0 means none.
struct Buckets {
  double start = 0;
  double factor = 0;
  int count = 0;
};

// The feature that must be enabled for a metric: GenericWorkload, or TopologyAwareWorkloadScheduling in addition. 1.36
// shows its metrics in any case.
enum class Feature : std::uint8_t { kNone, kPodGroups, kPlacements };

// The minor versions in which a metric is as in this entry of the list.
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

// Whether metrics say of which kind a group is, PodGroup or CompositePodGroup: since 1.38.
inline bool TellsGroupKinds(const framework::Release& release) { return release.minor >= 38; }

struct ListedMetric {
  std::string_view name;
  MetricType type = MetricType::kCounter;
  std::string_view stability;  // STABLE, BETA or ALPHA
  std::string_view help;
  std::string_view labels;  // separated by spaces
  Buckets buckets{};        // for histograms
  InReleases in{};
};

// Sorted by name. A metric that differs between releases has several entries.
std::span<const ListedMetric> SchedulerMetricList();
// The description for the registry. Its help text begins with the stability, as component-base writes it.
MetricDescription DescriptionOf(const ListedMetric& metric);
// The description of the first entry with this name, which must exist. If the registry has a family of the name already
// (SchedulerMetrics adds those of its release), any description finds it.
MetricDescription DescriptionOf(std::string_view name);
// As the release describes it, which must list it.
MetricDescription DescriptionOf(std::string_view name, const framework::Release& release);

}  // namespace berth::instruments
