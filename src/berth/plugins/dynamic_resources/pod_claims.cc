// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/pod_claims.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {
namespace {

// The claim that was made for a template; null when the pod's status does not say.
const api::PodResourceClaimStatus* StatusOf(const PodInfo& pod, const api::PodResourceClaim& wanted) {
  if (pod.claim_status == nullptr) return nullptr;
  const auto& statuses = pod.claim_status->resource_claims;
  const auto it = std::find_if(statuses.begin(), statuses.end(),
                               [&](const api::PodResourceClaimStatus& s) { return s.name == wanted.name; });
  return it == statuses.end() ? nullptr : &*it;
}

constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";

// The version of the group's API may be any.
bool IsOwnedByGroupOf(const PodInfo& pod, const api::OwnerReference& owner) {
  return owner.kind == "PodGroup" && owner.name == pod.pod_group_name &&
         owner.api_version.starts_with(std::string(kSchedulingGroup) + "/");
}

// Why the claim was not made for the pod or its group; empty when it was.
std::string WhyNotMadeFor(const PodInfo& pod, const api::ResourceClaim& claim, const framework::Release& release) {
  const auto& owner = claim.metadata.controller;
  if (owner && owner->uid == pod.uid) return {};
  const bool is_in_group = release.has_pod_group_claims && !pod.pod_group_name.empty();
  const std::string kind = release.capitalizes_claim_owner ? "Pod" : "pod";
  if (is_in_group && owner && IsOwnedByGroupOf(pod, *owner)) return {};
  return "ResourceClaim " + claim.metadata.namespace_name + "/" + claim.metadata.name + " was not created for " + kind +
         " " + pod.Key() +
         (is_in_group ? " (neither Pod nor PodGroup " + pod.pod_group_name + " is the owner)"
                      : " (" + kind + " is not owner)");
}

}  // namespace

PodClaims FindPodClaims(const PodInfo& pod, const DeviceClaims& claims, const framework::Release& release) {
  PodClaims found;
  const auto fail = [&](std::string error) {
    found.error = std::move(error);
    return found;
  };
  const std::vector<api::PodResourceClaim>& all = pod.spec().resource_claims;
  for (std::size_t position = 0; position < all.size(); ++position) {
    const api::PodResourceClaim& wanted = all[position];
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
    if (std::string why = wanted.claim_name ? "" : WhyNotMadeFor(pod, *claim, release); !why.empty())
      return fail(std::move(why));
    found.claims.push_back(std::move(claim));
    found.positions.push_back(position);
  }
  return found;
}

std::vector<DeviceClaims::Ptr> FindReservedClaims(const PodInfo& pod, const DeviceClaims& claims) {
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

bool IsReservedFor(const api::ResourceClaim& claim, const PodInfo& pod, bool accepts_groups) {
  const bool is_in_group = accepts_groups && !pod.pod_group_name.empty();
  return std::any_of(claim.reserved_for.begin(), claim.reserved_for.end(), [&](const api::ClaimConsumer& consumer) {
    if (consumer.uid == pod.uid) return true;
    return is_in_group && consumer.api_group == kSchedulingGroup && consumer.resource == "podgroups" &&
           consumer.name == pod.pod_group_name;
  });
}

api::ClaimConsumer ConsumerOf(const PodInfo& pod, std::size_t position, const api::PodGroup* group) {
  const api::PodResourceClaim& wanted = pod.spec().resource_claims[position];
  const auto is_same = [&](const api::PodGroupResourceClaim& claim) {
    return claim.name == wanted.name && claim.claim_name == wanted.claim_name &&
           claim.template_name == wanted.template_name;
  };
  if (group != nullptr && std::ranges::any_of(group->resource_claims, is_same))
    return {std::string(kSchedulingGroup), "podgroups", group->metadata.name, group->metadata.uid};
  return {{}, "pods", pod.name, pod.uid};
}

const std::string* ClaimNameOf(const api::PodGroup& group, const api::PodGroupResourceClaim& wanted,
                               std::string& error) {
  if (wanted.claim_name) return &*wanted.claim_name;
  const std::string where = "PodGroup " + group.metadata.namespace_name + "/" + group.metadata.name;
  if (!wanted.template_name) {
    error = where + ", spec.resourceClaim " + wanted.name + ": none of the supported fields are set";
    return nullptr;
  }
  for (const api::PodResourceClaimStatus& made : group.resource_claim_statuses) {
    if (made.name == wanted.name) return made.claim_name ? &*made.claim_name : nullptr;
  }
  error = where + ": ResourceClaim not created yet";
  return nullptr;
}

}  // namespace berth::plugins
