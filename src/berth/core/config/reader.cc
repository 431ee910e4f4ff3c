// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/reader.h"

#include <cmath>
#include <limits>

#include "berth/base/edit_distance.h"

namespace berth::config {

namespace json = codec::json;

std::string_view Describe(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "a boolean";
    case json::kind::string: return "a string";
    case json::kind::array: return "a list";
    case json::kind::object: return "an object";
    default: return "a number";
  }
}

ObjectReader::ObjectReader(const json::value& value, std::string path, FieldErrors& errors)
    : object_(value.if_object()), path_(std::move(path)), errors_(errors) {
  if (object_ == nullptr && !value.is_null()) {
    errors_.Add(path_, "must be an object, not " + std::string(Describe(value)));
  }
}

ObjectReader::~ObjectReader() {
  if (object_ == nullptr) return;
  for (const auto& member : *object_) {
    const std::string_view key(member.key().data(), member.key().size());
    if (known_.find(key) != known_.end()) continue;
    std::string text = "unknown field; known here:";
    for (const std::string& name : known_) text += (name == *known_.begin() ? " " : ", ") + name;
    const std::string_view nearest = SimilarName(key, std::vector<std::string_view>(known_.begin(), known_.end()));
    if (!nearest.empty()) text.append("; the nearest is ").append(nearest);
    errors_.Add(PathOf(key.substr(0, 64)), text);
  }
}

const json::value* ObjectReader::Find(std::string_view key) {
  known_.emplace(key);
  if (object_ == nullptr) return nullptr;
  const json::value* value = object_->if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string ObjectReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

void ObjectReader::WrongType(std::string_view key, const json::value& value, std::string_view wanted) {
  errors_.Add(PathOf(key), "must be " + std::string(wanted) + ", not " + std::string(Describe(value)));
}

void ObjectReader::Read(std::string_view key, std::string& out) {
  const json::value* value = Find(key);
  if (value == nullptr) return;
  if (const json::string* text = value->if_string()) {
    out.assign(text->data(), text->size());
  } else {
    WrongType(key, *value, "a string");
  }
}

void ObjectReader::Read(std::string_view key, bool& out) {
  const json::value* value = Find(key);
  if (value == nullptr) return;
  if (const bool* boolean = value->if_bool()) {
    out = *boolean;
  } else {
    WrongType(key, *value, "a boolean");
  }
}

std::optional<std::int64_t> ObjectReader::FindInteger(std::string_view key, std::int64_t min, std::int64_t max,
                                                      std::string_view wanted) {
  const json::value* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    WrongType(key, *value, wanted);
    return std::nullopt;
  }
  std::optional<std::int64_t> number;
  if (value->is_int64()) number = value->get_int64();
  // A double without a fraction is an integer, as in upstream, where YAML is converted to JSON.
  if (value->is_double()) {
    const double real = value->get_double();
    if (std::trunc(real) == real && std::abs(real) < 0x1p63) number = static_cast<std::int64_t>(real);
  }
  if (number && *number >= min && *number <= max) return number;
  errors_.Add(PathOf(key), "must be " + std::string(wanted) + ", not " + json::serialize(*value));
  return std::nullopt;
}

void ObjectReader::Read(std::string_view key, std::int32_t& out) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (const auto number = FindInteger(key, Limits::min(), Limits::max(), "a whole number of 32 bits")) {
    out = static_cast<std::int32_t>(*number);
  }
}

void ObjectReader::Read(std::string_view key, std::int64_t& out) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (const auto number = FindInteger(key, Limits::min(), Limits::max(), "a whole number of 64 bits")) out = *number;
}

void ObjectReader::Read(std::string_view key, double& out) {
  const json::value* value = Find(key);
  if (value == nullptr) return;
  if (value->is_number()) {
    out = value->to_number<double>();
  } else {
    WrongType(key, *value, "a number");
  }
}

void ObjectReader::Read(std::string_view key, Duration& out) {
  const json::value* value = Find(key);
  if (value == nullptr) return;
  const json::string* text = value->if_string();
  if (text == nullptr) {
    WrongType(key, *value, "a duration such as \"15s\"");
    return;
  }
  if (const auto duration = ParseGoDuration({text->data(), text->size()})) {
    out = *duration;
  } else {
    errors_.Add(PathOf(key), "must be a duration such as \"15s\" or \"1m30s\", not " + json::serialize(*value));
  }
}

const json::array* ObjectReader::FindList(std::string_view key) {
  const json::value* value = Find(key);
  if (value == nullptr) return nullptr;
  const json::array* items = value->if_array();
  if (items == nullptr) WrongType(key, *value, "a list");
  return items;
}

void ObjectReader::Read(std::string_view key, std::vector<std::string>& out) {
  List(key, [&](const json::value& item, const std::string& path) {
    if (const json::string* text = item.if_string()) {
      out.emplace_back(text->data(), text->size());
    } else if (item.is_null()) {
      out.emplace_back();
    } else {
      errors_.Add(path, "must be a string, not " + std::string(Describe(item)));
    }
  });
}

}  // namespace berth::config
