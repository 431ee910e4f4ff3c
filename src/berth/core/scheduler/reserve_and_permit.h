// SPDX-License-Identifier: Apache-2.0
// Reserve and Permit: the last steps of a scheduling cycle for a pod with a chosen node. Within turns only.
#pragma once

#include <string>
#include <vector>

#include "berth/core/scheduler/binding_cycle.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/plugin.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

// A copy of the pod, assigned to that node.
framework::PodInfoPtr WithNode(const framework::PodInfo& pod, const std::string& node_name);

// Calls the Reserve plugins in order. Returns the first answer that is not success, with the plugin's name. It does not
// unreserve.
framework::Status RunReserve(CoreState& state, const Profile& profile, const framework::Cycle& cycle,
                             const framework::PodInfo& assumed, bool is_sampled);

// The answers of the Permit plugins: a refusal, with the name of its plugin, or the plugins that answered kWait.
struct PermitAnswers {
  framework::Status refusal;
  std::vector<PermitWait> waits;
};
PermitAnswers RunPermit(CoreState& state, const Profile& profile, const framework::Cycle& cycle,
                        const framework::PodInfo& assumed, bool is_sampled);

// The failure of a pod that Reserve or Permit refused. As in upstream, the message counts one node: the chosen one.
SchedulingFailure FailureOfChosenNode(const framework::Status& status);

}  // namespace berth::scheduler
