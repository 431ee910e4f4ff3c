// SPDX-License-Identifier: Apache-2.0
// GroupMetrics: the cells of kube-scheduler's metrics about pod groups, in 1.37 with the gate GenericWorkload. Written
// within turns only. Each call looks its cell up, because a group's cycle costs thousands of times as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/metric_registry.h"
#include "berth/base/time.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/framework/status.h"

namespace berth::instruments {

// Results of groups' cycles.
enum class GroupResult : std::uint8_t { kScheduled, kUnschedulable, kWaitingOnPreemption, kError };
std::string_view ToString(GroupResult result);

class GroupMetrics {
 public:
  // `has_placements`: the gate TopologyAwareWorkloadScheduling is on; otherwise placements are not counted.
  GroupMetrics(MetricRegistry& registry, bool has_placements);

  // A group's cycle has ended, `took` after the group was popped.
  void ObserveAttempt(GroupResult result, std::string_view profile, Duration took);
  // A group's members have been tried.
  void ObserveAlgorithm(Duration took);
  // Placements were generated for a group; one placement has been tried.
  void ObservePlacements(std::string_view profile, std::size_t count);
  void ObservePlacement(std::string_view profile, bool is_feasible, Duration took);

  // A preemption for a group was attempted.
  void ObservePreemptionAttempt(framework::Code code);
  // Victims were looked for. `preemptor`: "pod" or "podgroup".
  void ObserveEvaluation(std::string_view preemptor, framework::Code code, Duration took);
  // The cost of a group's preemption, and the budget violations of a single pod's preemption.
  void ObserveGroupToll(std::string_view preemptor, const framework::PodGroupToll& toll);
  void ObservePodToll(std::int64_t pdb_violations);

 private:
  CounterFamily& attempts_;
  HistogramFamily& attempt_duration_;
  HistogramCell& algorithm_duration_;
  CounterFamily& preemption_attempts_;
  HistogramCell& preemption_victims_;
  HistogramFamily& disruptions_;
  CounterFamily& pdb_violations_;
  HistogramFamily& evaluation_duration_;
  // Null: placements are not counted.
  CounterFamily* placements_ = nullptr;
  CounterFamily* placement_evaluations_ = nullptr;
  HistogramFamily* placement_duration_ = nullptr;
};

}  // namespace berth::instruments
