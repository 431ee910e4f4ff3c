// SPDX-License-Identifier: Apache-2.0
// What an update of a pod may change. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

// What an update may change in a pod's spec.
void ValidatePodSpecUpdate(const json::object& spec, const json::object& old_spec, Errors& errors);

// What a write to the subresource ephemeralcontainers may add to a pod's spec.
void ValidateEphemeralContainersUpdate(const json::object& spec, const json::object& old_spec, Errors& errors);

}  // namespace berth::objects::internal
