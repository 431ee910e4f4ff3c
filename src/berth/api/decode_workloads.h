// SPDX-License-Identifier: Apache-2.0
// Decodes the kinds of workloads.h from JSON and protobuf, as decode.h describes.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/workloads.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudget(simdjson::dom::element object);
Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudgetProtobuf(std::string_view raw);
Expected<std::shared_ptr<const Namespace>> DecodeNamespace(simdjson::dom::element object);
Expected<std::shared_ptr<const Namespace>> DecodeNamespaceProtobuf(std::string_view raw);
Expected<std::shared_ptr<const Service>> DecodeService(simdjson::dom::element object);
Expected<std::shared_ptr<const Service>> DecodeServiceProtobuf(std::string_view raw);
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationController(simdjson::dom::element object);
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationControllerProtobuf(std::string_view raw);
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSet(simdjson::dom::element object);
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSetProtobuf(std::string_view raw);
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSet(simdjson::dom::element object);
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSetProtobuf(std::string_view raw);

}  // namespace berth::api
