// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_pod_group.h"

#include "berth/api/fields_pod_group.h"
#include "berth/api/json_decoder.h"
#include "berth/api/protobuf_decoder.h"

namespace berth::api {

using internal::JsonDecoder;
using internal::ProtobufDecoder;

Expected<std::shared_ptr<const PodGroup>> DecodePodGroup(simdjson::dom::element object) {
  return JsonDecoder::Decode<PodGroup>(object);
}
Expected<std::shared_ptr<const PodGroup>> DecodePodGroupProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<PodGroup>(raw);
}
Expected<std::shared_ptr<const CompositePodGroup>> DecodeCompositePodGroup(simdjson::dom::element object) {
  return JsonDecoder::Decode<CompositePodGroup>(object);
}
Expected<std::shared_ptr<const CompositePodGroup>> DecodeCompositePodGroupProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<CompositePodGroup>(raw);
}

}  // namespace berth::api
