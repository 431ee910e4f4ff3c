// SPDX-License-Identifier: Apache-2.0
// SchedulerMetrics: the cells of kube-scheduler's metrics. The core writes them within turns only, without a lock
// except for the first use of a combination of label values. Any thread may read them through the registry. No decision
// depends on them. docs/metrics.md describes each metric.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/metric_registry.h"
#include "berth/base/time.h"
#include "berth/core/instruments/group_metrics.h"
#include "berth/framework/cluster_event.h"
#include "berth/framework/release.h"
#include "berth/framework/status.h"

namespace berth::instruments {

class PodTraces;

// Values of the label extension_point.
enum class Point : std::uint8_t {
  kPreEnqueue,
  kPreFilter,
  kPreFilterExtensionAddPod,
  kPreFilterExtensionRemovePod,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kScoreExtensionNormalize,
  kReserve,
  kUnreserve,
  kPermit,
  kPreBindPreFlight,
  kPreBind,
  kBind,
  kPostBind,
  kPlacementGenerate,
  kPlacementFeasible,
  kPlacementScore,
  kPodGroupPostFilter,
  kRankNodes,
};
inline constexpr std::size_t kPointCount = 21;
inline constexpr std::size_t kCodeCount = 7;
std::string_view ToString(Point point);

enum class AttemptResult : std::uint8_t { kScheduled, kUnschedulable, kError };
std::string_view ToString(AttemptResult result);

// A cell for each extension point and status, created at its first use.
struct PointCells {
  static std::size_t IndexOf(Point point, framework::Code code) {
    return static_cast<std::size_t>(point) * kCodeCount + static_cast<std::size_t>(code);
  }
  std::array<HistogramCell*, kPointCount * kCodeCount> cells{};
};

// Cells that all profiles share.
struct CycleCells {
  CycleCells(MetricRegistry& registry, const framework::Release& release);
  // A pod was bound in its `attempts`th attempt, `since_first` after it first entered activeQ.
  void ObserveBound(int attempts, Duration since_first);

  MetricRegistry unlisted;  // for what is counted in any case, and shown by some releases alone
  HistogramCell& algorithm_duration;
  HistogramCell& attempts;
  HistogramFamily& sli_duration;
  CounterCell& bound_after_flush;
  CounterCell& preemption_attempts;
  HistogramFamily& permit_wait;

 private:
  std::array<HistogramCell*, 16> sli_cells_{};  // by attempts; 15 and more share a cell
};

// The size of the queue in entities, which are pods and groups, by place: activeQ, back-off, unschedulable and gated.
struct QueueSizes {
  std::array<std::size_t, 4> entities{};
  // Included in `entities`: composite groups and other groups; and the members of all groups.
  std::array<std::size_t, 4> composite_groups{};
  std::array<std::size_t, 4> groups{};
  std::array<std::size_t, 4> members{};
  std::size_t incomplete = 0;  // pods whose group is unknown
  std::size_t pending = 0;     // pods whose group is in flight
};

// Sizes of queue, cache and tables, set at the end of a turn, but at most once a second while pods wait in activeQ.
struct SizeCells {
  SizeCells(MetricRegistry& registry, const framework::Release& release);
  void SetQueued(const QueueSizes& sizes);

  GaugeCell& active;
  GaugeCell& backoff;
  GaugeCell& unschedulable;
  GaugeCell& gated;
  GaugeCell& in_flight;
  GaugeCell& nodes;
  GaugeCell& pods;
  GaugeCell& assumed_pods;
  GaugeCell& binding;
  GaugeCell& prioritizing;

 private:
  SizeCells(GaugeFamily& pending, GaugeFamily& in_flight, GaugeFamily& cache, GaugeFamily& goroutines);

  // Scheduling entities, in the order of QueueSizes; null if the release has no such gauge, or no groups.
  std::array<GaugeCell*, 4> entities_{};
  std::array<GaugeCell*, 4> groups_{};
  std::array<GaugeCell*, 4> composite_groups_{};
  GaugeCell* incomplete_ = nullptr;
  GaugeCell* pending_ = nullptr;
};

class SchedulerMetrics {
 public:
  // Adds all listed families of the release to the registry, which must outlive this object.
  explicit SchedulerMetrics(MetricRegistry& of_registry, const framework::Release& of_release = {});
  SchedulerMetrics(const SchedulerMetrics&) = delete;
  SchedulerMetrics& operator=(const SchedulerMetrics&) = delete;

  // For sampled cycles: `times` calls of one plugin, each of which took `took`.
  void ObservePlugin(Point point, std::string_view plugin, framework::Code code, Duration took,
                     std::uint64_t times = 1);
  // An event was handled.
  void ObserveEvent(const framework::ClusterEvent& event, Duration took);

  const framework::Release release;
  MetricRegistry& registry;
  CycleCells cycles;
  SizeCells sizes;
  std::optional<GroupMetrics> groups;  // set if pods are scheduled in groups
  PodTraces* traces = nullptr;         // null: no pod is traced. Set before the core is made, which it outlives

 private:
  HistogramFamily& plugin_duration_;
  HistogramFamily& event_duration_;
  StringHashMap<PointCells> by_plugin_;
  // A few tens at most, searched linearly: the events of every pod come first.
  struct EventCell {
    framework::ClusterEvent event;
    HistogramCell* cell = nullptr;
  };
  std::vector<EventCell> by_event_;
};

}  // namespace berth::instruments
