// SPDX-License-Identifier: Apache-2.0
// What a pod with a node goes through before its binding cycle: Reserve and Permit. Within turns only.
#pragma once

#include <string>
#include <vector>

#include "berth/core/scheduler/binding_cycle.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/plugin.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

// The pod as it is when it has that node.
framework::PodInfoPtr WithNode(const framework::PodInfo& pod, const std::string& node_name);

// Asks the Reserve plugins in order: the first answer that is no success, with the plugin's name. Nothing is
// unreserved.
framework::Status RunReserve(CoreState& state, const Profile& profile, const framework::Cycle& cycle,
                             const framework::PodInfo& assumed, bool is_sampled);

// Asks the Permit plugins. A refusal, with the name of who refuses; or those that want to wait.
struct PermitAnswers {
  framework::Status refusal;
  std::vector<PermitWait> waits;
};
PermitAnswers RunPermit(CoreState& state, const Profile& profile, const framework::Cycle& cycle,
                        const framework::PodInfo& assumed, bool is_sampled);

// What a refusal by Reserve or Permit means to the pod. As in upstream the message counts one node: the chosen one.
SchedulingFailure FailureOfChosenNode(const framework::Status& status);

}  // namespace berth::scheduler
