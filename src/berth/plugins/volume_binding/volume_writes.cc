// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/volume_writes.h"

#include <utility>

#include "berth/codec/json.h"

namespace berth::plugins::volumes {
namespace {

namespace json = codec::json;

constexpr std::string_view kBoundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";

// Empty strings are left out: the API server would take them for a wrong precondition.
json::object Preconditions(const api::ObjectMeta& metadata) {
  json::object out;
  if (!metadata.uid.empty()) out["uid"] = metadata.uid;
  if (!metadata.resource_version.empty()) out["resourceVersion"] = metadata.resource_version;
  return out;
}

const json::value* Find(const json::value* value, std::string_view key) {
  if (value == nullptr || !value->is_object()) return nullptr;
  return value->as_object().if_contains(key);
}

std::string Text(const json::value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->as_string());
}

}  // namespace

framework::ObjectPatch PatchOf(const Reservation::Binding& binding) {
  const api::PersistentVolume& volume = *binding.volume;
  const api::ObjectMeta& claim = binding.claim->metadata;
  json::object metadata = Preconditions(volume.metadata);
  if (const std::string* by = volume.metadata.annotations.Find(kBoundByControllerAnnotation)) {
    metadata["annotations"] = json::object{{kBoundByControllerAnnotation, *by}};
  }
  json::object ref{{"apiVersion", "v1"},
                   {"kind", "PersistentVolumeClaim"},
                   {"namespace", claim.namespace_name},
                   {"name", claim.name},
                   {"uid", claim.uid}};
  if (!claim.resource_version.empty()) ref["resourceVersion"] = claim.resource_version;
  json::object body;
  body["metadata"] = std::move(metadata);
  body["spec"] = json::object{{"claimRef", std::move(ref)}};
  return {
      {"v1", "persistentvolumes", "", volume.metadata.name}, "", framework::PatchType::kMerge, codec::WriteJson(body)};
}

framework::ObjectPatch PatchOf(const Reservation::Provision& provision) {
  const api::ObjectMeta& claim = provision.claim->metadata;
  const std::string* node = claim.annotations.Find(kSelectedNodeAnnotation);
  json::object metadata = Preconditions(claim);
  metadata["annotations"] = json::object{{kSelectedNodeAnnotation, node == nullptr ? std::string() : *node}};
  json::object body;
  body["metadata"] = std::move(metadata);
  return {{"v1", "persistentvolumeclaims", claim.namespace_name, claim.name},
          "",
          framework::PatchType::kMerge,
          codec::WriteJson(body)};
}

Expected<WrittenObject> ReadObject(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const json::value value, codec::ParseJson(text));
  const json::value* metadata = Find(&value, "metadata");
  WrittenObject out;
  out.uid = Text(Find(metadata, "uid"));
  out.resource_version = Text(Find(metadata, "resourceVersion"));
  out.selected_node = Text(Find(Find(metadata, "annotations"), kSelectedNodeAnnotation));
  out.claim_uid = Text(Find(Find(Find(&value, "spec"), "claimRef"), "uid"));
  if (out.resource_version.empty()) return InvalidError("no object: it has no metadata.resourceVersion");
  return out;
}

bool ShowsWrite(const WrittenObject& object, const Reservation::Binding& binding) {
  return !object.claim_uid.empty() && object.claim_uid == binding.claim->metadata.uid;
}

bool ShowsWrite(const WrittenObject& object, const Reservation::Provision& provision) {
  const std::string* node = provision.claim->metadata.annotations.Find(kSelectedNodeAnnotation);
  return node != nullptr && object.selected_node == *node;
}

}  // namespace berth::plugins::volumes
