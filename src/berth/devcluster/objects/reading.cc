// SPDX-License-Identifier: Apache-2.0
// Readers of documents whose shape the schema has checked, or that are whatever a client sent.
#include "berth/devcluster/objects/reading.h"

#include <cstdint>
#include <string_view>

#include "berth/base/time.h"

namespace berth::objects::internal {

const json::value* FindPath(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::object* at = &object;
  const json::value* value = nullptr;
  for (const std::string_view name : path) {
    if (at == nullptr) return nullptr;
    value = FindMember(*at, name);
    if (value == nullptr) return nullptr;
    at = value->if_object();
  }
  return value;
}

const json::object* ObjectAt(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* value = FindPath(object, path);
  return value == nullptr ? nullptr : value->if_object();
}

std::string_view StringAt(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* value = FindPath(object, path);
  if (value == nullptr || !value->is_string()) return {};
  return View(value->get_string());
}

const json::object& Part(const json::object& object, std::string_view member) {
  static const json::object kEmpty;
  const json::object* part = ObjectMember(object, member);
  return part == nullptr ? kEmpty : *part;
}

std::int64_t IntMember(const json::object& object, std::string_view name, std::int64_t otherwise) {
  const json::value* value = FindMember(object, name);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

bool BoolMember(const json::object& object, std::string_view name, bool otherwise) {
  const json::value* value = FindMember(object, name);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

std::vector<const json::object*> ObjectsOf(const json::object& object, std::string_view list) {
  std::vector<const json::object*> objects;
  if (const json::array* array = ArrayMember(object, list)) {
    for (const json::value& element : *array) {
      if (element.is_object()) objects.push_back(&element.get_object());
    }
  }
  return objects;
}

std::vector<json::object*> MutableObjectsOf(json::object& object, std::string_view list) {
  std::vector<json::object*> objects;
  if (const auto found = object.find(list); found != object.end() && found->value().is_array()) {
    for (json::value& element : found->value().get_array()) {
      if (element.is_object()) objects.push_back(&element.get_object());
    }
  }
  return objects;
}

std::vector<std::string_view> StringsOf(const json::object& object, std::string_view list) {
  std::vector<std::string_view> strings;
  if (const json::array* array = ArrayMember(object, list)) {
    for (const json::value& element : *array) {
      if (element.is_string()) strings.push_back(View(element.get_string()));
    }
  }
  return strings;
}

std::optional<std::int64_t> SecondsOf(const json::object& object, std::string_view name) {
  const std::string_view text = StringMember(object, name);
  if (text.empty()) return std::nullopt;
  const std::optional<Time> time = ParseRfc3339(text);
  if (!time) return std::nullopt;
  return std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
}

}  // namespace berth::objects::internal
