// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/custom_openapi.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "berth/devcluster/objects/custom/custom_schema.h"
#include "berth/devcluster/objects/object.h"

namespace berth::apiserver {
namespace {

// What version 2.0 keeps of a schema, as upstream's conversion does.
json::object ForV2(const json::object& schema) {
  constexpr std::array<std::string_view, 5> kPlain = {"type", "format", "description", "required", "enum"};
  json::object kept;
  const json::value* is_free = objects::FindMember(schema, "x-kubernetes-int-or-string");
  for (const auto& [key, value] : schema) {
    const bool is_plain = std::find(kPlain.begin(), kPlain.end(), std::string_view(key)) != kPlain.end();
    if (is_plain || std::string_view(key).starts_with("x-kubernetes-")) kept[key] = value;
  }
  if (is_free != nullptr) kept.erase("type");
  for (const char* name : {"items", "additionalProperties"}) {
    if (const json::object* below = objects::ObjectMember(schema, name)) kept[name] = ForV2(*below);
  }
  if (const json::object* properties = objects::ObjectMember(schema, "properties")) {
    json::object converted;
    for (const auto& [key, value] : *properties) {
      if (value.is_object()) converted[key] = ForV2(value.get_object());
    }
    kept["properties"] = std::move(converted);
  }
  return kept;
}

json::object Text(const char* description) { return {{"type", "string"}, {"description", description}}; }

}  // namespace

std::string CustomSchemaName(const objects::ResourceType& type) {
  std::string name;
  for (std::string_view rest = type.group; !rest.empty();) {
    const std::size_t dot = rest.rfind('.');
    name.append(dot == std::string_view::npos ? rest : rest.substr(dot + 1)).append(1, '.');
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return name + type.version + '.' + type.kind;
}

json::object CustomKindSchema(const objects::ResourceType& type, bool is_v3, json::object metadata) {
  json::object schema = is_v3 ? type.structural->document() : ForV2(type.structural->document());
  json::object& properties = objects::MutableObject(schema, "properties");
  properties["apiVersion"] = Text("APIVersion defines the versioned schema of this representation of an object.");
  properties["kind"] = Text("Kind is a string value representing the REST resource this object represents.");
  properties["metadata"] = std::move(metadata);
  return schema;
}

}  // namespace berth::apiserver
