// SPDX-License-Identifier: Apache-2.0
#include "berth/app/config_map_hint.h"

#include "berth/codec/json.h"
#include "berth/codec/yaml.h"

namespace berth::app {
namespace {

std::string TextAt(const codec::json::object& object, std::string_view key) {
  const codec::json::value* const value = object.if_contains(key);
  const codec::json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

const codec::json::object* ObjectAt(const codec::json::object& object, std::string_view key) {
  const codec::json::value* const value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

// As kubectl's jsonpath wants a key: a dot in it has a backslash before it.
std::string Escaped(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '.') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The key of the data that holds a file of the kind; else the first one; empty: there is no data.
std::string KeyOf(const codec::json::object& map, std::string_view kind) {
  const codec::json::object* const data = ObjectAt(map, "data");
  if (data == nullptr || data->empty()) return {};
  for (const auto& member : *data) {
    const codec::json::string* const file = member.value().if_string();
    if (file != nullptr && std::string_view(file->data(), file->size()).find(kind) != std::string_view::npos)
      return std::string(member.key());
  }
  return std::string(data->begin()->key());
}

}  // namespace

std::optional<std::string> ConfigMapHint(std::string_view text, std::string_view kind) {
  const auto document = codec::ParseYaml(text);
  const codec::json::object* const map = document.ok() ? document->if_object() : nullptr;
  if (map == nullptr || TextAt(*map, "kind") != "ConfigMap" || TextAt(*map, "apiVersion") != "v1") return std::nullopt;
  std::string hint = "is a ConfigMap, and should be the " + std::string(kind) + " that is in one";
  const std::string key = KeyOf(*map, kind);
  const codec::json::object* const metadata = ObjectAt(*map, "metadata");
  const std::string name = metadata == nullptr ? std::string() : TextAt(*metadata, "name");
  if (key.empty() || name.empty()) return hint;
  const std::string space = TextAt(*metadata, "namespace");
  return hint + ": kubectl get configmap " + name + (space.empty() ? "" : " -n " + space) + " -o jsonpath='{.data." +
         Escaped(key) + "}' > " + key;
}

}  // namespace berth::app
