// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_node.h"

#include "berth/api/fields_node.h"
#include "berth/api/json_decoder.h"
#include "berth/api/protobuf_decoder.h"

namespace berth::api {

using internal::JsonDecoder;
using internal::ProtobufDecoder;

Expected<std::shared_ptr<const Node>> DecodeNode(simdjson::dom::element object) {
  return JsonDecoder::Decode<Node>(object);
}
Expected<std::shared_ptr<const Node>> DecodeNodeProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<Node>(raw);
}

}  // namespace berth::api
