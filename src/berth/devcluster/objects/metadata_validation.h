// SPDX-License-Identifier: Apache-2.0
// Validation of metadata. A function of its arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects {

internal::RuleSet MetadataRules();

// Checks of metadata that hold for every type: names, labels, annotations, finalizers.
std::vector<FieldError> ValidateMetadata(const ResourceType& type, const json::object& metadata);

}  // namespace berth::objects
