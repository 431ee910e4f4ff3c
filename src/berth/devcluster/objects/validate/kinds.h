// SPDX-License-Identifier: Apache-2.0
// Validation of kinds that need little: nodes, services, configuration, leases, priorities, events. Functions of their
// arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateNode(const json::object& object, const json::object* old, Errors& errors);
void ValidateService(const json::object& object, const json::object* old, Errors& errors);
void ValidateConfigMap(const json::object& object, const json::object* old, Errors& errors);
void ValidateSecret(const json::object& object, const json::object* old, Errors& errors);
void ValidateLease(const json::object& object, const json::object* old, Errors& errors);
void ValidatePriorityClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateRuntimeClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateEvent(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
