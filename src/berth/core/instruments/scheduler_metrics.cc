// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/scheduler_metrics.h"

#include <algorithm>

#include "berth/core/instruments/metric_list.h"
#include "berth/core/instruments/stopwatch.h"

namespace berth::instruments {
namespace {

CounterFamily& Counter(MetricRegistry& registry, std::string_view name) {
  return registry.AddCounter(DescriptionOf(name));
}
GaugeFamily& Gauge(MetricRegistry& registry, std::string_view name) { return registry.AddGauge(DescriptionOf(name)); }
HistogramFamily& Histogram(MetricRegistry& registry, std::string_view name) {
  return registry.AddHistogram(DescriptionOf(name));
}

// Adds all families, so that a scrape also shows those without values.
MetricRegistry& WithFamilies(MetricRegistry& registry, const framework::Release& release) {
  for (const ListedMetric& metric : SchedulerMetricList()) {
    if (!metric.in.Have(release)) continue;
    switch (metric.type) {
      case MetricType::kCounter: registry.AddCounter(DescriptionOf(metric)); break;
      case MetricType::kGauge: registry.AddGauge(DescriptionOf(metric)); break;
      case MetricType::kHistogram: registry.AddHistogram(DescriptionOf(metric)); break;
    }
  }
  return registry;
}

bool IsListed(std::string_view name, const framework::Release& release) {
  return std::ranges::any_of(SchedulerMetricList(), [&](const ListedMetric& metric) {
    return metric.name == name && metric.in.Have(release);
  });
}

}  // namespace

std::string_view ToString(Point point) {
  static constexpr std::array<std::string_view, kPointCount> kNames = {"PreEnqueue",
                                                                       "PreFilter",
                                                                       "PreFilterExtensionAddPod",
                                                                       "PreFilterExtensionRemovePod",
                                                                       "Filter",
                                                                       "PostFilter",
                                                                       "PreScore",
                                                                       "Score",
                                                                       "ScoreExtensionNormalize",
                                                                       "Reserve",
                                                                       "Unreserve",
                                                                       "Permit",
                                                                       "PreBindPreFlight",
                                                                       "PreBind",
                                                                       "Bind",
                                                                       "PostBind",
                                                                       "PlacementGenerate",
                                                                       "PlacementFeasible",
                                                                       "PlacementScore",
                                                                       "PodGroupPostFilter",
                                                                       "RankNodes"};
  static_assert(!kNames.back().empty(), "each point has its name");
  return kNames[static_cast<std::size_t>(point)];
}

std::string_view ToString(AttemptResult result) {
  switch (result) {
    case AttemptResult::kScheduled: return "scheduled";
    case AttemptResult::kUnschedulable: return "unschedulable";
    case AttemptResult::kError: break;
  }
  return "error";
}

CycleCells::CycleCells(MetricRegistry& registry, const framework::Release& release)
    : algorithm_duration(Histogram(registry, "scheduler_scheduling_algorithm_duration_seconds").With({})),
      attempts(Histogram(registry, "scheduler_pod_scheduling_attempts").With({})),
      sli_duration(Histogram(registry, "scheduler_pod_scheduling_sli_duration_seconds")),
      bound_after_flush(Counter(IsListed("scheduler_pod_scheduled_after_flush_total", release) ? registry : unlisted,
                                "scheduler_pod_scheduled_after_flush_total")
                            .With({})),
      preemption_attempts(Counter(registry, "scheduler_preemption_attempts_total").With({})),
      permit_wait(Histogram(registry, "scheduler_permit_wait_duration_seconds")) {
  // The family exists from the start; DefaultPreemption uses it when its evictions have ended.
  Histogram(registry, "scheduler_preemption_victims").With({});
}

void CycleCells::ObserveBound(int of_attempts, Duration since_first) {
  attempts.Observe(of_attempts);
  const std::size_t index = static_cast<std::size_t>(std::clamp(of_attempts, 0, 15));
  HistogramCell*& cell = sli_cells_[index];
  if (cell == nullptr) cell = &sli_duration.With({index == 15 ? "15+" : std::to_string(index)});
  cell->Observe(Seconds(since_first));
}

SizeCells::SizeCells(MetricRegistry& registry, const framework::Release& release)
    : SizeCells(Gauge(registry, "scheduler_pending_pods"), Gauge(registry, "scheduler_inflight_events"),
                Gauge(registry, "scheduler_cache_size"), Gauge(registry, "scheduler_goroutines")) {
  if (!release.counts_entities) return;
  GaugeFamily& entities = registry.AddGauge(DescriptionOf("scheduler_queued_entities", release));
  static constexpr std::array<std::string_view, 4> kQueues = {"active", "backoff", "unschedulable", "gated"};
  for (std::size_t i = 0; i < kQueues.size(); ++i) entities_[i] = &entities.With({kQueues[i], "pod"});
  if (!release.has_pod_groups) return;
  const bool has_composites = release.has_composite_pod_groups && TellsGroupKinds(release);
  for (std::size_t i = 0; i < kQueues.size(); ++i) {
    groups_[i] = &entities.With({kQueues[i], "podgroup"});
    if (has_composites) composite_groups_[i] = &entities.With({kQueues[i], "compositepodgroup"});
  }
  GaugeFamily& pending_pods = Gauge(registry, "scheduler_pending_pods");
  incomplete_ = &pending_pods.With({"incomplete"});
  pending_ = &pending_pods.With({"pending"});
}

void SizeCells::SetQueued(const QueueSizes& sizes) {
  const auto set = [](GaugeCell* cell, std::size_t size) {
    if (cell != nullptr) cell->Set(static_cast<double>(size));
  };
  const std::array<GaugeCell*, 4> pods_by_queue = {&active, &backoff, &unschedulable, &gated};
  for (std::size_t i = 0; i < sizes.entities.size(); ++i) {
    // As upstream, composite groups have no label of their own before 1.38: only their pods count.
    const std::size_t single_pods = sizes.entities[i] - sizes.groups[i] - sizes.composite_groups[i];
    set(pods_by_queue[i], single_pods + sizes.members[i]);
    set(entities_[i], single_pods);
    set(groups_[i], sizes.groups[i]);
    set(composite_groups_[i], sizes.composite_groups[i]);
  }
  set(incomplete_, sizes.incomplete);
  set(pending_, sizes.pending);
}

SizeCells::SizeCells(GaugeFamily& pending, GaugeFamily& in_flight_events, GaugeFamily& cache, GaugeFamily& goroutines)
    : active(pending.With({"active"})),
      backoff(pending.With({"backoff"})),
      unschedulable(pending.With({"unschedulable"})),
      gated(pending.With({"gated"})),
      in_flight(in_flight_events.With({"PodPopped"})),
      nodes(cache.With({"nodes"})),
      pods(cache.With({"pods"})),
      assumed_pods(cache.With({"assumed_pods"})),
      binding(goroutines.With({"binding"})),
      prioritizing(goroutines.With({"prioritizing_extender"})) {}

SchedulerMetrics::SchedulerMetrics(MetricRegistry& of_registry, const framework::Release& of_release)
    : release(of_release),
      registry(WithFamilies(of_registry, of_release)),
      cycles(of_registry, of_release),
      sizes(of_registry, of_release),
      plugin_duration_(Histogram(of_registry, "scheduler_plugin_execution_duration_seconds")),
      event_duration_(Histogram(of_registry, "scheduler_event_handling_duration_seconds")) {
  if (release.has_pod_groups) groups.emplace(of_registry, release);
}

void SchedulerMetrics::ObservePlugin(Point point, std::string_view plugin, framework::Code code, Duration took,
                                     std::uint64_t times) {
  auto known = by_plugin_.find(plugin);
  if (known == by_plugin_.end()) known = by_plugin_.try_emplace(std::string(plugin)).first;
  HistogramCell*& cell = known->second.cells[PointCells::IndexOf(point, code)];
  if (cell == nullptr) cell = &plugin_duration_.With({plugin, ToString(point), framework::ToString(code)});
  cell->Observe(Seconds(took), times);
}

void SchedulerMetrics::ObserveEvent(const framework::ClusterEvent& event, Duration took) {
  auto known = std::find_if(by_event_.begin(), by_event_.end(), [&](const EventCell& e) { return e.event == event; });
  if (known == by_event_.end()) {
    by_event_.push_back({event, &event_duration_.With({event.Label(release.names_target_pod_events)})});
    known = by_event_.end() - 1;
  }
  known->cell->Observe(Seconds(took));
}

}  // namespace berth::instruments
