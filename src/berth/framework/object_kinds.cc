// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/object_kinds.h"

#include <array>
#include <variant>

#include "berth/api/decode.h"

namespace berth::framework {
namespace {

constexpr std::string_view kCore = "v1";
constexpr std::string_view kApps = "apps/v1";
constexpr std::string_view kStorage = "storage.k8s.io/v1";
constexpr std::string_view kPolicy = "policy/v1";
constexpr std::string_view kResource = "resource.k8s.io/v1";
constexpr std::string_view kScheduling = "scheduling.k8s.io/v1beta1";
constexpr std::string_view kSchedulingAlpha = "scheduling.k8s.io/v1alpha3";

using Decode = Expected<AnyObject> (*)(const simdjson::dom::element& object);
using DecodeProtobuf = Expected<AnyObject> (*)(std::string_view message);

template <auto kDecode, typename From>
Expected<AnyObject> Erased(From object) {
  auto decoded = kDecode(object);
  if (!decoded.ok()) return decoded.error();
  return AnyObject(std::move(*decoded));
}

struct Entry {
  ObjectKind kind;
  ObjectKindInfo info;
  Decode decode;
  DecodeProtobuf decode_protobuf;
};

// In the order of ObjectKind.
constexpr std::array<Entry, kObjectKindCount> kEntries = {{
    {ObjectKind::kPersistentVolume,
     {"PersistentVolume", kCore, "persistentvolumes"},
     Erased<api::DecodePersistentVolume>,
     Erased<api::DecodePersistentVolumeProtobuf>},
    {ObjectKind::kPersistentVolumeClaim,
     {"PersistentVolumeClaim", kCore, "persistentvolumeclaims"},
     Erased<api::DecodePersistentVolumeClaim>,
     Erased<api::DecodePersistentVolumeClaimProtobuf>},
    {ObjectKind::kStorageClass,
     {"StorageClass", kStorage, "storageclasses"},
     Erased<api::DecodeStorageClass>,
     Erased<api::DecodeStorageClassProtobuf>},
    {ObjectKind::kCsiNode,
     {"CSINode", kStorage, "csinodes"},
     Erased<api::DecodeCsiNode>,
     Erased<api::DecodeCsiNodeProtobuf>},
    {ObjectKind::kCsiDriver,
     {"CSIDriver", kStorage, "csidrivers"},
     Erased<api::DecodeCsiDriver>,
     Erased<api::DecodeCsiDriverProtobuf>},
    {ObjectKind::kCsiStorageCapacity,
     {"CSIStorageCapacity", kStorage, "csistoragecapacities"},
     Erased<api::DecodeCsiStorageCapacity>,
     Erased<api::DecodeCsiStorageCapacityProtobuf>},
    {ObjectKind::kVolumeAttachment,
     {"VolumeAttachment", kStorage, "volumeattachments"},
     Erased<api::DecodeVolumeAttachment>,
     Erased<api::DecodeVolumeAttachmentProtobuf>},
    {ObjectKind::kPodDisruptionBudget,
     {"PodDisruptionBudget", kPolicy, "poddisruptionbudgets"},
     Erased<api::DecodePodDisruptionBudget>,
     Erased<api::DecodePodDisruptionBudgetProtobuf>},
    {ObjectKind::kNamespace,
     {"Namespace", kCore, "namespaces"},
     Erased<api::DecodeNamespace>,
     Erased<api::DecodeNamespaceProtobuf>},
    {ObjectKind::kService,
     {"Service", kCore, "services"},
     Erased<api::DecodeService>,
     Erased<api::DecodeServiceProtobuf>},
    {ObjectKind::kReplicationController,
     {"ReplicationController", kCore, "replicationcontrollers"},
     Erased<api::DecodeReplicationController>,
     Erased<api::DecodeReplicationControllerProtobuf>},
    {ObjectKind::kReplicaSet,
     {"ReplicaSet", kApps, "replicasets"},
     Erased<api::DecodeReplicaSet>,
     Erased<api::DecodeReplicaSetProtobuf>},
    {ObjectKind::kStatefulSet,
     {"StatefulSet", kApps, "statefulsets"},
     Erased<api::DecodeStatefulSet>,
     Erased<api::DecodeStatefulSetProtobuf>},
    {ObjectKind::kResourceSlice,
     {"ResourceSlice", kResource, "resourceslices"},
     Erased<api::DecodeResourceSlice>,
     Erased<api::DecodeResourceSliceProtobuf>},
    {ObjectKind::kDeviceClass,
     {"DeviceClass", kResource, "deviceclasses"},
     Erased<api::DecodeDeviceClass>,
     Erased<api::DecodeDeviceClassProtobuf>},
    {ObjectKind::kResourceClaim,
     {"ResourceClaim", kResource, "resourceclaims"},
     Erased<api::DecodeResourceClaim>,
     Erased<api::DecodeResourceClaimProtobuf>},
    {ObjectKind::kPodGroup,
     {"PodGroup", kScheduling, "podgroups"},
     Erased<api::DecodePodGroup>,
     Erased<api::DecodePodGroupProtobuf>},
    {ObjectKind::kCompositePodGroup,
     {"CompositePodGroup", kScheduling, "compositepodgroups"},
     Erased<api::DecodeCompositePodGroup>,
     Erased<api::DecodeCompositePodGroupProtobuf>},
    {ObjectKind::kDeviceTaintRule,
     {"DeviceTaintRule", kResource, "devicetaintrules"},
     Erased<api::DecodeDeviceTaintRule>,
     Erased<api::DecodeDeviceTaintRuleProtobuf>},
}};

constexpr bool IsInOrder() {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (static_cast<std::size_t>(kEntries[i].kind) != i) return false;
  }
  return true;
}
static_assert(IsInOrder());

const Entry& EntryOf(ObjectKind kind) { return kEntries.at(static_cast<std::size_t>(kind)); }

}  // namespace

const ObjectKindInfo& InfoOf(ObjectKind kind) { return EntryOf(kind).info; }

std::optional<ObjectKind> ObjectKindNamed(std::string_view name) {
  for (std::size_t i = 0; i < kObjectKindCount; ++i) {
    const auto kind = static_cast<ObjectKind>(i);
    if (InfoOf(kind).name == name) return kind;
  }
  return std::nullopt;
}

std::string ListPath(ObjectKind kind, int release_minor) {
  const ObjectKindInfo& info = InfoOf(kind);
  const std::string_view root = info.group_version == kCore ? "/api/" : "/apis/";
  // The API versions of a kind have the same fields, as far as they are read.
  std::string_view group_version = info.group_version;
  if (kind == ObjectKind::kDeviceTaintRule && release_minor < 37)
    group_version = release_minor < 36 ? "resource.k8s.io/v1alpha3" : "resource.k8s.io/v1beta2";
  if (kind == ObjectKind::kCompositePodGroup && release_minor < 38) group_version = kSchedulingAlpha;
  return std::string(root).append(group_version).append("/").append(info.resource);
}

bool IsServedByAll(ObjectKind kind) {
  return kind != ObjectKind::kDeviceTaintRule && kind != ObjectKind::kPodGroup &&
         kind != ObjectKind::kCompositePodGroup;
}

Expected<AnyObject> DecodeObject(ObjectKind kind, const simdjson::dom::element& object) {
  return EntryOf(kind).decode(object);
}

Expected<AnyObject> DecodeObjectProtobuf(ObjectKind kind, std::string_view message) {
  return EntryOf(kind).decode_protobuf(message);
}

bool IsNull(const AnyObject& object) {
  return std::visit([](const auto& pointer) { return pointer == nullptr; }, object);
}

std::string KeyOf(const AnyObject& object) {
  return std::visit(
      []<typename T>(const std::shared_ptr<const T>& value) {
        return ObjectStore<T>::Key(value->metadata.namespace_name, value->metadata.name);
      },
      object);
}

std::string KeyOf(std::string_view namespace_name, std::string_view name) {
  return ObjectStore<api::Namespace>::Key(namespace_name, name);
}

}  // namespace berth::framework
