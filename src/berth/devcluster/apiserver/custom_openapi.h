// SPDX-License-Identifier: Apache-2.0
// Structural schemas in OpenAPI documents. Pure functions.
#pragma once

#include <string>

#include "berth/devcluster/objects/resource.h"

namespace berth::apiserver {

namespace json = codec::json;

// "com.example.stable.v1.CronTab" for CronTab of stable.example.com/v1.
std::string CustomSchemaName(const objects::ResourceType& type);

// The schema of a custom resource with the members that all objects have; `metadata` is the reference to theirs.
// Without what version 2.0 of the format does not know, unless `is_v3`.
json::object CustomKindSchema(const objects::ResourceType& type, bool is_v3, json::object metadata);

}  // namespace berth::apiserver
