// SPDX-License-Identifier: Apache-2.0
// Defaults and validation of pod groups: PodGroup and Workload of scheduling.k8s.io/v1beta1, CompositePodGroup of
// v1alpha3, as kube-apiserver 1.37 has them with the feature gates of pod groups on. Functions of their arguments: any
// thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

// Of PodGroups and CompositePodGroups.
void DefaultPodGroup(json::object& group);

void ValidatePodGroup(const json::object& group, const json::object* old, Errors& errors);
void ValidateCompositePodGroup(const json::object& group, const json::object* old, Errors& errors);
void ValidateWorkload(const json::object& workload, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
