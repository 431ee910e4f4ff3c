// SPDX-License-Identifier: Apache-2.0
// How the parts of the core call each other, as narrow interfaces, so that a test can drive each part by itself:
//
//   InputIntake --- SchedulingCycleInputs --> SchedulingCycle --- BindingStarter --> BindingCycles
//        |                                                                               ^
//        +------------------------- BindingCycleInputs ----------------------------------+
//
// Within turns only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/binding_cycle.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/framework/handle.h"
#include "berth/framework/operation.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// Why a pod has to wait for others, and for how long before it is told.
struct HeldBack {
  std::string why;
  Duration told_after{};
};

// Takes over a pod that the scheduling cycle has assumed on the node in `row`, reserved, and asked the Permit plugins
// about: `permits` are those that want to wait.
class BindingStarter {
 public:
  virtual ~BindingStarter() = default;
  virtual void StartBinding(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed,
                            framework::NodeIndex row, std::vector<PermitWait>&& permits) = 0;
  // Why the pod should not be assumed now: too many others of its namespace have bindings whose outcome is not known.
  // It is activated when there are fewer. nullopt: it may be.
  virtual std::optional<HeldBack> HoldBack(const framework::PodInfo& pod) = 0;
  // A pod that waits at Permit for the plugin waits for it no longer. Without effect on any other pod.
  virtual void AllowPermitted(const std::string& uid, const std::string& plugin) = 0;
};

// What a scheduling cycle that waits for extenders is told.
class SchedulingCycleInputs {
 public:
  virtual ~SchedulingCycleInputs() = default;
  // A pod was added or changed.
  virtual void PodChanged(const framework::PodInfoPtr& pod) = 0;
  virtual void PodDeleted(std::string_view uid) = 0;
  // False, and nothing is taken, when the cycle does not wait for this answer.
  virtual bool TakeExtenderAnswer(ExtenderDone& input) = 0;
};

// What binding cycles are told. Outcomes of operations that none of them waits for are dropped.
class BindingCycleInputs {
 public:
  virtual ~BindingCycleInputs() = default;
  // The API server shows a pod, assumed until now, with a node.
  virtual void PodAssigned(const framework::PodInfoPtr& pod) = 0;
  // It shows a pod without a node that is assumed or assigned here.
  virtual void PodStillPending(const framework::PodInfoPtr& pod) = 0;
  virtual void PodDeleted(std::string_view uid) = 0;
  virtual void PermitDecided(const framework::PermitDecision& decision) = 0;

  virtual void WriteEnded(std::uint64_t operation, framework::StepResult&& result) = 0;
  // Work, or a wait.
  virtual void StepEnded(std::uint64_t operation, const framework::StepResult& result) = 0;
  // Returns the pod when somebody else has bound it: it is for the caller to take in. Null otherwise.
  virtual framework::PodInfoPtr PodWasRead(PodReadDone&& input) = 0;
  virtual void TakeExtenderAnswer(ExtenderDone&& input) = 0;
};

}  // namespace berth::scheduler
