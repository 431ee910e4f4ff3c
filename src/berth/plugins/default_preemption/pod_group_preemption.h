// SPDX-License-Identifier: Apache-2.0
// Preemption for a pod group: which pods would have to go, anywhere in the cluster, for the whole group to fit.
// Upstream: PodGroupEvaluator. Within turns only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/framework/pod_group_post_filter.h"
#include "berth/framework/pod_groups.h"
#include "berth/plugins/default_preemption/victims.h"

namespace berth::plugins {

class PreemptionExecutor;

struct PodGroupVictims {
  // Success: the group fits where `assignments` of the dry run say, once the victims are gone.
  framework::Status status;
  std::vector<framework::PodInfoPtr> victims;  // those of one unit together, the most important unit first
  framework::PodGroupToll toll;
};

// `priority`: the group's. The dry run is left with its last assignments.
PodGroupVictims SelectPodGroupVictims(const framework::PodGroups& groups, std::int32_t priority,
                                      DisruptionBudgets& budgets, framework::PodGroupDryRun& dry_run,
                                      const framework::Release& release);

// Whether a node that a member is nominated for still has a pod that preemption is evicting.
bool IsPreemptionOngoing(const framework::PodGroups& groups, std::int32_t priority,
                         std::span<const framework::PodGroupMember> members, const framework::PodGroupDryRun& dry_run,
                         const PreemptionExecutor& executor, const framework::Release& release);

}  // namespace berth::plugins
