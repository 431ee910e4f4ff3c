// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/group_metrics.h"

#include <array>
#include <vector>

#include "berth/core/instruments/metric_list.h"
#include "berth/core/instruments/stopwatch.h"

namespace berth::instruments {
namespace {

constexpr std::array<std::string_view, 3> kUnitKinds = {"pod", "podgroup", "compositepodgroup"};  // as PodGroupToll

// The families of a release.
struct Families {
  MetricRegistry& registry;
  const framework::Release& release;

  CounterFamily& Counter(std::string_view name) const { return registry.AddCounter(DescriptionOf(name, release)); }
  HistogramFamily& Histogram(std::string_view name) const {
    return registry.AddHistogram(DescriptionOf(name, release));
  }
};

}  // namespace

std::string_view ToString(GroupResult result) {
  switch (result) {
    case GroupResult::kScheduled: return "scheduled";
    case GroupResult::kUnschedulable: return "unschedulable";
    case GroupResult::kWaitingOnPreemption: return "waiting_on_preemption";
    case GroupResult::kError: break;
  }
  return "error";
}

std::string_view KindLabel(const framework::PodGroupKey& group) { return kUnitKinds[group.is_composite ? 2 : 1]; }

GroupMetrics::GroupMetrics(MetricRegistry& registry, const framework::Release& release)
    : tells_kinds_(TellsGroupKinds(release)),
      attempts_(Families{registry, release}.Counter("scheduler_podgroup_schedule_attempts_total")),
      attempt_duration_(
          Families{registry, release}.Histogram("scheduler_podgroup_scheduling_attempt_duration_seconds")),
      algorithm_duration_(
          Families{registry, release}.Histogram("scheduler_podgroup_scheduling_algorithm_duration_seconds")),
      preemption_attempts_(Families{registry, release}.Counter("scheduler_workload_preemption_attempts_total")),
      preemption_victims_(Families{registry, release}.Histogram("scheduler_workload_preemption_victims")),
      disruptions_(Families{registry, release}.Histogram("scheduler_preemption_workload_disruptions")),
      pdb_violations_(Families{registry, release}.Counter("scheduler_preemption_pdb_violations_total")),
      evaluation_duration_(Families{registry, release}.Histogram("scheduler_preemption_evaluation_duration_seconds")) {
  if (!release.places_pod_groups_by_topology) return;
  const Families families{registry, release};
  placements_ = &families.Counter("scheduler_generated_placements_total");
  placement_evaluations_ = &families.Counter("scheduler_placement_evaluations_total");
  placement_duration_ = &families.Histogram("scheduler_placement_evaluation_duration_seconds");
}

template <typename Family>
auto& GroupMetrics::CellOf(Family& family, Values values, const framework::PodGroupKey& group) const {
  std::vector<std::string_view> all(values);
  if (tells_kinds_) all.push_back(KindLabel(group));
  return family.With(all);
}

void GroupMetrics::ObserveAttempt(const framework::PodGroupKey& root, GroupResult result, std::string_view profile,
                                  Duration took) {
  CellOf(attempts_, {ToString(result), profile}, root).Add();
  CellOf(attempt_duration_, {ToString(result), profile}, root).Observe(Seconds(took));
}

void GroupMetrics::ObserveAlgorithm(const framework::PodGroupKey& root, std::string_view profile, Duration took) {
  // Before 1.38 it has no labels at all.
  HistogramCell& cell =
      tells_kinds_ ? algorithm_duration_.With({profile, KindLabel(root)}) : algorithm_duration_.With({});
  cell.Observe(Seconds(took));
}

void GroupMetrics::ObservePlacements(const framework::PodGroupKey& group, std::string_view profile, std::size_t count) {
  if (placements_ != nullptr) CellOf(*placements_, {profile}, group).Add(static_cast<double>(count));
}

void GroupMetrics::ObservePlacement(const framework::PodGroupKey& group, std::string_view profile, bool is_feasible,
                                    Duration took) {
  if (placements_ == nullptr) return;
  const std::string_view result = is_feasible ? "feasible" : "infeasible";
  CellOf(*placement_evaluations_, {result, profile}, group).Add();
  CellOf(*placement_duration_, {result, profile}, group).Observe(Seconds(took));
}

void GroupMetrics::ObservePreemptionAttempt(const framework::PodGroupKey& root, framework::Code code) {
  const std::string_view result = framework::ToString(code);
  CounterCell& cell =
      tells_kinds_ ? preemption_attempts_.With({KindLabel(root), result}) : preemption_attempts_.With({result});
  cell.Add();
}

void GroupMetrics::ObservePodEvaluation(framework::Code code, Duration took) {
  evaluation_duration_.With({"pod", framework::ToString(code)}).Observe(Seconds(took));
}

void GroupMetrics::ObserveGroupEvaluation(const framework::PodGroupKey& root, framework::Code code, Duration took) {
  const std::string_view kind = tells_kinds_ ? KindLabel(root) : "podgroup";
  evaluation_duration_.With({kind, framework::ToString(code)}).Observe(Seconds(took));
}

void GroupMetrics::ObserveGroupToll(const framework::PodGroupKey& root, const framework::PodGroupToll& toll) {
  CellOf(preemption_victims_, {}, root).Observe(static_cast<double>(toll.victims));
  const auto observe = [&](std::size_t units, Values values) {
    if (units > 0) disruptions_.With(values).Observe(static_cast<double>(units));
  };
  if (tells_kinds_) {
    for (std::size_t i = 0; i < kUnitKinds.size(); ++i) observe(toll.units[i], {KindLabel(root), kUnitKinds[i]});
  } else {
    observe(toll.units[1] + toll.units[2], {KindLabel(root)});
  }
  if (toll.pdb_violations > 0) pdb_violations_.With({KindLabel(root)}).Add(static_cast<double>(toll.pdb_violations));
}

void GroupMetrics::ObservePodToll(std::int64_t pdb_violations) {
  if (pdb_violations > 0) pdb_violations_.With({"pod"}).Add(static_cast<double>(pdb_violations));
}

}  // namespace berth::instruments
