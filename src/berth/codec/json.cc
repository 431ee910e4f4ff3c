// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json.h"

#include <cmath>
#include <exception>
#include <optional>
#include <utility>

namespace berth::codec {
namespace {

constexpr std::size_t kParserStackBytes = 4096;

// The path of a number outside the range of a float64, such as "spec.weights[3]"; nullopt: none. The library accepts
// 1e400 and 0e400, and writes them as "Infinity" and "NaN", which are not JSON.
std::optional<std::string> FindNonFinite(const json::value& value) {
  const auto below = [](std::string step, const std::string& rest) {
    return step + (rest.empty() || rest.front() == '[' ? "" : ".") + rest;
  };
  switch (value.kind()) {
    case json::kind::double_:
      if (!std::isfinite(value.get_double())) return "";
      return std::nullopt;
    case json::kind::array:
      for (std::size_t i = 0; i < value.get_array().size(); ++i) {
        if (const auto found = FindNonFinite(value.get_array()[i])) return below('[' + std::to_string(i) + ']', *found);
      }
      return std::nullopt;
    case json::kind::object:
      for (const auto& member : value.get_object()) {
        if (const auto found = FindNonFinite(member.value())) return below(member.key(), *found);
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Expected<json::value> ParseJson(std::string_view text, ParseLimits limits, json::storage_ptr storage) {
  if (text.size() > limits.bytes_max) {
    return Error{ErrorCode::kTooLarge, "JSON document of " + std::to_string(text.size()) + " bytes: at most " +
                                           std::to_string(limits.bytes_max) + " are read"};
  }
  json::parse_options options;
  options.max_depth = static_cast<std::size_t>(limits.depth_max);
  try {
    // The parser's work stack starts on the stack instead of the heap.
    unsigned char stack[kParserStackBytes];
    json::stream_parser parser({}, options, stack, sizeof(stack));
    parser.reset(std::move(storage));
    boost::system::error_code failure;
    const std::size_t consumed = parser.write_some(text.data(), text.size(), failure);
    if (!failure && consumed < text.size()) failure = json::make_error_code(json::error::extra_data);
    if (!failure) parser.finish(failure);
    if (!failure) {
      json::value value = parser.release();
      const auto place = FindNonFinite(value);
      if (!place) return value;
      return InvalidError((place->empty() ? "" : *place + ": ") + "a number is out of the range of a float64");
    }
    if (failure == json::error::too_deep) {
      return InvalidError("JSON document is nested deeper than " + std::to_string(limits.depth_max) + " levels");
    }
    if (failure == json::error::incomplete) return InvalidError("at the end: incomplete JSON");
    return InvalidError("at byte " + std::to_string(consumed) + ": " + failure.message());
  } catch (const std::exception& thrown) {  // out of memory, or the library's own limits on length
    return Error{ErrorCode::kTooLarge, std::string("JSON document cannot be held: ") + thrown.what()};
  }
}

std::string WriteJson(const json::value& value) { return json::serialize(value); }

}  // namespace berth::codec
