// SPDX-License-Identifier: Apache-2.0
// Binding conditions: devices that a driver has to prepare before the pod may be bound. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "berth/api/resource_claim.h"
#include "berth/base/time.h"

namespace berth::plugins {

struct BindingReadiness {
  enum class State : std::uint8_t { kReady, kWaiting, kFailed };
  State state = State::kReady;
  std::string error;  // kFailed: "device binding failed: ..."
};

// kReady when all conditions that the allocated devices name are true, and when they name none.
BindingReadiness ReadinessOf(const api::ResourceClaim& claim);

// Whether the claim has been allocated for longer than its devices may take.
bool IsBindingOverdue(const api::ResourceClaim& claim, Duration timeout, Time now);

bool HasBindingConditions(const api::ResourceClaim& claim);

}  // namespace berth::plugins
