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

// Why a pod has to wait for other pods, and after how long its condition says so.
struct Throttled {
  std::string why;
  Duration reported_after{};
};

// Takes over a pod that the scheduling cycle has assumed on the node in `row` and reserved. `permits` are the Permit
// plugins that answered kWait.
class BindingStarter {
 public:
  virtual ~BindingStarter() = default;
  virtual void StartBinding(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed,
                            framework::NodeIndex row, std::vector<PermitWait>&& permits) = 0;
  // Returns why the pod should not be assumed now: too many bindings of its namespace have an unknown outcome. The pod
  // is activated when there are fewer. nullopt: it may be assumed.
  virtual std::optional<Throttled> Throttle(const framework::PodInfo& pod) = 0;
  // Ends the pod's wait at Permit for the plugin. No effect on a pod that is not waiting for it.
  virtual void AllowPermitted(const std::string& uid, const std::string& plugin) = 0;
};

// Inputs of a scheduling cycle that waits for extenders.
class SchedulingCycleInputs {
 public:
  virtual ~SchedulingCycleInputs() = default;
  // A pod was added or changed.
  virtual void PodChanged(const framework::PodInfoPtr& pod) = 0;
  virtual void PodDeleted(std::string_view uid) = 0;
  // Returns false, and leaves the input alone, when the cycle does not wait for this answer.
  virtual bool TakeExtenderAnswer(ExtenderDone& input) = 0;
};

// Inputs of binding cycles. The outcome of an operation that no cycle waits for is dropped.
class BindingCycleInputs {
 public:
  virtual ~BindingCycleInputs() = default;
  // The API server shows a node on a pod that was assumed until now.
  virtual void PodAssigned(const framework::PodInfoPtr& pod) = 0;
  // The API server shows a pod without a node, which is assumed or assigned here.
  virtual void PodStillPending(const framework::PodInfoPtr& pod) = 0;
  virtual void PodDeleted(std::string_view uid) = 0;
  virtual void PermitDecided(const framework::PermitDecision& decision) = 0;

  virtual void WriteEnded(std::uint64_t operation, framework::StepResult&& result) = 0;
  // A step that was work or a wait has ended.
  virtual void StepEnded(std::uint64_t operation, const framework::StepResult& result) = 0;
  // Returns the pod when somebody else has bound it; the caller then adds it to the cache. Null otherwise.
  virtual framework::PodInfoPtr PodWasRead(PodReadDone&& input) = 0;
  virtual void TakeExtenderAnswer(ExtenderDone&& input) = 0;
};

}  // namespace berth::scheduler
