// SPDX-License-Identifier: Apache-2.0
// What an update of a pod may change. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/apiserver/object.h"
#include "berth/devcluster/apiserver/resources_validation.h"

namespace berth::apiserver::internal {

// What an update may change in a pod's spec.
void ValidatePodSpecUpdate(const json::object& spec, const json::object& old_spec, Errors& errors);

// What a write to the subresource ephemeralcontainers may add to a pod's spec.
void ValidateEphemeralContainersUpdate(const json::object& spec, const json::object& old_spec, Errors& errors);

}  // namespace berth::apiserver::internal
