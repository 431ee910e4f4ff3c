// SPDX-License-Identifier: Apache-2.0
// Writing claims: what PreBind, PostFilter and Unreserve do to them in the API. Within turns only.
// Upstream: bindClaim, deleteClaim, unreserveExtendedResourceClaim.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/operation.h"
#include "berth/plugins/dynamic_resources/pod_claims.h"
#include "berth/plugins/helper/device_state.h"

namespace berth::plugins {

// What Reserve decided for a pod, for its binding cycle.
struct ClaimReservation {
  struct Claim {
    DeviceClaims::Ptr claim;                          // as last known
    std::optional<api::AllocationResult> allocation;  // to be written; pending until then
    std::string pending_uid;
    bool is_extended = false;       // for the pod's extended resources
    api::ClaimConsumer consumer{};  // whom it is reserved for; without a uid: the pod
  };
  std::vector<Claim> claims;
  DeviceClaims::Ptr extended_claim;  // as it is to be created; null: none
  std::vector<api::ContainerExtendedResourceRequest> mappings;
  // The pod is of a group, whose pods may share claims: they are written by one pod at a time.
  bool is_of_group = false;
  // The claim whose allocation was sent to the API server and not answered yet.
  std::optional<std::size_t> being_written;
};

// Takes the claim's allocation away, for other devices to be tried. Without effect when the claim has changed.
framework::Operation DeallocateClaim(const api::ResourceClaim& claim);
// Takes the pod, or the group, with that uid out of the claim's consumers.
framework::Operation UnreserveClaim(const api::ResourceClaim& claim, const std::string& consumer_uid);
// Deletes the claim, which would otherwise wait for its finalizer.
framework::Operation DeleteClaim(DeviceClaims::Ptr claim);

// After a binding cycle that ended while `claim` was being written: finds out what became of the write, undoes it, and
// only then lets go of the devices. `handle` must outlive the operation.
framework::Operation SettleClaim(framework::Handle& handle, std::shared_ptr<DeviceState> state,
                                 const ClaimReservation::Claim& claim, const framework::PodInfo& pod);

}  // namespace berth::plugins
