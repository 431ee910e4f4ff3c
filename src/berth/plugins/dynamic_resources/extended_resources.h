// SPDX-License-Identifier: Apache-2.0
// Extended resources of a pod that a DeviceClass stands behind: a claim in memory that asks for the devices. Pure
// functions. Upstream: extendeddynamicresources.go.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/resource_claim.h"
#include "berth/framework/pod_info.h"
#include "berth/plugins/helper/device_classes.h"

namespace berth::plugins {

// The name of the claim until it is written; no object can have it.
inline constexpr std::string_view kInMemoryClaimName = "<extended-resources>";

inline bool IsInMemoryClaim(const api::ResourceClaim& claim) { return claim.metadata.name == kInMemoryClaimName; }

// The pod's requests of resources that a class may stand behind, above 0, by name; empty when no class stands behind
// any of them.
std::vector<std::pair<std::string, std::int64_t>> DeviceBackedRequests(const framework::PodInfo& pod,
                                                                       const DeviceClasses& classes);

// The claim for a pod's extended resources before it is created. It has no requests, because they depend on the node,
// and its uid is one of our own.
std::shared_ptr<api::ResourceClaim> MakeInMemoryClaim(const framework::PodInfo& pod);

struct ExtendedResourceRequests {
  std::vector<api::DeviceRequest> requests;
  std::vector<api::ContainerExtendedResourceRequest> mappings;  // which container gets which request
};

// What the pod's containers ask for of `resources` (names). A container that ends before others start uses their
// devices again.
ExtendedResourceRequests MakeExtendedResourceRequests(const api::PodSpec& pod,
                                                      const std::vector<std::string>& resources,
                                                      const DeviceClasses& classes);

}  // namespace berth::plugins
