// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/pod_claims.h"

#include <algorithm>
#include <optional>

namespace berth::plugins {
namespace {

// The claim that was made for a template; null when the pod's status does not say.
const api::PodResourceClaimStatus* StatusOf(const framework::PodInfo& pod, const api::PodResourceClaim& wanted) {
  if (pod.claim_status == nullptr) return nullptr;
  const auto& statuses = pod.claim_status->resource_claims;
  const auto it = std::find_if(statuses.begin(), statuses.end(),
                               [&](const api::PodResourceClaimStatus& s) { return s.name == wanted.name; });
  return it == statuses.end() ? nullptr : &*it;
}

}  // namespace

PodClaims FindPodClaims(const framework::PodInfo& pod, const DeviceClaims& claims) {
  PodClaims found;
  const auto fail = [&](std::string error) {
    found.error = std::move(error);
    return found;
  };
  for (const api::PodResourceClaim& wanted : pod.spec().resource_claims) {
    const std::string* name = wanted.claim_name ? &*wanted.claim_name : nullptr;
    if (name == nullptr) {
      if (!wanted.template_name) {
        return fail("pod \"" + pod.Key() + "\", spec.resourceClaim \"" + wanted.name +
                    "\": none of the supported fields are set");
      }
      const api::PodResourceClaimStatus* made = StatusOf(pod, wanted);
      if (made == nullptr) return fail("pod \"" + pod.Key() + "\": ResourceClaim not created yet");
      if (!made->claim_name) continue;
      name = &*made->claim_name;
    }
    DeviceClaims::Ptr claim = claims.Find(pod.namespace_name(), *name);
    if (claim == nullptr) return fail("could not find ResourceClaim \"" + pod.namespace_name() + "/" + *name + "\"");
    if (claim->metadata.deletion_time) return fail("resourceclaim \"" + claim->metadata.name + "\" is being deleted");
    const auto& owner = claim->metadata.controller;
    if (!wanted.claim_name && (!owner || owner->uid != pod.uid)) {
      return fail("ResourceClaim " + claim->metadata.namespace_name + "/" + claim->metadata.name +
                  " was not created for Pod " + pod.Key() + " (Pod is not owner)");
    }
    found.claims.push_back(std::move(claim));
  }
  return found;
}

std::vector<DeviceClaims::Ptr> FindReservedClaims(const framework::PodInfo& pod, const DeviceClaims& claims) {
  std::vector<DeviceClaims::Ptr> found;
  for (const api::PodResourceClaim& wanted : pod.spec().resource_claims) {
    const api::PodResourceClaimStatus* made = wanted.claim_name ? nullptr : StatusOf(pod, wanted);
    const std::optional<std::string>& name = made == nullptr ? wanted.claim_name : made->claim_name;
    if (!name) continue;
    DeviceClaims::Ptr claim = claims.Find(pod.namespace_name(), *name);
    if (claim != nullptr && claim->allocation && IsReservedFor(*claim, pod)) found.push_back(std::move(claim));
  }
  return found;
}

bool IsReservedFor(const api::ResourceClaim& claim, const framework::PodInfo& pod) {
  return std::any_of(claim.reserved_for.begin(), claim.reserved_for.end(),
                     [&](const api::ClaimConsumer& consumer) { return consumer.uid == pod.uid; });
}

}  // namespace berth::plugins
