// SPDX-License-Identifier: Apache-2.0
// Validation of Deployments, ReplicaSets, StatefulSets, DaemonSets and disruption budgets. Functions of their
// arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateDeployment(const json::object& object, const json::object* old, Errors& errors);
void ValidateReplicaSet(const json::object& object, const json::object* old, Errors& errors);
void ValidateStatefulSet(const json::object& object, const json::object* old, Errors& errors);
void ValidateDaemonSet(const json::object& object, const json::object* old, Errors& errors);
void ValidateReplicationController(const json::object& object, const json::object* old, Errors& errors);
void ValidatePodDisruptionBudget(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
