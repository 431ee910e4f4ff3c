// SPDX-License-Identifier: Apache-2.0
// Validation of device classes, resource claims and their templates. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/apiserver/object.h"
#include "berth/devcluster/apiserver/resources_validation.h"

namespace berth::apiserver::internal {

void ValidateDeviceClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceClaim(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceClaimTemplate(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::apiserver::internal
