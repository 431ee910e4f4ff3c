// SPDX-License-Identifier: Apache-2.0
// Which events may make a pod schedulable that PodTopologySpread refused. Functions of their arguments: any thread.
#pragma once

#include <functional>
#include <vector>

#include "berth/framework/plugin.h"
#include "berth/plugins/pod_topology_spread/constraint.h"

namespace berth::plugins {

// Finds the pod's hard constraints. Called only where they can matter, because most events are decided without them.
using HardConstraints = std::function<const Expected<std::vector<SpreadConstraint>>&()>;

framework::QueueingHint SpreadHintAfterPodChange(const framework::PodInfo& pod, const framework::EventObjects& event,
                                                 const HardConstraints& hard);
framework::QueueingHint SpreadHintAfterNodeChange(const framework::PodInfo& pod, const framework::EventObjects& event,
                                                  const HardConstraints& hard);

// After a change of a Service, ReplicationController, ReplicaSet or StatefulSet, whose pods default constraints spread.
framework::QueueingHint SpreadHintAfterSelectorChange(const framework::PodInfo& pod,
                                                      const framework::EventObjects& event);

}  // namespace berth::plugins
