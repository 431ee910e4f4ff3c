// SPDX-License-Identifier: Apache-2.0
// Validation of device classes, resource claims and their templates. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateDeviceClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceClaim(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceClaimTemplate(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
