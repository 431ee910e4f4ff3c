// SPDX-License-Identifier: Apache-2.0
// Validation of metadata. A function of its arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/apiserver/object.h"
#include "berth/devcluster/apiserver/resource.h"

namespace berth::apiserver {

// Checks of metadata that hold for every type: names, labels, annotations, finalizers.
std::vector<FieldError> ValidateMetadata(const ResourceType& type, const json::object& metadata);

}  // namespace berth::apiserver
