// SPDX-License-Identifier: Apache-2.0
// Which claims a pod uses. Upstream: resourceclaim.Name, resourceclaim.IsForPod.
#pragma once

#include <string>
#include <vector>

#include "berth/framework/pod_info.h"
#include "berth/plugins/helper/device_claims.h"

namespace berth::plugins {

struct PodClaims {
  std::vector<DeviceClaims::Ptr> claims;  // in the order of the pod's spec
  std::string error;                      // not empty: why the pod has to wait; `claims` are those before
};

// Claims that turned out not to be needed for the pod are left out.
PodClaims FindPodClaims(const framework::PodInfo& pod, const DeviceClaims& claims);

// Those of the pod's claims that are allocated and reserved for it, whatever is wrong with the others.
std::vector<DeviceClaims::Ptr> FindReservedClaims(const framework::PodInfo& pod, const DeviceClaims& claims);

bool IsReservedFor(const api::ResourceClaim& claim, const framework::PodInfo& pod);

}  // namespace berth::plugins
