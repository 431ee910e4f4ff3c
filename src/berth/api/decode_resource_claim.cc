// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_resource_claim.h"

#include "berth/api/fields_resource_claim.h"
#include "berth/api/json_decoder.h"
#include "berth/api/protobuf_decoder.h"

namespace berth::api {

using internal::JsonDecoder;
using internal::ProtobufDecoder;

Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSlice(simdjson::dom::element object) {
  return JsonDecoder::Decode<ResourceSlice>(object);
}
Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSliceProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<ResourceSlice>(raw);
}
Expected<std::shared_ptr<const DeviceTaintRule>> DecodeDeviceTaintRule(simdjson::dom::element object) {
  return JsonDecoder::Decode<DeviceTaintRule>(object);
}
Expected<std::shared_ptr<const DeviceTaintRule>> DecodeDeviceTaintRuleProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<DeviceTaintRule>(raw);
}
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClass(simdjson::dom::element object) {
  return JsonDecoder::Decode<DeviceClass>(object);
}
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClassProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<DeviceClass>(raw);
}
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaim(simdjson::dom::element object) {
  return JsonDecoder::Decode<ResourceClaim>(object);
}
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaimProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<ResourceClaim>(raw);
}

}  // namespace berth::api
