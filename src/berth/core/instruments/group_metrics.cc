// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/group_metrics.h"

#include "berth/core/instruments/metric_list.h"
#include "berth/core/instruments/stopwatch.h"

namespace berth::instruments {
namespace {

CounterFamily& Counter(MetricRegistry& registry, std::string_view name) {
  return registry.AddCounter(DescriptionOf(name));
}
HistogramFamily& Histogram(MetricRegistry& registry, std::string_view name) {
  return registry.AddHistogram(DescriptionOf(name));
}

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

GroupMetrics::GroupMetrics(MetricRegistry& registry, bool has_placements)
    : attempts_(Counter(registry, "scheduler_podgroup_schedule_attempts_total")),
      attempt_duration_(Histogram(registry, "scheduler_podgroup_scheduling_attempt_duration_seconds")),
      algorithm_duration_(Histogram(registry, "scheduler_podgroup_scheduling_algorithm_duration_seconds").With({})),
      preemption_attempts_(Counter(registry, "scheduler_workload_preemption_attempts_total")),
      preemption_victims_(Histogram(registry, "scheduler_workload_preemption_victims").With({})),
      disruptions_(Histogram(registry, "scheduler_preemption_workload_disruptions")),
      pdb_violations_(Counter(registry, "scheduler_preemption_pdb_violations_total")),
      evaluation_duration_(Histogram(registry, "scheduler_preemption_evaluation_duration_seconds")) {
  if (!has_placements) return;
  placements_ = &Counter(registry, "scheduler_generated_placements_total");
  placement_evaluations_ = &Counter(registry, "scheduler_placement_evaluations_total");
  placement_duration_ = &Histogram(registry, "scheduler_placement_evaluation_duration_seconds");
}

void GroupMetrics::ObserveAttempt(GroupResult result, std::string_view profile, Duration took) {
  attempts_.With({ToString(result), profile}).Add();
  attempt_duration_.With({ToString(result), profile}).Observe(Seconds(took));
}

void GroupMetrics::ObserveAlgorithm(Duration took) { algorithm_duration_.Observe(Seconds(took)); }

void GroupMetrics::ObservePlacements(std::string_view profile, std::size_t count) {
  if (placements_ != nullptr) placements_->With({profile}).Add(static_cast<double>(count));
}

void GroupMetrics::ObservePlacement(std::string_view profile, bool is_feasible, Duration took) {
  if (placements_ == nullptr) return;
  const std::string_view result = is_feasible ? "feasible" : "infeasible";
  placement_evaluations_->With({result, profile}).Add();
  placement_duration_->With({result, profile}).Observe(Seconds(took));
}

void GroupMetrics::ObservePreemptionAttempt(framework::Code code) {
  preemption_attempts_.With({framework::ToString(code)}).Add();
}

void GroupMetrics::ObserveEvaluation(std::string_view preemptor, framework::Code code, Duration took) {
  evaluation_duration_.With({preemptor, framework::ToString(code)}).Observe(Seconds(took));
}

void GroupMetrics::ObserveGroupToll(std::string_view preemptor, const framework::PodGroupToll& toll) {
  preemption_victims_.Observe(static_cast<double>(toll.victims));
  if (toll.disruptions > 0) disruptions_.With({preemptor}).Observe(static_cast<double>(toll.disruptions));
  if (toll.pdb_violations > 0) pdb_violations_.With({preemptor}).Add(static_cast<double>(toll.pdb_violations));
}

void GroupMetrics::ObservePodToll(std::int64_t pdb_violations) {
  if (pdb_violations > 0) pdb_violations_.With({"pod"}).Add(static_cast<double>(pdb_violations));
}

}  // namespace berth::instruments
