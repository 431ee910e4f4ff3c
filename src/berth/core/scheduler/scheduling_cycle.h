// SPDX-License-Identifier: Apache-2.0
// SchedulingCycle: takes the next pod of the queue and finds its node: evaluate (with HTTP extenders, where one has a
// say), assume, Reserve, Permit. Within turns only. It binds nothing: what it has found goes to a BindingStarter.
//
//   Pop --> Evaluate ----------------------------+--> a node: assume, Reserve, Permit --> BindingStarter
//    |         |                                 |                |
//    |         | an extender is interested       |                | refused: Unreserve
//    |         v                                 |                v
//    |      waits (ExtenderCycle) --- decided ---+--> none: PostFilter --> back into the queue, condition, event
//    v
//   one that is deleted or assigned by now: dropped
//
// What Pop gives may stand for a pod group: PodGroupCycle takes it.
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
  // All three must outlive it.
  SchedulingCycle(CoreState& state, BindingStarter& bindings, IdleSweep& idle_sweep)
      : state_(state), bindings_(bindings), idle_sweep_(idle_sweep), random_(state.options.seed) {}

  // Groups that Pop gives are its to schedule. Must outlive it.
  void SetPodGroupCycle(PodGroupCycle& group_cycle) { group_cycle_ = &group_cycle; }

  // One cycle, if a pod is ready. False when none is, or while the last one waits for extenders.
  bool ScheduleOne();

  // The pod whose cycle waits for extenders; null: none does.
  const framework::PodInfo* waiting_pod() const { return waiting_ ? &waiting_->pod() : nullptr; }
  // Questions of that cycle to extenders that score.
  std::size_t prioritizing_count() const { return waiting_ ? waiting_->prioritizing_count() : 0; }
  // Gives such a cycle up; its answers are then of no use. The pod is in no queue any more.
  void CancelWaiting(std::string_view why);

  void PodChanged(const framework::PodInfoPtr& pod) override;
  void PodDeleted(std::string_view uid) override;
  bool TakeExtenderAnswer(ExtenderDone& input) override;

 private:
  bool DropStale(const SchedulingAttempt& attempt);
  bool PutOff(SchedulingAttempt& attempt, std::size_t count_asked);
  // `cycle` keeps waiting, or its attempt ends.
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
