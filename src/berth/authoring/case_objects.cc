// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/case_objects.h"

#include <array>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/quantity.h"
#include "berth/core/config/reader.h"
#include "berth/framework/object_kinds.h"

namespace berth::authoring {
namespace {

namespace json = codec::json;
using config::FieldErrors;
using config::ObjectReader;

constexpr std::string_view kHostname = "kubernetes.io/hostname";

// Fields of a pod's spec that have no short form.
constexpr std::array<std::string_view, 18> kPodSpecFields = {"affinity",
                                                             "containers",
                                                             "ephemeralContainers",
                                                             "hostNetwork",
                                                             "hostUsers",
                                                             "initContainers",
                                                             "nodeName",
                                                             "nodeSelector",
                                                             "overhead",
                                                             "preemptionPolicy",
                                                             "priority",
                                                             "resourceClaims",
                                                             "resources",
                                                             "schedulerName",
                                                             "schedulingGates",
                                                             "tolerations",
                                                             "topologySpreadConstraints",
                                                             "volumes"};

bool IsManifest(const json::value& item) {
  const json::object* object = item.if_object();
  return object != nullptr && object->contains("metadata");
}

// Labels or annotations. Values that YAML would parse as other types (yes, 1, 1.0) are rejected.
json::object Strings(ObjectReader& reader, std::string_view key) {
  json::object out;
  const json::value* value = reader.Find(key);
  if (value == nullptr) return out;
  const json::object* map = value->if_object();
  if (map == nullptr) {
    reader.errors().Add(reader.PathOf(key), "must be an object, not " + std::string(config::Describe(*value)));
    return out;
  }
  for (const auto& member : *map) {
    if (member.value().is_string()) {
      out.emplace(member.key(), member.value());
    } else {
      reader.errors().Add(
          reader.PathOf(key) + '.' + std::string(member.key()),
          "must be a string, not " + std::string(config::Describe(member.value())) + ": put it in quotes");
    }
  }
  return out;
}

// Resource amounts: text or plain numbers, completed by `defaults`.
json::object Amounts(ObjectReader& reader, std::string_view key,
                     std::initializer_list<std::pair<std::string_view, std::string_view>> defaults = {}) {
  json::object out;
  for (const auto& [resource, amount] : defaults) out[resource] = amount;
  const json::value* value = reader.Find(key);
  if (value == nullptr) return out;
  const json::object* map = value->if_object();
  if (map == nullptr) {
    reader.errors().Add(reader.PathOf(key), "must be an object, not " + std::string(config::Describe(*value)));
    return out;
  }
  for (const auto& member : *map) {
    const json::value& amount = member.value();
    const std::string path = reader.PathOf(key) + '.' + std::string(member.key());
    if (!amount.is_string() && !amount.is_number()) {
      reader.errors().Add(path, "must be an amount, for example 500m or 2Gi");
      continue;
    }
    const std::string text = amount.is_string() ? std::string(amount.get_string()) : codec::WriteJson(amount);
    const auto quantity = api::Quantity::Parse(text);
    if (quantity.ok()) {
      out[member.key()] = text;
    } else {
      reader.errors().Add(path, quantity.error().message);
    }
  }
  return out;
}

json::object Metadata(ObjectReader& reader, const json::value** name) {
  json::object metadata;
  *name = reader.Find("name");
  if (*name == nullptr) {
    reader.errors().Required(reader.PathOf("name"));
  } else if (!(*name)->is_string() || (*name)->get_string().empty()) {
    reader.errors().Add(reader.PathOf("name"), "must be a name, in quotes where it looks like a number");
    *name = nullptr;
  } else {
    metadata["name"] = **name;
  }
  metadata["labels"] = Strings(reader, "labels");
  metadata["annotations"] = Strings(reader, "annotations");
  return metadata;
}

void Pass(ObjectReader& reader, std::string_view key, json::object& to) {
  if (const json::value* value = reader.Find(key)) to[key] = *value;
}

json::value NodeManifest(ObjectReader& reader) {
  const json::value* name = nullptr;
  json::object metadata = Metadata(reader, &name);
  if (name != nullptr) {
    json::object& labels = metadata["labels"].as_object();
    if (!labels.contains(kHostname)) labels[kHostname] = *name;
  }
  json::object spec;
  Pass(reader, "taints", spec);
  Pass(reader, "unschedulable", spec);
  json::object status;
  status["allocatable"] = Amounts(reader, "allocatable", {{"cpu", "4"}, {"memory", "32Gi"}, {"pods", "110"}});
  Pass(reader, "images", status);
  Pass(reader, "conditions", status);
  return json::object{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", std::move(status)}};
}

json::value PodManifest(ObjectReader& reader) {
  const json::value* name = nullptr;
  json::object metadata = Metadata(reader, &name);
  Pass(reader, "namespace", metadata);
  json::object spec;
  for (const std::string_view field : kPodSpecFields) Pass(reader, field, spec);
  if (const json::value* node = reader.Find("node")) spec["nodeName"] = *node;
  json::object container{{"name", "c"}, {"resources", {{"requests", Amounts(reader, "requests")}}}};
  Pass(reader, "image", container);
  if (!spec.contains("containers")) {
    spec["containers"] = json::array{std::move(container)};
  } else if (reader.Find("requests") != nullptr || reader.Find("image") != nullptr) {
    reader.errors().Forbidden(reader.PathOf("requests"), "may not be beside containers, whose own they would be");
  }
  json::object status;
  if (const json::value* nominated = reader.Find("nominatedNode")) status["nominatedNodeName"] = *nominated;
  return json::object{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", std::move(status)}};
}

// The item's manifest, expanded from its short form if necessary; null after an error.
template <typename Expand>
json::value ManifestOf(const json::value& item, const std::string& path, FieldErrors& errors, Expand expand) {
  if (IsManifest(item)) return item;
  const std::size_t before = errors.count();
  json::value manifest;
  {
    ObjectReader reader(item, path, errors);
    manifest = expand(reader);
  }
  return errors.count() == before ? manifest : json::value();
}

}  // namespace

NodePtr ReadCaseNode(const json::value& item, const std::string& path, FieldErrors& errors) {
  const json::value manifest = ManifestOf(item, path, errors, NodeManifest);
  if (manifest.is_null()) return nullptr;
  const auto node = api::DecodeNode(codec::WriteJson(manifest));
  if (!node.ok()) {
    errors.Add(path, node.error().message);
    return nullptr;
  }
  if ((*node)->metadata.name.empty()) {
    errors.Required(path + ".metadata.name");
    return nullptr;
  }
  return *node;
}

PodPtr ReadCasePod(const json::value& item, const std::string& path, const std::string& scheduler_name,
                   FieldErrors& errors) {
  const json::value manifest = ManifestOf(item, path, errors, PodManifest);
  if (manifest.is_null()) return nullptr;
  const auto decoded = api::DecodePod(codec::WriteJson(manifest));
  if (!decoded.ok()) {
    errors.Add(path, decoded.error().message);
    return nullptr;
  }
  auto pod = std::make_shared<api::Pod>(**decoded);
  api::ObjectMeta& meta = pod->metadata;
  if (meta.name.empty()) {
    errors.Required(path + ".metadata.name");
    return nullptr;
  }
  if (meta.namespace_name.empty()) meta.namespace_name = "default";
  if (meta.uid.empty()) meta.uid = "uid-" + meta.namespace_name + "-" + meta.name;
  if (pod->spec.scheduler_name.empty()) pod->spec.scheduler_name = scheduler_name;
  return pod;
}

void ReadCaseObject(const json::value& item, const std::string& path, std::vector<framework::AnyObject>& out,
                    FieldErrors& errors) {
  std::string wanted;
  if (const json::object* object = item.if_object()) {
    if (const json::value* kind = object->if_contains("kind"); kind != nullptr && kind->is_string())
      wanted = std::string(kind->get_string());
  }
  const auto kind = framework::ObjectKindNamed(wanted);
  if (!kind) {
    return errors.Invalid(path + ".kind", wanted,
                          "no plugin reads objects of this kind; nodes and pods have lists of their own");
  }
  const std::string text = codec::WriteJson(item);
  const auto element = api::ParseObject(wanted, text);
  auto object =
      element.ok() ? framework::DecodeObject(*kind, *element) : Expected<framework::AnyObject>(element.error());
  if (object.ok()) {
    out.push_back(std::move(*object));
  } else {
    errors.Add(path, object.error().message);
  }
}

}  // namespace berth::authoring
