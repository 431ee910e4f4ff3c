// SPDX-License-Identifier: Apache-2.0
// What a request takes of a device's capacity, by the device's request policies. Pure functions.
// Upstream: consumable_capacity.go.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/resource_claim.h"
#include "berth/base/expected.h"
#include "berth/framework/release.h"
#include "berth/plugins/helper/device_claims.h"

namespace berth::plugins {

// What an ExactDeviceRequest asks of a device's capacities: amounts by name; absent when it asks for none.
using CapacityRequests = std::optional<std::vector<std::pair<std::string, api::Quantity>>>;

// What the request takes of every capacity of the device, by name: the amount it asks for, rounded up as the policy
// says; without one the policy's default, or all.
std::vector<std::pair<std::string, api::Quantity>> ConsumedCapacities(const CapacityRequests& requests,
                                                                      std::string_view driver,
                                                                      const api::Device& device,
                                                                      const framework::DeviceRules& rules);

// Whether the device has what the request takes, beside what claims consume already and what the same allocation
// takes (either may be null), and its policies allow the amounts. Devices that are not shared are checked as well. An
// error, where DeviceRules::refuses_odd_capacities: an amount that cannot be represented, or is negative.
Expected<bool> FitsCapacity(const CapacityRequests& requests, std::string_view driver, const api::Device& device,
                            const DeviceAmounts* consumed, const DeviceAmounts* allocating,
                            const framework::DeviceRules& rules);

}  // namespace berth::plugins
