// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_pod_details.h"

#include "berth/api/fields_pod_details.h"
#include "berth/api/json_decoder.h"

namespace berth::api {

Expected<std::shared_ptr<const PodDetails>> DecodePodDetails(simdjson::dom::element object) {
  return internal::JsonDecoder::Decode<PodDetails>(object);
}

Expected<std::shared_ptr<const BudgetDetails>> DecodeBudgetDetails(simdjson::dom::element object) {
  return internal::JsonDecoder::Decode<BudgetDetails>(object);
}

}  // namespace berth::api
