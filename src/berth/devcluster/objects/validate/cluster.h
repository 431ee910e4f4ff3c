// SPDX-License-Identifier: Apache-2.0
// Validation of kinds that configure a cluster: roles and their bindings, Ingresses, CustomResourceDefinitions: what a
// mistyped manifest has wrong, not all that upstream checks. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateRole(const json::object& object, const json::object* old, Errors& errors);
void ValidateRoleBinding(const json::object& object, const json::object* old, Errors& errors);
void ValidateIngress(const json::object& object, const json::object* old, Errors& errors);
void ValidateCustomResourceDefinition(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
