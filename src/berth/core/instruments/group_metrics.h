// SPDX-License-Identifier: Apache-2.0
// GroupMetrics: the cells of kube-scheduler's metrics about pod groups, since 1.37 with the gate GenericWorkload. Since
// 1.38 they have a label for the kind of the group. Written within turns only. Each call looks its cell up, because a
// group's cycle costs thousands of times as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "berth/base/metric_registry.h"
#include "berth/base/time.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/framework/pod_groups.h"
#include "berth/framework/release.h"
#include "berth/framework/status.h"

namespace berth::instruments {

// Results of groups' cycles.
enum class GroupResult : std::uint8_t { kScheduled, kUnschedulable, kWaitingOnPreemption, kError };
std::string_view ToString(GroupResult result);
// As the labels entity, preemptor and victim have it.
std::string_view KindLabel(const framework::PodGroupKey& group);

class GroupMetrics {
 public:
  // Without the gate TopologyAwareWorkloadScheduling placements are not counted. The release must list the metrics.
  GroupMetrics(MetricRegistry& registry, const framework::Release& release);

  // The cycle of a group, which is in no other, has ended, `took` after the group was popped.
  void ObserveAttempt(const framework::PodGroupKey& root, GroupResult result, std::string_view profile, Duration took);
  // Its members have been tried.
  void ObserveAlgorithm(const framework::PodGroupKey& root, std::string_view profile, Duration took);
  // Placements were generated for a group; one placement has been tried.
  void ObservePlacements(const framework::PodGroupKey& group, std::string_view profile, std::size_t count);
  void ObservePlacement(const framework::PodGroupKey& group, std::string_view profile, bool is_feasible, Duration took);

  // A preemption for a group was attempted.
  void ObservePreemptionAttempt(const framework::PodGroupKey& root, framework::Code code);
  // Victims were looked for, for a pod or a group.
  void ObservePodEvaluation(framework::Code code, Duration took);
  void ObserveGroupEvaluation(const framework::PodGroupKey& root, framework::Code code, Duration took);
  // The cost of a group's preemption, and the budget violations of a single pod's preemption.
  void ObserveGroupToll(const framework::PodGroupKey& root, const framework::PodGroupToll& toll);
  void ObservePodToll(std::int64_t pdb_violations);

 private:
  using Values = std::initializer_list<std::string_view>;
  // The cell of the values that all releases have, and since 1.38 of the group's kind as well.
  template <typename Family>
  auto& CellOf(Family& family, Values values, const framework::PodGroupKey& group) const;

  const bool tells_kinds_;
  CounterFamily& attempts_;
  HistogramFamily& attempt_duration_;
  HistogramFamily& algorithm_duration_;
  CounterFamily& preemption_attempts_;
  HistogramFamily& preemption_victims_;
  HistogramFamily& disruptions_;
  CounterFamily& pdb_violations_;
  HistogramFamily& evaluation_duration_;
  // Null: placements are not counted.
  CounterFamily* placements_ = nullptr;
  CounterFamily* placement_evaluations_ = nullptr;
  HistogramFamily* placement_duration_ = nullptr;
};

}  // namespace berth::instruments
