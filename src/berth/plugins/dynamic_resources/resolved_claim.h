// SPDX-License-Identifier: Apache-2.0
// ResolvedClaim: a claim that is to be allocated, with what its requests refer to looked up once for all nodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/api/resource_claim.h"
#include "berth/framework/objects.h"
#include "berth/plugins/helper/device_selectors.h"

namespace berth::plugins {

// Upstream: resourceapi.AllocationResultsMaxSize, FirstAvailableDeviceRequestMaxSize.
inline constexpr std::int64_t kDevicesPerClaimMax = 32;
inline constexpr std::int64_t kAlternativesMax = 8;

// A request, or one of the alternatives of a prioritised one.
struct ResolvedRequest {
  const api::ExactDeviceRequest* request = nullptr;
  std::string request_name;  // of the request in the claim
  std::string own_name;      // of the alternative; of the request where there are none
  std::string full_name;     // "request/alternative", or the request's name
  std::shared_ptr<const api::DeviceClass> device_class;
  std::vector<DeviceSelectors::Ptr> class_selectors;
  std::vector<DeviceSelectors::Ptr> selectors;
  std::string error;  // not empty: what makes allocation impossible, whatever the node

  bool wants_all() const { return request->allocation_mode == "All"; }
};

struct ResolvedClaim {
  struct Request {
    bool is_prioritized = false;
    std::vector<ResolvedRequest> alternatives;  // exactly one where the request is not prioritised
  };

  std::shared_ptr<const api::ResourceClaim> claim;
  std::string key;  // "namespace/name"
  std::vector<Request> requests;
};

ResolvedClaim ResolveClaim(std::shared_ptr<const api::ResourceClaim> claim,
                           const framework::ObjectStore<api::DeviceClass>& classes, DeviceSelectors& selectors);

}  // namespace berth::plugins
