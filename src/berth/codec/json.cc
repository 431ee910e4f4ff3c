// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json.h"

#include <exception>
#include <utility>

namespace berth::codec {
namespace {

constexpr std::size_t kParserStackBytes = 4096;

}  // namespace

Expected<json::value> ParseJson(std::string_view text, ParseLimits limits, json::storage_ptr storage) {
  if (text.size() > limits.bytes_max) {
    return Error{ErrorCode::kTooLarge, "JSON document of " + std::to_string(text.size()) + " bytes: at most " +
                                           std::to_string(limits.bytes_max) + " are read"};
  }
  json::parse_options options;
  options.max_depth = static_cast<std::size_t>(limits.depth_max);
  try {
    // The parser's own stack begins here instead of on the heap.
    unsigned char stack[kParserStackBytes];
    json::stream_parser parser({}, options, stack, sizeof(stack));
    parser.reset(std::move(storage));
    boost::system::error_code failure;
    const std::size_t consumed = parser.write_some(text.data(), text.size(), failure);
    if (!failure && consumed < text.size()) failure = json::make_error_code(json::error::extra_data);
    if (!failure) parser.finish(failure);
    if (!failure) return parser.release();
    if (failure == json::error::too_deep) {
      return InvalidError("JSON document is nested deeper than " + std::to_string(limits.depth_max) + " levels");
    }
    if (failure == json::error::incomplete) return InvalidError("at the end: incomplete JSON");
    return InvalidError("at byte " + std::to_string(consumed) + ": " + failure.message());
  } catch (const std::exception& thrown) {  // out of memory and the library's own length limits
    return Error{ErrorCode::kTooLarge, std::string("JSON document cannot be held: ") + thrown.what()};
  }
}

std::string WriteJson(const json::value& value) { return json::serialize(value); }

}  // namespace berth::codec
