// SPDX-License-Identifier: Apache-2.0
// Validation of volumes, claims, and the kinds of storage.k8s.io.
#include "berth/devcluster/objects/validate/storage.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/base/text.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/rules.h"
#include "berth/devcluster/objects/validate/scheduling.h"

namespace berth::objects::internal {
namespace {

const std::vector<std::string_view> kAccessModes = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                                    "ReadWriteOncePod"};

void ValidateAccessModes(const json::object& spec, const std::string& owner_field, std::string_view detail,
                         Errors& errors) {
  const std::string field = owner_field + ".accessModes";
  const json::array* modes = ArrayMember(spec, "accessModes");
  if (modes == nullptr || modes->empty()) {
    errors.push_back(Required(field, detail));
    return;
  }
  for (const std::string_view mode : StringsOf(spec, "accessModes")) {
    if (std::find(kAccessModes.begin(), kAccessModes.end(), mode) == kAccessModes.end()) {
      errors.push_back(NotSupported(field, json::value(mode), kAccessModes));
    }
  }
  if (modes->size() > 1 && std::find(modes->begin(), modes->end(), json::value("ReadWriteOncePod")) != modes->end()) {
    errors.push_back(Forbidden(field, "may not use ReadWriteOncePod with other access modes"));
  }
}

bool IsVolumeSource(std::string_view name, const json::value& value) {
  return value.is_object() && name != "capacity" && name != "claimRef" && name != "nodeAffinity";
}

// The one source of a volume's spec. What a driver needs to grow the volume may be added to it later.
json::object VolumeSourceOf(const json::object& spec) {
  json::object source;
  for (const auto& [name, value] : spec) {
    if (!IsVolumeSource(name, value)) continue;
    source[name] = value;
    if (name == "csi") source[name].get_object().erase("controllerExpandSecretRef");
  }
  return source;
}

std::optional<api::Quantity> QuantityAt(const json::object& object, std::string_view member) {
  const json::value* value = FindMember(object, member);
  if (value == nullptr) return std::nullopt;
  auto parsed = api::Quantity::Parse(value->is_string() ? std::string(value->get_string()) : json::serialize(*value));
  if (!parsed.ok()) return std::nullopt;
  return parsed.value();
}

std::optional<api::Quantity> RequestedStorage(const json::object& claim_spec) {
  return QuantityAt(Part(Part(claim_spec, "resources"), "requests"), "storage");
}

}  // namespace

void ValidatePersistentVolume(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateAccessModes(spec, "spec", "", errors);
  if (Part(spec, "capacity").empty()) errors.push_back(Required("spec.capacity"));
  ValidateQuantities(spec, "capacity", "spec.capacity", true, errors);
  ValidateOneOf(spec, "persistentVolumeReclaimPolicy", "spec", {"Delete", "Recycle", "Retain"}, errors);
  ValidateOneOf(spec, "volumeMode", "spec", {"Block", "Filesystem"}, errors);
  if (const json::object* affinity = ObjectMember(spec, "nodeAffinity")) {
    const json::object* required = ObjectMember(*affinity, "required");
    if (required == nullptr) {
      errors.push_back(Required("spec.nodeAffinity.required", "must specify required node constraints"));
    } else {
      ValidateNodeSelector(*required, "spec.nodeAffinity.required", errors);
    }
  }
  int sources = 0;
  for (const auto& [name, value] : spec) {
    if (!IsVolumeSource(name, value)) continue;
    if (++sources > 1) {
      errors.push_back(Forbidden("spec." + std::string(name), "may not specify more than 1 volume type"));
    }
  }
  if (sources == 0) errors.push_back(Required("spec", "must specify a volume type"));
  if (ObjectMember(spec, "local") != nullptr && ObjectMember(spec, "nodeAffinity") == nullptr) {
    errors.push_back(Required("spec.nodeAffinity", "Local volume requires node affinity"));
  }
  if (old == nullptr) return;
  const json::object& old_spec = Part(*old, "spec");
  if (VolumeSourceOf(spec) != VolumeSourceOf(old_spec)) {
    errors.push_back(
        Forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"));
  }
  ValidateImmutable(spec, old_spec, "volumeMode", "volumeMode", errors);
  if (ObjectMember(old_spec, "nodeAffinity") != nullptr) {
    ValidateImmutable(spec, old_spec, "nodeAffinity", "nodeAffinity", errors);
  }
}

void ValidateClaimSpecOfVolume(const json::object& spec, const std::string& field, Errors& errors) {
  ValidateAccessModes(spec, field, "at least 1 access mode is required", errors);
  ValidateLabelSelector(Part(spec, "selector"), field + ".selector", errors);
  const std::optional<api::Quantity> storage = RequestedStorage(spec);
  if (!storage) {
    errors.push_back(Required(field + ".resources[storage]"));
  } else if (storage->IsZero() || storage->IsNegative()) {
    const json::value* shown = FindPath(spec, {"resources", "requests", "storage"});
    errors.push_back(Invalid(field + ".resources[storage]", *shown, "must be greater than zero"));
  }
  ValidateNameMember(spec, "storageClassName", field, api::NotDnsSubdomain, errors);
  ValidateOneOf(spec, "volumeMode", field, {"Block", "Filesystem"}, errors);
}

void ValidatePersistentVolumeClaim(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateClaimSpecOfVolume(spec, "spec", errors);
  if (old == nullptr) return;
  const json::object& old_spec = Part(*old, "spec");
  // The binder fills in the volume's name once; of a bound claim the size may be asked to grow.
  std::set<std::string_view> free_members;
  for (const char* member : {"volumeName", "storageClassName"}) {
    if (StringMember(old_spec, member).empty()) free_members.insert(member);
  }
  if (StringAt(object, {"status", "phase"}) == "Bound") free_members.insert({"resources", "volumeAttributesClassName"});
  if (DiffersBeyond(free_members, spec, old_spec)) {
    errors.push_back(
        Forbidden("spec",
                  "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                  "for bound claims"));
  }
  const std::optional<api::Quantity> size = RequestedStorage(spec);
  const std::optional<api::Quantity> old_size = RequestedStorage(old_spec);
  if (!size || !old_size || !(*size < *old_size)) return;
  const std::optional<api::Quantity> held = QuantityAt(Part(Part(*old, "status"), "capacity"), "storage");
  if (held && !(*held < *size)) {
    errors.push_back(Forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
  }
}

void ValidateStorageClass(const json::object& object, const json::object* old, Errors& errors) {
  const std::string provisioner(StringMember(object, "provisioner"));
  if (provisioner.empty()) {
    errors.push_back(Required("provisioner"));
  } else {
    AddInvalid(errors, "provisioner", provisioner, api::NotQualifiedName(LowerCase(provisioner)));
  }
  ValidateOneOf(object, "reclaimPolicy", "", {"Delete", "Retain"}, errors);
  ValidateOneOf(object, "volumeBindingMode", "", {"Immediate", "WaitForFirstConsumer"}, errors);
  if (old == nullptr) return;
  for (const char* member : {"provisioner", "reclaimPolicy", "volumeBindingMode"}) {
    ValidateImmutable(object, *old, member, member, errors);
  }
  if (ValueOrNull(object, "parameters") != ValueOrNull(*old, "parameters")) {
    errors.push_back(Forbidden("parameters", "updates to parameters are forbidden."));
  }
}

void ValidateCsiDriver(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateOneOf(spec, "fsGroupPolicy", "spec", {"File", "None", "ReadWriteOnceWithFSType"}, errors);
  if (const json::array* modes = ArrayMember(spec, "volumeLifecycleModes")) {
    for (const json::value& mode : *modes) {
      if (mode == json::value("Persistent") || mode == json::value("Ephemeral")) continue;
      errors.push_back(NotSupported("spec.volumeLifecycleModes", mode, {"Persistent", "Ephemeral"}));
    }
  }
  if (old == nullptr) return;
  ValidateImmutable(spec, Part(*old, "spec"), "attachRequired", "spec.attachedRequired", errors);
  ValidateImmutable(spec, Part(*old, "spec"), "volumeLifecycleModes", "spec.volumeLifecycleModes", errors);
}

void ValidateCsiNode(const json::object& object, const json::object*, Errors& errors) {
  std::set<std::string> names;
  ForEachIn(Part(object, "spec"), "drivers", "spec", [&](const json::object& driver, const std::string& path) {
    const std::string name(StringMember(driver, "name"));
    if (name.empty()) errors.push_back(Required(path + ".name"));
    if (StringMember(driver, "nodeID").empty()) errors.push_back(Required(path + ".nodeID"));
    ValidateNonNegative(Part(driver, "allocatable"), "count", path + ".allocatable", errors);
    if (!names.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
  });
}

void ValidateCsiStorageCapacity(const json::object& object, const json::object*, Errors& errors) {
  const std::string_view name = StringMember(object, "storageClassName");
  AddInvalid(errors, "storageClassName", name, api::NotDnsSubdomain(name));
  for (const char* member : {"capacity", "maximumVolumeSize"}) {
    if (const auto amount = QuantityAt(object, member); amount && amount->IsNegative()) {
      errors.push_back(Invalid(member, *FindMember(object, member), "must be greater than or equal to 0"));
    }
  }
}

void ValidateVolumeAttachment(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  if (StringMember(spec, "attacher").empty()) errors.push_back(Required("spec.attacher"));
  const json::object& source = Part(spec, "source");
  const bool by_name = FindMember(source, "persistentVolumeName") != nullptr;
  const bool is_inline = FindMember(source, "inlineVolumeSpec") != nullptr;
  if (by_name == is_inline) {
    errors.push_back(Required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"));
  }
  const std::string_view node = StringMember(spec, "nodeName");
  AddInvalid(errors, "spec.nodeName", node, api::NotDnsSubdomain(node));
  if (old != nullptr) ValidateImmutable(object, *old, "spec", "spec", errors);
}

}  // namespace berth::objects::internal
