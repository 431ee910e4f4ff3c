// SPDX-License-Identifier: Apache-2.0
// What every body of a write goes through before its kind's own rules. Pure, any thread.
#pragma once

#include "berth/devcluster/apiserver/resource.h"
#include "berth/devcluster/apiserver/status_error.h"
#include "berth/devcluster/apiserver/write_options.h"

namespace berth::apiserver {

// Fills in an empty kind and apiVersion, refuses others (400) and members of wrong types, reports members that the kind
// does not have as `options` say, and takes out those and all nulls.
Outcome<Done> CheckBody(const ResourceType& type, json::object& document, const WriteOptions& options);

}  // namespace berth::apiserver
