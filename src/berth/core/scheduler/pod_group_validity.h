// SPDX-License-Identifier: Apache-2.0
// Whether the pods and groups of one root group agree with each other, so that a cycle can succeed at all. Upstream:
// validatePodGroupHierarchy, before 1.38 validatePodGroup. Within turns only.
#pragma once

#include <span>
#include <string>

#include "berth/core/scheduler/pod_group_trial.h"
#include "berth/framework/pod_groups.h"
#include "berth/framework/release.h"

namespace berth::scheduler {

// What contradicts what; empty: nothing does. `members`: the waiting pods below `root`, at least one.
std::string WhyInvalid(const framework::PodGroups& groups, const framework::Release& release,
                       const framework::PodGroupKey& root, std::span<const GroupMember> members);

}  // namespace berth::scheduler
