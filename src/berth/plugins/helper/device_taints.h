// SPDX-License-Identifier: Apache-2.0
// Which tainted devices a request of a ResourceClaim may have. Upstream: taintTolerated of the structured allocator.
#pragma once

#include "berth/api/resource_claim.h"

namespace berth::plugins {

// Whether a taint of the device, NoSchedule or NoExecute, is tolerated by none of the request's tolerations. Taints of
// other effects keep nobody away. Pure, any thread.
bool HasUntoleratedTaint(const api::Device& device, const api::ExactDeviceRequest& request);

}  // namespace berth::plugins
