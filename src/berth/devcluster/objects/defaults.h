// SPDX-License-Identifier: Apache-2.0
// Defaults of each kind, as kube-apiserver's defaulting fills them in. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"

namespace berth::objects::internal {

void DefaultPod(json::object& pod);
void DefaultReplicationController(json::object& object);
void DefaultDeployment(json::object& object);
void DefaultReplicaSet(json::object& object);
void DefaultStatefulSet(json::object& object);
void DefaultDaemonSet(json::object& object);
void DefaultNode(json::object& node);
void DefaultNamespace(json::object& object);
void DefaultService(json::object& object);
void DefaultEndpoints(json::object& object);
void DefaultSecret(json::object& object);
void DefaultPersistentVolume(json::object& object);
void DefaultPersistentVolumeClaim(json::object& object);
void DefaultStorageClass(json::object& object);
void DefaultCsiDriver(json::object& object);
void DefaultPriorityClass(json::object& object);
void DefaultResourceClaim(json::object& object);
void DefaultResourceClaimTemplate(json::object& object);
void DefaultResourceSlice(json::object& object);
void DefaultEvent(json::object& object);
void DefaultPodTemplate(json::object& object);
void DefaultJob(json::object& object);
void DefaultCronJob(json::object& object);
void DefaultHorizontalPodAutoscaler(json::object& object);
void DefaultHorizontalPodAutoscalerV1(json::object& object);
void DefaultNetworkPolicy(json::object& object);
void DefaultRoleBinding(json::object& object);
void DefaultCustomResourceDefinition(json::object& object);
void DefaultEndpointSlice(json::object& object);
void DefaultApiService(json::object& object);
void DefaultPriorityLevel(json::object& object);
void DefaultMutatingWebhooks(json::object& object);
void DefaultValidatingWebhooks(json::object& object);
void DefaultAdmissionPolicy(json::object& object);
void DefaultPodGroup(json::object& group);  // and of CompositePodGroups

}  // namespace berth::objects::internal
