// SPDX-License-Identifier: Apache-2.0
// Volumes of all kinds of objects, and the storage kinds. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/pod.h"
#include "berth/api/storage.h"

namespace berth::api::internal {

// --- Sources of volumes ----------------------------------------------------------------------------------------------

// A source of this kind, stored as a VolumeSource.
template <VolumeKind kVolumeKind>
struct SourceOf;
template <VolumeKind kVolumeKind>
inline constexpr auto kBefore<SourceOf<kVolumeKind>> = [](VolumeSource& out) {
  out = VolumeSource();
  out.kind = kVolumeKind;
};

template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kPersistentVolumeClaim>> = Fields{
    Field{"claimName", 1, &VolumeSource::id},
    Field{"readOnly", 2, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kEphemeral>> = Fields{};
// The source in a pod; a PersistentVolume's CSI source has a table of its own.
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kCsi>> = Fields{
    Field{"driver", 1, &VolumeSource::driver},
    Field{"readOnly", 2, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kLocal>> = Fields{Field{"path", 1, &VolumeSource::id}};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kGcePersistentDisk>> = Fields{
    Field{"pdName", 1, &VolumeSource::id},
    Field{"readOnly", 4, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kAwsElasticBlockStore>> = Fields{
    Field{"volumeID", 1, &VolumeSource::id},
    Field{"readOnly", 4, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kIscsi>> = Fields{
    Field{"iqn", 2, &VolumeSource::id},
    Field{"readOnly", 6, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kRbd>> = Fields{
    Field{"monitors", 1, &VolumeSource::monitors},
    Field{"image", 2, &VolumeSource::id},
    Field{"pool", 4, &VolumeSource::pool},
    Field{"readOnly", 8, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kAzureDisk>> = Fields{
    Field{"diskURI", 2, &VolumeSource::id},
    Field{"readOnly", 5, &VolumeSource::read_only},
    Field{"kind", 6, &VolumeSource::disk_kind},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kCinder>> = Fields{
    Field{"volumeID", 1, &VolumeSource::id},
    Field{"readOnly", 3, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kPortworx>> = Fields{
    Field{"volumeID", 1, &VolumeSource::id},
    Field{"readOnly", 3, &VolumeSource::read_only},
};
template <>
inline constexpr auto kFields<SourceOf<VolumeKind::kVsphere>> = Fields{Field{"volumePath", 1, &VolumeSource::id}};

struct AzureFileParts {
  std::string_view secret_name;
  std::string_view share_name;
  bool read_only = false;
};
template <>
inline constexpr auto kFields<AzureFileParts> = Fields{
    Field{"secretName", 1, &AzureFileParts::secret_name},
    Field{"shareName", 2, &AzureFileParts::share_name},
    Field{"readOnly", 3, &AzureFileParts::read_only},
};
inline void MakeAzureFile(VolumeSource& out, AzureFileParts&& parts) {
  out = VolumeSource();
  out.kind = VolumeKind::kAzureFile;
  out.id.append(parts.secret_name).append("#").append(parts.share_name);
  out.read_only = parts.read_only;
}
template <>
inline constexpr auto kMake<SourceOf<VolumeKind::kAzureFile>> = &MakeAzureFile;

struct CsiPersistentVolumeSource;
template <>
inline constexpr auto kBefore<CsiPersistentVolumeSource> = kBefore<SourceOf<VolumeKind::kCsi>>;
template <>
inline constexpr auto kFields<CsiPersistentVolumeSource> = Fields{
    Field{"driver", 1, &VolumeSource::driver},
    Field{"volumeHandle", 2, &VolumeSource::id},
    Field{"readOnly", 3, &VolumeSource::read_only},
};

// --- Persistent volumes and claims -----------------------------------------------------------------------------------

template <>
inline constexpr auto kFields<ClaimReference> = Fields{
    Field{"namespace", 2, &ClaimReference::namespace_name},
    Field{"name", 3, &ClaimReference::name},
    Field{"uid", 4, &ClaimReference::uid},
};

template <VolumeKind kVolumeKind>
inline constexpr auto kPersistentSource = As<SourceOf<kVolumeKind>>(&PersistentVolumeSpec::source);
template <>
inline constexpr auto kFields<PersistentVolumeSpec> = Fields{
    Field{"capacity", 1, &PersistentVolumeSpec::capacity},
    Inlined{2,
            Fields{
                Field{"gcePersistentDisk", 1, kPersistentSource<VolumeKind::kGcePersistentDisk>},
                Field{"awsElasticBlockStore", 2, kPersistentSource<VolumeKind::kAwsElasticBlockStore>},
                Field{"rbd", 6, kPersistentSource<VolumeKind::kRbd>},
                Field{"iscsi", 7, kPersistentSource<VolumeKind::kIscsi>},
                Field{"cinder", 8, kPersistentSource<VolumeKind::kCinder>},
                Field{"azureFile", 13, kPersistentSource<VolumeKind::kAzureFile>},
                Field{"vsphereVolume", 14, kPersistentSource<VolumeKind::kVsphere>},
                Field{"azureDisk", 16, kPersistentSource<VolumeKind::kAzureDisk>},
                Field{"portworxVolume", 18, kPersistentSource<VolumeKind::kPortworx>},
                Field{"local", 20, kPersistentSource<VolumeKind::kLocal>},
                Field{"csi", 22, As<CsiPersistentVolumeSource>(&PersistentVolumeSpec::source)},
            }},
    Field{"accessModes", 3, &PersistentVolumeSpec::access_modes},
    Field{"claimRef", 4, &PersistentVolumeSpec::claim_ref},
    Field{"storageClassName", 6, &PersistentVolumeSpec::storage_class_name},
    Field{"volumeMode", 8, &PersistentVolumeSpec::volume_mode},
    Field{"nodeAffinity", 9, Fields{Field{"required", 1, As<NodeSelector>(&PersistentVolumeSpec::node_affinity)}}},
    Field{"volumeAttributesClassName", 10, &PersistentVolumeSpec::volume_attributes_class_name},
};

template <>
inline constexpr std::string_view kKind<PersistentVolume> = "PersistentVolume";
template <>
inline constexpr auto kFields<PersistentVolume> = Fields{
    Field{"metadata", 1, &PersistentVolume::metadata},
    Field{"spec", 2, &PersistentVolume::spec},
    Field{"status", 3, Fields{Field{"phase", 1, &PersistentVolume::phase}}},
};

template <>
inline constexpr std::string_view kKind<PersistentVolumeClaim> = "PersistentVolumeClaim";
template <>
inline constexpr auto kFields<PersistentVolumeClaim> = Fields{
    Field{"metadata", 1, &PersistentVolumeClaim::metadata},
    Field{"spec", 2,
          Fields{
              Field{"accessModes", 1, &PersistentVolumeClaim::access_modes},
              Field{"resources", 2, As<ResourceRequirements>(&PersistentVolumeClaim::requests)},
              Field{"volumeName", 3, &PersistentVolumeClaim::volume_name},
              Field{"selector", 4, &PersistentVolumeClaim::selector},
              Field{"storageClassName", 5, &PersistentVolumeClaim::storage_class_name},
              Field{"volumeMode", 6, &PersistentVolumeClaim::volume_mode},
              Field{"volumeAttributesClassName", 9, &PersistentVolumeClaim::volume_attributes_class_name},
          }},
    Field{"status", 3, Fields{Field{"phase", 1, &PersistentVolumeClaim::phase}}},
};

// --- storage.k8s.io/v1 -----------------------------------------------------------------------------------------------

template <>
inline constexpr auto kFields<TopologySelectorRequirement> = Fields{
    Field{"key", 1, &TopologySelectorRequirement::key},
    Field{"values", 2, &TopologySelectorRequirement::values},
};
// Stored as its requirements.
struct TopologySelectorTerm;
template <>
inline constexpr auto kFields<TopologySelectorTerm> = Fields{Field{"matchLabelExpressions", 1, Self{}}};

template <>
inline constexpr std::string_view kKind<StorageClass> = "StorageClass";
template <>
inline constexpr auto kFields<StorageClass> = Fields{
    Field{"metadata", 1, &StorageClass::metadata},
    Field{"provisioner", 2, &StorageClass::provisioner},
    Field{"volumeBindingMode", 7, &StorageClass::volume_binding_mode},
    Field{"allowedTopologies", 8, ListOf<TopologySelectorTerm>(&StorageClass::allowed_topologies)},
};

template <>
inline constexpr auto kFields<CsiNodeDriver> = Fields{
    Field{"name", 1, &CsiNodeDriver::name},
    Field{"nodeID", 2, &CsiNodeDriver::node_id},
    Field{"topologyKeys", 3, &CsiNodeDriver::topology_keys},
    Field{"allocatable", 4, Fields{Field{"count", 1, &CsiNodeDriver::allocatable_count}}},
};
template <>
inline constexpr std::string_view kKind<CsiNode> = "CSINode";
template <>
inline constexpr auto kFields<CsiNode> = Fields{
    Field{"metadata", 1, &CsiNode::metadata},
    Field{"spec", 2, Fields{Field{"drivers", 1, &CsiNode::drivers}}},
};

template <>
inline constexpr std::string_view kKind<CsiDriver> = "CSIDriver";
template <>
inline constexpr auto kFields<CsiDriver> = Fields{
    Field{"metadata", 1, &CsiDriver::metadata},
    Field{"spec", 2,
          Fields{
              Field{"storageCapacity", 4, &CsiDriver::storage_capacity},
              Field{"preventPodSchedulingIfMissing", 11, &CsiDriver::prevent_pod_scheduling_if_missing},
          }},
};

template <>
inline constexpr std::string_view kKind<CsiStorageCapacity> = "CSIStorageCapacity";
template <>
inline constexpr auto kFields<CsiStorageCapacity> = Fields{
    Field{"metadata", 1, &CsiStorageCapacity::metadata},
    Field{"nodeTopology", 2, &CsiStorageCapacity::node_topology},
    Field{"storageClassName", 3, &CsiStorageCapacity::storage_class_name},
    Field{"capacity", 4, &CsiStorageCapacity::capacity},
    Field{"maximumVolumeSize", 5, &CsiStorageCapacity::maximum_volume_size},
};

template <>
inline constexpr std::string_view kKind<VolumeAttachment> = "VolumeAttachment";
template <>
inline constexpr auto kFields<VolumeAttachment> = Fields{
    Field{"metadata", 1, &VolumeAttachment::metadata},
    Field{"spec", 2,
          Fields{
              Field{"attacher", 1, &VolumeAttachment::attacher},
              Field{"source", 2,
                    Fields{
                        Field{"persistentVolumeName", 1, &VolumeAttachment::persistent_volume_name},
                        Field{"inlineVolumeSpec", 2, &VolumeAttachment::inline_volume_spec},
                    }},
              Field{"nodeName", 3, &VolumeAttachment::node_name},
          }},
};

}  // namespace berth::api::internal
