// SPDX-License-Identifier: Apache-2.0
// What an update of a pod may change. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet PodUpdateRules();

// What a write to the subresource ephemeralcontainers may add to a pod's spec.
Errors ValidateEphemeralContainers(const json::object& pod, const json::object& old);

}  // namespace berth::objects::internal
