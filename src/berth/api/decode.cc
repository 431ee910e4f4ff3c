// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode.h"

#include <string>

namespace berth::api {

using simdjson::dom::element;

namespace {

// The API server rejects objects of half this size.
constexpr std::size_t kObjectBytesMax = std::size_t{8} << 20;

}  // namespace

Expected<element> ParseObject(std::string_view kind, std::string_view text) {
  static thread_local simdjson::dom::parser parser(kObjectBytesMax);
  element root;
  const auto failure = parser.parse(text.data(), text.size()).get(root);
  if (failure == simdjson::CAPACITY) {
    return Error{ErrorCode::kTooLarge, std::string(kind) + " of " + std::to_string(text.size()) + " bytes: at most " +
                                           std::to_string(kObjectBytesMax) + " are read"};
  }
  if (failure != simdjson::SUCCESS) {
    return InvalidError(std::string(kind) + ": not valid JSON: " + simdjson::error_message(failure));
  }
  return root;
}

Expected<std::shared_ptr<const Pod>> DecodePod(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const element object, ParseObject("Pod", text));
  return DecodePod(object);
}

Expected<std::shared_ptr<const Node>> DecodeNode(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const element object, ParseObject("Node", text));
  return DecodeNode(object);
}

}  // namespace berth::api
