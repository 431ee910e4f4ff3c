// SPDX-License-Identifier: Apache-2.0
// Wakes other pods when a nomination ends: the room that it kept is free for pods of no higher priority. Within turns
// only; it starts no operation.
#pragma once

#include <string_view>

#include "berth/core/scheduler/core_state.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// Wakes waiting pods of at most this pod's priority that waited because of its nomination to the node. The pod itself
// is not moved.
void MoveForNomination(CoreState& state, const framework::PodInfo& pod, std::string_view node_name);

// The pod has a node, chosen here or by somebody else: its nomination ends in memory. If the nomination was for another
// node, pods that waited for room there are woken. Upstream wakes none (kubernetes/kubernetes#134859): they wait for
// another event, or for the flush of unschedulable pods.
void EndNomination(CoreState& state, const framework::PodInfo& placed);

}  // namespace berth::scheduler
