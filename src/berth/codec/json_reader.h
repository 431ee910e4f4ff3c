// SPDX-License-Identifier: Apache-2.0
// Reads JSON with simdjson's DOM: one document at a time, in reused memory. A document that is changed or written is a
// codec::json::value (codec/json.h). Thread-compatible: one JsonReader for each thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "berth/base/expected.h"

namespace berth::codec {

struct ReadLimits {
  std::size_t bytes_max = std::size_t{1} << 30;
  std::size_t depth_max = 256;
};

class JsonReader {
 public:
  // Memory above this size is freed before the next document, so that a huge list does not hold it forever.
  static constexpr std::size_t kRetainedBytesMax = std::size_t{8} << 20;

  explicit JsonReader(ReadLimits limits = {}) : limits_(limits) {}

  // Parses exactly one document. The result, including its strings, is valid until the next Parse or the reader's end.
  // kTooLarge above a limit, otherwise kInvalid, with one line: "no JSON: ...".
  Expected<simdjson::dom::element> Parse(std::string_view text);

 private:
  ReadLimits limits_;
  std::vector<char> buffer_;  // the text, followed by simdjson's padding
  simdjson::dom::parser parser_;
};

// Lenient access to members: nullopt if `object` is not an object, the key is missing, or its value has another type.
std::optional<simdjson::dom::element> FindMember(simdjson::dom::element object, std::string_view key);
std::optional<simdjson::dom::element> FindPath(simdjson::dom::element object,
                                               std::initializer_list<std::string_view> keys);
std::optional<std::string_view> FindString(simdjson::dom::element object, std::string_view key);
std::optional<std::int64_t> FindInt(simdjson::dom::element object, std::string_view key);
std::optional<bool> FindBool(simdjson::dom::element object, std::string_view key);
std::optional<simdjson::dom::object> FindObject(simdjson::dom::element object, std::string_view key);
std::optional<simdjson::dom::array> FindArray(simdjson::dom::element object, std::string_view key);

// FindString, or the empty string.
std::string_view StringOrEmpty(simdjson::dom::element object, std::string_view key);

}  // namespace berth::codec
