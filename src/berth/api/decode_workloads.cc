// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_workloads.h"

#include "berth/api/fields_workloads.h"
#include "berth/api/json_decoder.h"
#include "berth/api/protobuf_decoder.h"

namespace berth::api {

using internal::JsonDecoder;
using internal::ProtobufDecoder;

Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudget(simdjson::dom::element object) {
  return JsonDecoder::Decode<PodDisruptionBudget>(object);
}
Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudgetProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<PodDisruptionBudget>(raw);
}
Expected<std::shared_ptr<const Namespace>> DecodeNamespace(simdjson::dom::element object) {
  return JsonDecoder::Decode<Namespace>(object);
}
Expected<std::shared_ptr<const Namespace>> DecodeNamespaceProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<Namespace>(raw);
}
Expected<std::shared_ptr<const Service>> DecodeService(simdjson::dom::element object) {
  return JsonDecoder::Decode<Service>(object);
}
Expected<std::shared_ptr<const Service>> DecodeServiceProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<Service>(raw);
}
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationController(simdjson::dom::element object) {
  return JsonDecoder::Decode<ReplicationController>(object);
}
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationControllerProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<ReplicationController>(raw);
}
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSet(simdjson::dom::element object) {
  return JsonDecoder::Decode<ReplicaSet>(object);
}
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSetProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<ReplicaSet>(raw);
}
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSet(simdjson::dom::element object) {
  return JsonDecoder::Decode<StatefulSet>(object);
}
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSetProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<StatefulSet>(raw);
}

}  // namespace berth::api
