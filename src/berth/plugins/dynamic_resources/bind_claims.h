// SPDX-License-Identifier: Apache-2.0
// PreBind of a pod with claims: allocates and reserves them in the API, then waits for the devices. Within turns only.
// Upstream: bindClaim.
#pragma once

#include <functional>
#include <memory>

#include "berth/framework/handle.h"
#include "berth/framework/operation.h"
#include "berth/plugins/dynamic_resources/claim_writes.h"
#include "berth/plugins/helper/device_state.h"

namespace berth::plugins {

// Allocates and reserves the claims in the API, then waits until the devices are ready. `on_success` is called at the
// end when all went well. `handle` must outlive the operation.
framework::Operation BindClaims(framework::Handle& handle, std::shared_ptr<DeviceState> state,
                                std::shared_ptr<ClaimReservation> reservation, const framework::PodInfo& pod,
                                Duration binding_timeout, std::function<void()> on_success);

}  // namespace berth::plugins
