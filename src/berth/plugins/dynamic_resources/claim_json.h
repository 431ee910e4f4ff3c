// SPDX-License-Identifier: Apache-2.0
// ResourceClaims as JSON, for what is written to the API server. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/api/resource_claim.h"
#include "berth/codec/json.h"

namespace berth::plugins {

// The shortest text of that amount: "80Gi", "10G", "1500m". A Quantity does not keep how it was written.
std::string QuantityText(const api::Quantity& quantity);

codec::json::object ToJson(const api::AllocationResult& allocation);
codec::json::array ToJson(const std::vector<api::ClaimConsumer>& consumers);
// The claim's JSON without managed fields and other metadata that only the API server writes.
codec::json::object ToJson(const api::ResourceClaim& claim);

// What creates the claim for a pod's extended resources; the API server names it.
std::string ExtendedClaimBody(const api::ResourceClaim& claim, std::string_view pod_name);

}  // namespace berth::plugins
