// SPDX-License-Identifier: Apache-2.0
// What the end of a nomination means for other pods: the room that it kept for one pod is free for those of no higher
// priority. Within turns only; it starts nothing.
#pragma once

#include <string_view>

#include "berth/core/scheduler/core_state.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// Waiting pods of at most this pod's priority may try again where its nomination to the node is what they waited for.
// The pod itself is not moved.
void MoveForNomination(CoreState& state, const framework::PodInfo& pod, std::string_view node_name);

// The pod has a node, chosen here or by somebody else: its nomination ends in memory. If that was for another node,
// pods that waited for the room there are moved. Upstream moves none (kubernetes/kubernetes#134859): they wait for
// another event, or for the flush of unschedulable pods.
void EndNomination(CoreState& state, const framework::PodInfo& placed);

}  // namespace berth::scheduler
