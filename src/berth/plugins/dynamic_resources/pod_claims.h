// SPDX-License-Identifier: Apache-2.0
// Which claims a pod uses. Upstream: resourceclaim.Name, resourceclaim.IsForPod.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/api/pod_group.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/release.h"
#include "berth/plugins/helper/device_claims.h"

namespace berth::plugins {

struct PodClaims {
  std::vector<DeviceClaims::Ptr> claims;  // in the order of the pod's spec
  std::vector<std::size_t> positions;     // of each in the spec
  std::string error;                      // not empty: why the pod has to wait; `claims` are those before
};

// Claims that turned out not to be needed for the pod are left out.
PodClaims FindPodClaims(const framework::PodInfo& pod, const DeviceClaims& claims,
                        const framework::Release& release = framework::Release());

// The pod's claims that are allocated and reserved for it, whatever is wrong with the others.
std::vector<DeviceClaims::Ptr> FindReservedClaims(const framework::PodInfo& pod, const DeviceClaims& claims);

// True when the claim is reserved for the pod or, with `accepts_groups` (Release::has_pod_group_claims), for its group,
// which is compared by name.
bool IsReservedFor(const api::ResourceClaim& claim, const framework::PodInfo& pod, bool accepts_groups = false);

// What the `position`th claim of the pod's spec is reserved for: the group where that has the same claim, else the pod.
// Null `group`: there is none, or it has no claims. Upstream: resourceclaim.BindTo.
api::ClaimConsumer ConsumerOf(const framework::PodInfo& pod, std::size_t position, const api::PodGroup* group);

// The name of the claim that a group's entry stands for; null: none was needed. `error` says why there is none yet.
const std::string* ClaimNameOf(const api::PodGroup& group, const api::PodGroupResourceClaim& wanted,
                               std::string& error);

}  // namespace berth::plugins
