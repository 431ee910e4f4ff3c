// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/binding_conditions.h"

#include <algorithm>

#include "berth/base/go_text.h"

namespace berth::plugins {
namespace {

const api::AllocatedDeviceStatus* StatusOf(const api::ResourceClaim& claim, const api::DeviceAllocationResult& result) {
  const auto it =
      std::find_if(claim.devices.begin(), claim.devices.end(), [&](const api::AllocatedDeviceStatus& device) {
        return device.device == result.device && device.driver == result.driver && device.pool == result.pool;
      });
  return it == claim.devices.end() ? nullptr : &*it;
}

// The condition of that type when it is true.
const api::DeviceCondition* FindTrue(const api::AllocatedDeviceStatus& device, const std::string& type) {
  const auto it = std::find_if(device.conditions.begin(), device.conditions.end(),
                               [&](const api::DeviceCondition& condition) { return condition.type == type; });
  return it == device.conditions.end() || it->status != "True" ? nullptr : &*it;
}

}  // namespace

BindingReadiness ReadinessOf(const api::ResourceClaim& claim) {
  using State = BindingReadiness::State;
  if (!claim.allocation) return {State::kWaiting, {}};
  for (const api::DeviceAllocationResult& result : claim.allocation->results) {
    if (result.binding_conditions.empty()) continue;
    const api::AllocatedDeviceStatus* device = StatusOf(claim, result);
    if (device == nullptr) return {State::kWaiting, {}};
    for (const std::string& type : result.binding_failure_conditions) {
      if (const api::DeviceCondition* failed = FindTrue(*device, type)) {
        return {State::kFailed, "device binding failed: claim=" + claim.metadata.name + ", reason=" + failed->reason +
                                    ", message=" + GoQuoted(failed->message)};
      }
    }
    for (const std::string& type : result.binding_conditions) {
      if (FindTrue(*device, type) == nullptr) return {State::kWaiting, {}};
    }
  }
  return {};
}

bool IsBindingOverdue(const api::ResourceClaim& claim, Duration timeout, Time now) {
  return claim.allocation && claim.allocation->allocation_timestamp && HasBindingConditions(claim) &&
         *claim.allocation->allocation_timestamp + timeout < now;
}

bool HasBindingConditions(const api::ResourceClaim& claim) {
  if (!claim.allocation) return false;
  return std::any_of(claim.allocation->results.begin(), claim.allocation->results.end(),
                     [](const api::DeviceAllocationResult& result) { return !result.binding_conditions.empty(); });
}

}  // namespace berth::plugins
