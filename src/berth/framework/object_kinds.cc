#include "berth/framework/object_kinds.h"

#include <array>

#include "berth/api/decode.h"

namespace berth::framework {
namespace {

constexpr std::string_view kCore = "v1";
constexpr std::string_view kApps = "apps/v1";
constexpr std::string_view kStorage = "storage.k8s.io/v1";
constexpr std::string_view kPolicy = "policy/v1";
constexpr std::string_view kResource = "resource.k8s.io/v1";

using Decode = Expected<AnyObject> (*)(const simdjson::dom::element& object);

template <auto kDecode>
Expected<AnyObject> Erased(const simdjson::dom::element& object) {
  auto decoded = kDecode(object);
  if (!decoded.ok()) return decoded.error();
  return AnyObject(std::move(*decoded));
}

struct Entry {
  ObjectKind kind;
  ObjectKindInfo info;
  Decode decode;
};

// In the order of ObjectKind.
constexpr std::array<Entry, kObjectKindCount> kEntries = {{
    {ObjectKind::kPersistentVolume,
     {"PersistentVolume", kCore, "persistentvolumes"},
     Erased<api::DecodePersistentVolume>},
    {ObjectKind::kPersistentVolumeClaim,
     {"PersistentVolumeClaim", kCore, "persistentvolumeclaims"},
     Erased<api::DecodePersistentVolumeClaim>},
    {ObjectKind::kStorageClass, {"StorageClass", kStorage, "storageclasses"}, Erased<api::DecodeStorageClass>},
    {ObjectKind::kCsiNode, {"CSINode", kStorage, "csinodes"}, Erased<api::DecodeCsiNode>},
    {ObjectKind::kCsiDriver, {"CSIDriver", kStorage, "csidrivers"}, Erased<api::DecodeCsiDriver>},
    {ObjectKind::kCsiStorageCapacity,
     {"CSIStorageCapacity", kStorage, "csistoragecapacities"},
     Erased<api::DecodeCsiStorageCapacity>},
    {ObjectKind::kVolumeAttachment,
     {"VolumeAttachment", kStorage, "volumeattachments"},
     Erased<api::DecodeVolumeAttachment>},
    {ObjectKind::kPodDisruptionBudget,
     {"PodDisruptionBudget", kPolicy, "poddisruptionbudgets"},
     Erased<api::DecodePodDisruptionBudget>},
    {ObjectKind::kNamespace, {"Namespace", kCore, "namespaces"}, Erased<api::DecodeNamespace>},
    {ObjectKind::kService, {"Service", kCore, "services"}, Erased<api::DecodeService>},
    {ObjectKind::kReplicationController,
     {"ReplicationController", kCore, "replicationcontrollers"},
     Erased<api::DecodeReplicationController>},
    {ObjectKind::kReplicaSet, {"ReplicaSet", kApps, "replicasets"}, Erased<api::DecodeReplicaSet>},
    {ObjectKind::kStatefulSet, {"StatefulSet", kApps, "statefulsets"}, Erased<api::DecodeStatefulSet>},
    {ObjectKind::kResourceSlice, {"ResourceSlice", kResource, "resourceslices"}, Erased<api::DecodeResourceSlice>},
    {ObjectKind::kDeviceClass, {"DeviceClass", kResource, "deviceclasses"}, Erased<api::DecodeDeviceClass>},
    {ObjectKind::kResourceClaim, {"ResourceClaim", kResource, "resourceclaims"}, Erased<api::DecodeResourceClaim>},
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

std::string ListPath(ObjectKind kind) {
  const ObjectKindInfo& info = InfoOf(kind);
  const std::string_view root = info.group_version == kCore ? "/api/" : "/apis/";
  return std::string(root).append(info.group_version).append("/").append(info.resource);
}

Expected<AnyObject> DecodeObject(ObjectKind kind, const simdjson::dom::element& object) {
  return EntryOf(kind).decode(object);
}

std::string KeyOf(const AnyObject& object) {
  return std::visit(
      []<typename T>(const std::shared_ptr<const T>& value) {
        return ObjectStore<T>::Key(value->metadata.namespace_name, value->metadata.name);
      },
      object);
}

}  // namespace berth::framework
