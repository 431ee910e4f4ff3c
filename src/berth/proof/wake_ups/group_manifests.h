// SPDX-License-Identifier: Apache-2.0
// The objects of clusters with groups of pods: the groups, their members that wait, and those that run. Internal to the
// manifests. Pure functions.
#pragma once

#include "berth/codec/json.h"
#include "berth/proof/wake_ups/manifest_parts.h"

namespace berth::wake_ups {

codec::json::object Member(const Dice& dice, int index, Family family);
codec::json::object PodGroup(const Dice& dice, int index, Family family);
codec::json::object CompositePodGroup(const Dice& dice, int index, Family family);
// Makes some of the pods that run members of groups. Each pod has a uid of its own.
void JoinGroup(codec::json::object& pod, const Dice& dice, int index, Family family);

int GroupOf(const Dice& dice, Family family);
bool MayMemberBecome(const Dice& before, const Dice& after, Family family);
// The die of a member that says whether it is being deleted.
inline constexpr std::size_t kMemberDeletionDie = 14;

}  // namespace berth::wake_ups
