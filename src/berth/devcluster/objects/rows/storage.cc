// SPDX-License-Identifier: Apache-2.0
// Rows of volumes, of storage.k8s.io and of resource.k8s.io, as kube-apiserver prints them.
#include "berth/devcluster/objects/rows/storage.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/rows/cells.h"
#include "berth/devcluster/objects/rows/rows.h"

namespace berth::objects::internal {
namespace {

std::string AccessModes(const json::object& owner) {
  std::string text;
  const std::string modes = "," + JoinStrings(owner, "accessModes") + ",";
  for (const auto& [mode, brief] : {std::pair<const char*, const char*>{"ReadWriteOnce", "RWO"},
                                    {"ReadOnlyMany", "ROX"},
                                    {"ReadWriteMany", "RWX"},
                                    {"ReadWriteOncePod", "RWOP"}}) {
    if (modes.find("," + std::string(mode) + ",") != std::string::npos) Append(text, brief);
  }
  return text;
}

std::string_view VolumePhase(const json::object& object) {
  return IsBeingDeleted(object) ? "Terminating" : StringMember(StatusOf(object), "phase");
}

json::array VolumeRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  std::string claim;
  if (const json::object* reference = ObjectMember(spec, "claimRef")) {
    claim = std::string(StringMember(*reference, "namespace")) + "/" + std::string(StringMember(*reference, "name"));
  }
  return {Name(object),
          Text(Plain(FindMember(Part(spec, "capacity"), "storage"))),
          Text(AccessModes(spec)),
          Text(StringMember(spec, "persistentVolumeReclaimPolicy")),
          Text(VolumePhase(object)),
          Text(claim),
          Text(StringMember(spec, "storageClassName")),
          Text(Or(StringMember(spec, "volumeAttributesClassName"), kUnset)),
          Text(StringMember(StatusOf(object), "reason")),
          Age(object, now_seconds),
          Text(Or(StringMember(spec, "volumeMode"), kUnset))};
}

json::array ClaimRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  const bool is_bound = !StringMember(spec, "volumeName").empty();
  return {Name(object),
          Text(VolumePhase(object)),
          Text(StringMember(spec, "volumeName")),
          Text(is_bound ? Plain(FindMember(Part(StatusOf(object), "capacity"), "storage")) : std::string()),
          Text(is_bound ? AccessModes(StatusOf(object)) : std::string()),
          Text(StringMember(spec, "storageClassName")),
          Text(Or(StringMember(spec, "volumeAttributesClassName"), kUnset)),
          Age(object, now_seconds),
          Text(Or(StringMember(spec, "volumeMode"), kUnset))};
}

json::array StorageClassRow(const json::object& object, std::int64_t now_seconds) {
  std::string name(StringMember(Metadata(object), "name"));
  if (StringMember(Part(Metadata(object), "annotations"), "storageclass.kubernetes.io/is-default-class") == "true") {
    name += " (default)";
  }
  return {Text(name),
          Text(StringMember(object, "provisioner")),
          Text(StringMember(object, "reclaimPolicy")),
          Text(StringMember(object, "volumeBindingMode")),
          BoolMember(object, "allowVolumeExpansion"),
          Age(object, now_seconds)};
}

json::array CsiDriverRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  std::string audiences;
  for (const json::object* request : ObjectsOf(spec, "tokenRequests")) {
    Append(audiences, StringMember(*request, "audience"));
  }
  const std::string modes = JoinStrings(spec, "volumeLifecycleModes");
  return {Name(object),
          BoolMember(spec, "attachRequired", true),
          BoolMember(spec, "podInfoOnMount"),
          BoolMember(spec, "storageCapacity"),
          Text(ArrayMember(spec, "tokenRequests") == nullptr ? std::string(kUnset) : audiences),
          BoolMember(spec, "requiresRepublish"),
          Text(Or(modes, kNone)),
          Age(object, now_seconds)};
}

json::array ClaimStateRow(const json::object& object, std::int64_t now_seconds) {
  std::string state;
  if (IsBeingDeleted(object)) state = "deleted";
  if (ObjectMember(StatusOf(object), "allocation") != nullptr) {
    Append(state, "allocated");
    if (!ObjectsOf(StatusOf(object), "reservedFor").empty()) Append(state, "reserved");
  } else if (state.empty()) {
    state = "pending";
  }
  return {Name(object), Text(state), Age(object, now_seconds)};
}

}  // namespace

std::vector<KindPrinting> StoragePrintings() {
  return {
      {"PersistentVolume",
       {{NameColumn(), Column("Capacity", "string", "Size."),
         Column("Access Modes", "string", "How it may be mounted."),
         Column("Reclaim Policy", "string", "What becomes of it without its claim."),
         Column("Status", "string", "Phase."), Column("Claim", "string", "The claim it is bound to."),
         Column("StorageClass", "string", "Its class."),
         Column("VolumeAttributesClass", "string", "Its attributes' class."),
         Column("Reason", "string", "Why it is in this phase."), AgeColumn(),
         Column("VolumeMode", "string", "File system or block device.", 1)},
        VolumeRow}},
      {"PersistentVolumeClaim",
       {{NameColumn(), Column("Status", "string", "Phase."), Column("Volume", "string", "The volume it is bound to."),
         Column("Capacity", "string", "Size."), Column("Access Modes", "string", "How it may be mounted."),
         Column("StorageClass", "string", "Its class."),
         Column("VolumeAttributesClass", "string", "Its attributes' class."), AgeColumn(),
         Column("VolumeMode", "string", "File system or block device.", 1)},
        ClaimRow}},
      {"StorageClass",
       {{NameColumn(), Column("Provisioner", "string", "Who makes its volumes."),
         Column("ReclaimPolicy", "string", "What becomes of a volume without its claim."),
         Column("VolumeBindingMode", "string", "When claims are bound."),
         Column("AllowVolumeExpansion", "string", "Whether volumes may grow."), AgeColumn()},
        StorageClassRow}},
      {"CSINode",
       {{NameColumn(), Column("Drivers", "integer", "Number of drivers on the node."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), static_cast<std::int64_t>(ObjectsOf(Spec(object), "drivers").size()), Age(object, now)};
        }}},
      {"CSIDriver",
       {{NameColumn(), Column("AttachRequired", "boolean", "Whether volumes are attached first."),
         Column("PodInfoOnMount", "boolean", "Whether the driver learns of the pod."),
         Column("StorageCapacity", "boolean", "Whether capacity is considered."),
         Column("TokenRequests", "string", "Audiences of tokens."),
         Column("RequiresRepublish", "boolean", "Whether volumes are published again and again."),
         Column("Modes", "string", "Lifecycle modes."), AgeColumn()},
        CsiDriverRow}},
      {"CSIStorageCapacity",
       {{NameColumn(), Column("Created At", "date", "When it was created.")},
        [](const json::object& object, std::int64_t) -> json::array {
          return {Name(object), Text(StringMember(Metadata(object), "creationTimestamp"))};
        }}},
      {"VolumeAttachment",
       {{NameColumn(), Column("Attacher", "string", "The driver."), Column("PV", "string", "The volume."),
         Column("Node", "string", "The node."), Column("Attached", "boolean", "Whether it is attached."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          const json::object& spec = Spec(object);
          return {Name(object),
                  Text(StringMember(spec, "attacher")),
                  Text(StringMember(Part(spec, "source"), "persistentVolumeName")),
                  Text(StringMember(spec, "nodeName")),
                  BoolMember(StatusOf(object), "attached"),
                  Age(object, now)};
        }}},
      {"ResourceClaim",
       {{NameColumn(), Column("State", "string", "Whether devices are allocated and reserved."), AgeColumn()},
        ClaimStateRow}},
      {"ResourceSlice",
       {{NameColumn(), Column("Node", "string", "The node the devices are at."),
         Column("Driver", "string", "Their driver."), Column("Pool", "string", "Their pool."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          const json::object& spec = Spec(object);
          return {Name(object), Text(StringMember(spec, "nodeName")), Text(StringMember(spec, "driver")),
                  Text(StringMember(Part(spec, "pool"), "name")), Age(object, now)};
        }}}};
}

}  // namespace berth::objects::internal
