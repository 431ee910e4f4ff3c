// SPDX-License-Identifier: Apache-2.0
// Validation of resource slices. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateDeviceTaintRule(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceSlice(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
