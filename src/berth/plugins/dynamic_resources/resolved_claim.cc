// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/resolved_claim.h"

#include <utility>

namespace berth::plugins {
namespace {

ResolvedRequest Resolve(const std::string& claim_key, const api::DeviceRequest& parent,
                        const api::ExactDeviceRequest& request, bool is_alternative,
                        const framework::ObjectStore<api::DeviceClass>& classes, DeviceSelectors& selectors) {
  ResolvedRequest resolved;
  resolved.request = &request;
  resolved.request_name = parent.name;
  resolved.own_name = is_alternative ? request.name : parent.name;
  resolved.full_name = is_alternative ? parent.name + "/" + request.name : parent.name;
  const std::string prefix = "claim " + claim_key + ", request " + resolved.own_name + ": ";
  if (request.device_class_name.empty()) {
    resolved.error = prefix + "missing device class name (unsupported request type?)";
    return resolved;
  }
  resolved.device_class = classes.Get(request.device_class_name);
  if (resolved.device_class == nullptr) {
    resolved.error = prefix + "could not retrieve device class " + request.device_class_name +
                     ": deviceclass.resource.k8s.io \"" + request.device_class_name + "\" not found";
    return resolved;
  }
  if (!resolved.wants_all() && request.allocation_mode != "ExactCount") {
    resolved.error = prefix + "unsupported count mode " + request.allocation_mode;
    return resolved;
  }
  resolved.class_selectors = selectors.Get(resolved.device_class->selectors);
  resolved.selectors = selectors.Get(request.selectors);
  return resolved;
}

}  // namespace

ResolvedClaim ResolveClaim(std::shared_ptr<const api::ResourceClaim> claim,
                           const framework::ObjectStore<api::DeviceClass>& classes, DeviceSelectors& selectors) {
  ResolvedClaim resolved;
  resolved.key = framework::ObjectStore<api::ResourceClaim>::Key(claim->metadata.namespace_name, claim->metadata.name);
  for (const api::DeviceRequest& request : claim->spec.requests) {
    ResolvedClaim::Request& made = resolved.requests.emplace_back();
    made.is_prioritized = !request.first_available.empty();
    if (!made.is_prioritized && request.exactly) {
      made.alternatives.push_back(Resolve(resolved.key, request, *request.exactly, false, classes, selectors));
    }
    for (const api::ExactDeviceRequest& alternative : request.first_available) {
      made.alternatives.push_back(Resolve(resolved.key, request, alternative, true, classes, selectors));
    }
  }
  resolved.claim = std::move(claim);
  return resolved;
}

}  // namespace berth::plugins
