// SPDX-License-Identifier: Apache-2.0
// The cluster events for an update of an object: one for each aspect that scheduling reads. Pure functions. Upstream:
// framework.PodSchedulingPropertiesChange and NodeSchedulingPropertiesChange.
#pragma once

#include <vector>

#include "berth/api/node.h"
#include "berth/framework/cluster_event.h"

namespace berth::queue {

// AssignedPod or TargetPod events, depending on the node of the new object. If no known aspect changed: one
// general Update.
std::vector<framework::ClusterEvent> PodUpdateEvents(const framework::PodInfo& old_pod,
                                                     const framework::PodInfo& new_pod);

// Node events. Empty when nothing changed that scheduling reads, as with a heartbeat.
std::vector<framework::ClusterEvent> NodeUpdateEvents(const api::Node& old_node, const api::Node& new_node);

}  // namespace berth::queue
