// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_admission.h"

#include "berth/api/fields_admission.h"
#include "berth/api/json_decoder.h"

namespace berth::api {

using internal::JsonDecoder;

Expected<std::shared_ptr<const PriorityClass>> DecodePriorityClass(simdjson::dom::element object) {
  return JsonDecoder::Decode<PriorityClass>(object);
}
Expected<std::shared_ptr<const RuntimeClass>> DecodeRuntimeClass(simdjson::dom::element object) {
  return JsonDecoder::Decode<RuntimeClass>(object);
}
Expected<std::shared_ptr<const ResourceClaimTemplate>> DecodeResourceClaimTemplate(simdjson::dom::element object) {
  return JsonDecoder::Decode<ResourceClaimTemplate>(object);
}
Expected<std::shared_ptr<const ResourceQuota>> DecodeResourceQuota(simdjson::dom::element object) {
  return JsonDecoder::Decode<ResourceQuota>(object);
}

}  // namespace berth::api
