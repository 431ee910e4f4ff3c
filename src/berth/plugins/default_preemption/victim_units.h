// SPDX-License-Identifier: Apache-2.0
// Victim units: what preemption evicts at once. A pod of a group that is disrupted whole goes with all its group's
// pods; any other pod goes alone. Within turns only.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/base/time.h"
#include "berth/framework/node_list.h"
#include "berth/framework/pod_groups.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/release.h"

namespace berth::plugins {

struct VictimUnit {
  enum class Kind : std::uint8_t { kPod, kPodGroup, kCompositePodGroup };

  Kind kind = Kind::kPod;
  // Of the highest group that is known, if the pods are in one; with Release::ranks_victims_by_pod, of its first pod.
  std::int32_t priority = 0;
  std::vector<framework::PodInfoPtr> pods;
};

// The priority that counts when the pod may become a victim.
std::int32_t VictimPriority(const framework::PodGroups& groups, const framework::PodInfo& pod,
                            const framework::Release& release);

// The units that have pods on the node, in the order of its pods; those of a group that is disrupted whole have the
// group's pods on other nodes as well. Upstream: getCrossNodesVictims.
std::vector<VictimUnit> UnitsOn(const framework::NodeInfo& node, const framework::PodGroups& groups,
                                const framework::Release& release);

// All units of the cluster whose priority is below the limit, in the order of nodes and pods.
std::vector<VictimUnit> UnitsBelow(const framework::NodeList& nodes, const framework::PodGroups& groups,
                                   std::int32_t priority_limit, const framework::Release& release);

// True when evicting `a` is worse than evicting `b`: higher priority, then the kind, then more pods, then running
// longer, then as Release::orders_victims_by_uid says. A pod that has not started counts as started `now`. Upstream:
// MoreImportantVictim.
bool IsMoreImportantUnit(const VictimUnit& a, const VictimUnit& b, Time now, const framework::Release& release);

}  // namespace berth::plugins
