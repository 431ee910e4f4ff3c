// SPDX-License-Identifier: Apache-2.0
// The single requests that writing claims is made of, and what their answers say. Pure functions.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"
#include "berth/framework/operation.h"
#include "berth/plugins/helper/device_claims.h"

namespace berth::plugins {

// Keeps an allocated claim from vanishing while its devices are in use.
inline constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";

// After a conflict (client-go's retry.DefaultRetry).
inline constexpr int kConflictTriesMax = 5;
inline constexpr Duration kConflictDelay = std::chrono::milliseconds(10);

// To learn the end of a request that was not answered: after 1, 2, 4 ... seconds, at most half a minute.
inline constexpr int kSettleTriesMax = 10;
inline Duration SettleDelay(int tries) { return std::chrono::seconds(std::min(30, 1 << std::min(tries, 5))); }

framework::ObjectRef RefOf(const api::ResourceClaim& claim);
// metadata of a patch that must meet this very version of the claim.
codec::json::object Preconditions(const api::ResourceClaim& claim);
framework::ObjectPatch PatchFinalizers(const api::ResourceClaim& claim, const std::vector<std::string>& finalizers);
framework::ObjectPatch PatchStatus(const api::ResourceClaim& claim, codec::json::object status);

// The ResourceClaim in the body, or null when the body is none.
DeviceClaims::Ptr DecodeClaim(const std::string& body);

}  // namespace berth::plugins
