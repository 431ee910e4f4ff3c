// SPDX-License-Identifier: Apache-2.0
// SchedulingCycle: takes the next pod of the queue and finds its node: evaluate (with HTTP extenders for pods that
// concern them), assume, Reserve, Permit. Within turns only. A BindingStarter does the binding.
//
//   Pop --> Evaluate ----------------------------+--> a node: assume, Reserve, Permit --> BindingStarter
//    |         |                                 |                |
//    |         | an extender is interested       |                | refused: Unreserve
//    |         v                                 |                v
//    |      waits (ExtenderCycle) --- decided ---+--> none: PostFilter --> back into the queue, condition, event
//    v
//   deleted or assigned meanwhile: dropped
//
// Pop may return a pod that stands for a pod group: PodGroupCycle schedules it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "berth/base/random.h"
#include "berth/core/queue/large_pods.h"
#include "berth/core/scheduler/core_interfaces.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/extender_cycle.h"
#include "berth/core/scheduler/idle_sweep.h"
#include "berth/core/scheduler/pod_group_cycle.h"
#include "berth/core/scheduler/scheduling_attempt.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

class SchedulingCycle final : public SchedulingCycleInputs {
 public:
  // All arguments must outlive it.
  SchedulingCycle(CoreState& state, BindingStarter& bindings, IdleSweep& idle_sweep)
      : state_(state), bindings_(bindings), idle_sweep_(idle_sweep), random_(state.options.seed) {}

  // `group_cycle` schedules the pod groups that Pop returns. It must outlive this object.
  void SetPodGroupCycle(PodGroupCycle& group_cycle) { group_cycle_ = &group_cycle; }

  // The draws of later cycles begin anew, and no large pod has been decided.
  void StartOver(std::uint64_t seed) {
    random_ = Random(seed);
    large_pods_ = {};
  }

  // Runs one cycle if a pod is ready. Returns false when none is, or while the last cycle waits for extenders.
  bool ScheduleOne();

  // The pod whose cycle waits for extenders; null: no cycle waits.
  const framework::PodInfo* waiting_pod() const { return waiting_ ? &waiting_->pod() : nullptr; }
  // The number of outstanding kPrioritize requests of that cycle.
  std::size_t prioritizing_count() const { return waiting_ ? waiting_->prioritizing_count() : 0; }
  // Cancels that cycle and ignores the responses to come. The pod is in no queue afterwards.
  void CancelWaiting(std::string_view why);

  void PodChanged(const framework::PodInfoPtr& pod) override;
  void PodDeleted(std::string_view uid) override;
  bool TakeExtenderAnswer(ExtenderDone& input) override;

 private:
  void EndTraceOf(const SchedulingAttempt& attempt);
  bool DropStale(const SchedulingAttempt& attempt);
  bool PutOff(SchedulingAttempt& attempt, std::size_t count_asked);
  // Keeps `cycle` if it still waits; otherwise ends its attempt.
  void Advance(std::unique_ptr<ExtenderCycle> cycle, ExtenderCycle::Progress progress);
  void Conclude(SchedulingAttempt&& attempt, const runtime::Outcome& outcome);
  void ObserveAlgorithm(const queue::QueuedPodInfo& queued);
  void FailAttempt(SchedulingAttempt&& attempt, const runtime::Outcome& outcome);
  void AssumeAndReserve(SchedulingAttempt&& attempt, framework::NodeIndex row);
  void RejectReserved(SchedulingAttempt&& attempt, const framework::PodInfo& assumed, const framework::Status& status);

  CoreState& state_;
  BindingStarter& bindings_;
  IdleSweep& idle_sweep_;
  Random random_;
  PodGroupCycle* group_cycle_ = nullptr;  // null: pods are scheduled one by one
  queue::LargePods large_pods_;
  std::unique_ptr<ExtenderCycle> waiting_;  // null: no cycle waits for extenders
};

}  // namespace berth::scheduler
