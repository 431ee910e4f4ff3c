// SPDX-License-Identifier: Apache-2.0
// Subresources that are more than a part of their object: binding, eviction, scale. Thread-safe as the Registry is.
#pragma once

#include <string_view>

#include "berth/codec/json.h"
#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/objects/status_error.h"
#include "berth/shell/net/transport.h"

namespace berth::apiserver {

namespace json = codec::json;

// Binds the pod `pod_name` (empty: the Binding's own name) to the Binding's target. The node need not exist: as
// upstream, nobody but the scheduler prevents that. 409 when the pod has a node, is being deleted, has scheduling gates
// or another uid.
objects::Outcome<objects::Done> BindPod(Registry& registry, const objects::ServedType& pods,
                                        std::string_view namespace_name, std::string_view pod_name,
                                        const json::object& binding, bool is_dry_run);

// Deletes the pod if its PodDisruptionBudget has room; 429 with the cause DisruptionBudget otherwise.
objects::Outcome<objects::Done> EvictPod(Registry& registry, const objects::ServedType& pods,
                                         std::string_view namespace_name, std::string_view pod_name,
                                         const json::object& eviction, bool is_dry_run);

// autoscaling/v1 Scale of a Deployment, ReplicaSet, StatefulSet, ReplicationController, or of a custom resource by its
// paths.
json::object ScaleOf(const objects::ResourceType& type, const json::object& document, std::int64_t resource_version);
// The document with the Scale's replicas; 400 and 422 for a Scale that is none.
objects::Outcome<json::object> WithScale(const objects::ResourceType& type, const json::object& document,
                                         const json::object& scale, const json::storage_ptr& storage);

}  // namespace berth::apiserver
