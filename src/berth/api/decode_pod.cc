// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_pod.h"

#include "berth/api/fields_pod.h"
#include "berth/api/json_decoder.h"
#include "berth/api/protobuf_decoder.h"

namespace berth::api {

using internal::JsonDecoder;
using internal::ProtobufDecoder;

Expected<std::shared_ptr<const Pod>> DecodePod(simdjson::dom::element object) {
  return JsonDecoder::Decode<Pod>(object);
}
Expected<std::shared_ptr<const Pod>> DecodePodProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<Pod>(raw);
}

}  // namespace berth::api
