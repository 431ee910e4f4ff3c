// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace berth::codec {

using simdjson::dom::element;

Expected<element> JsonReader::Parse(std::string_view text) {
  if (text.size() > limits_.bytes_max) {
    return Error{ErrorCode::kTooLarge, "JSON of " + std::to_string(text.size()) + " bytes; at most " +
                                           std::to_string(limits_.bytes_max) + " are read"};
  }
  // A byte order mark is not valid JSON, but some Windows tools write one.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);

  if (text.size() <= kRetainedBytesMax &&
      (buffer_.size() > kRetainedBytesMax * 2 || parser_.capacity() > kRetainedBytesMax * 2)) {
    buffer_ = {};
    parser_ = simdjson::dom::parser();
  }
  const std::size_t size_needed = text.size() + simdjson::SIMDJSON_PADDING;
  if (buffer_.size() < size_needed) {
    // Twice the required size, so that slowly growing documents do not allocate each time.
    buffer_.resize(text.size() <= kRetainedBytesMax ? 2 * size_needed : size_needed);
  }
  if (!text.empty()) std::memcpy(buffer_.data(), text.data(), text.size());
  std::memset(buffer_.data() + text.size(), ' ', simdjson::SIMDJSON_PADDING);

  if (parser_.capacity() < text.size() || parser_.max_depth() != limits_.depth_max) {
    const std::size_t capacity = std::max({text.size(), parser_.capacity(), std::size_t{4096}});
    if (parser_.allocate(capacity, limits_.depth_max) != simdjson::SUCCESS) {
      return Error{ErrorCode::kTooLarge,
                   "no memory to read a JSON document of " + std::to_string(text.size()) + " bytes"};
    }
  }
  element document;
  const auto problem = parser_.parse(buffer_.data(), text.size(), false).get(document);
  if (problem == simdjson::SUCCESS) return document;
  if (problem == simdjson::DEPTH_ERROR) {
    return Error{ErrorCode::kTooLarge, "JSON nested deeper than " + std::to_string(limits_.depth_max) + " levels"};
  }
  if (problem == simdjson::EMPTY) return InvalidError("no JSON: the text is empty");
  std::string why = simdjson::error_message(problem);
  std::replace(why.begin(), why.end(), '\n', ' ');
  return InvalidError("no JSON: " + why);
}

std::optional<element> FindMember(element object, std::string_view key) {
  element value;
  if (!object.is_object() || object.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::optional<element> FindPath(element object, std::initializer_list<std::string_view> keys) {
  std::optional<element> value = object;
  for (const std::string_view key : keys) {
    value = FindMember(*value, key);
    if (!value) return std::nullopt;
  }
  return value;
}

namespace {

template <typename T>
std::optional<T> FindAs(element object, std::string_view key) {
  const std::optional<element> member = FindMember(object, key);
  T value;
  if (!member || member->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string_view> FindString(element object, std::string_view key) {
  return FindAs<std::string_view>(object, key);
}
std::optional<std::int64_t> FindInt(element object, std::string_view key) { return FindAs<std::int64_t>(object, key); }
std::optional<bool> FindBool(element object, std::string_view key) { return FindAs<bool>(object, key); }
std::optional<simdjson::dom::object> FindObject(element object, std::string_view key) {
  return FindAs<simdjson::dom::object>(object, key);
}
std::optional<simdjson::dom::array> FindArray(element object, std::string_view key) {
  return FindAs<simdjson::dom::array>(object, key);
}

std::string_view StringOrEmpty(element object, std::string_view key) {
  return FindString(object, key).value_or(std::string_view());
}

}  // namespace berth::codec
