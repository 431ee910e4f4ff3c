// SPDX-License-Identifier: Apache-2.0
// What every body of a write goes through before its kind's own rules. Pure, any thread.
#pragma once

#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/status_error.h"
#include "berth/devcluster/objects/write_options.h"

namespace berth::objects {

// Fills in an empty kind and apiVersion, refuses others (400) and members of wrong types, reports members that the kind
// does not have as `options` say, and takes out those and all nulls.
Outcome<Done> CheckBody(const ResourceType& type, json::object& document, const WriteOptions& options);

}  // namespace berth::objects
