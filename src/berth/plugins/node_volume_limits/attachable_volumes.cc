// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_volume_limits/attachable_volumes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/plugins/helper/csi_migration.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/storage_class.h"

namespace berth::plugins {
namespace {

using api::VolumeKind;

struct DriverAndHandle {
  std::string driver;
  std::string handle;
};

bool HasClaim(const api::Volume& volume) {
  return volume.source.kind == VolumeKind::kPersistentVolumeClaim || volume.source.kind == VolumeKind::kEphemeral;
}

bool IsMigrated(std::string_view plugin, const api::CsiNode* csi_node) {
  return csi_node != nullptr && IsMigrationOn(plugin);
}

// A claim without volume counts as one of its class's provisioner. Without class or provisioner it is bound before it
// is scheduled, and counts then.
std::optional<DriverAndHandle> FromClass(const Objects& objects, const api::PersistentVolumeClaim& claim,
                                         const api::CsiNode* csi_node) {
  const std::string& class_name = ClassOf(claim);
  if (class_name.empty()) return std::nullopt;
  const api::StorageClass* storage_class = objects.Of<api::StorageClass>().Find(class_name);
  if (storage_class == nullptr) return std::nullopt;
  // No driver has a handle that begins like this. Upstream takes a random prefix to that end.
  std::string handle = "\x01-" + claim.metadata.namespace_name + "/" + claim.metadata.name;
  const std::string& provisioner = storage_class->provisioner;
  const std::string_view driver = CsiDriverFor(provisioner);
  if (driver.empty()) return DriverAndHandle{provisioner, std::move(handle)};
  if (!IsMigrated(provisioner, csi_node)) return std::nullopt;
  return DriverAndHandle{std::string(driver), std::move(handle)};
}

std::optional<DriverAndHandle> FromClaim(const Objects& objects, const api::PersistentVolumeClaim& claim,
                                         const api::CsiNode* csi_node) {
  if (claim.volume_name.empty()) return FromClass(objects, claim, csi_node);
  const api::PersistentVolume* volume = objects.Of<api::PersistentVolume>().Find(claim.volume_name);
  // The volume is gone, or has not been made yet.
  if (volume == nullptr) return FromClass(objects, claim, csi_node);
  const api::VolumeSource& source = volume->spec.source;
  if (source.kind == VolumeKind::kCsi) return DriverAndHandle{source.driver, source.id};
  const std::string_view plugin = InTreePluginOf(source.kind);
  if (!IsMigrated(plugin, csi_node)) return std::nullopt;
  auto handle = TranslatedHandle(*volume);
  if (!handle.ok()) return std::nullopt;
  return DriverAndHandle{std::string(CsiDriverFor(plugin)), std::move(*handle)};
}

Status AddInline(const api::Volume& volume, const api::CsiNode* csi_node, AttachableVolumes& volumes) {
  const std::string_view plugin = InTreePluginOf(volume.source.kind);
  if (!IsMigrated(plugin, csi_node)) return {};
  const auto handle = TranslatedHandle(volume.source);
  if (!handle.ok()) {
    return Status::Error("converting volume(" + volume.name + ") from inline to csi: " + handle.error().message);
  }
  const std::string driver(CsiDriverFor(plugin));
  volumes[UniqueVolumeName(driver, *handle)] = driver;
  return {};
}

bool IsOwnedBy(const api::PersistentVolumeClaim& claim, const PodInfo& pod) {
  return claim.metadata.controller && claim.metadata.controller->uid == pod.uid;
}

}  // namespace

std::string UniqueVolumeName(const std::string& driver, const std::string& handle) { return driver + "/" + handle; }

bool MayBeAttachable(const api::Volume& volume) {
  return HasClaim(volume) || !InTreePluginOf(volume.source.kind).empty();
}

std::int32_t CountMayBeAttachable(const framework::PodClass& pod_class) {
  const auto& volumes = pod_class.spec.volumes;
  return static_cast<std::int32_t>(std::count_if(volumes.begin(), volumes.end(), MayBeAttachable));
}

bool MayFailToCount(const framework::PodClass& pod_class) {
  const auto& volumes = pod_class.spec.volumes;
  return std::any_of(volumes.begin(), volumes.end(), [](const api::Volume& volume) {
    switch (volume.source.kind) {
      case VolumeKind::kEphemeral: return true;
      case VolumeKind::kPersistentVolumeClaim: return volume.source.id.empty();
      default: return IsMigrationOn(InTreePluginOf(volume.source.kind)) && !TranslatedHandle(volume.source).ok();
    }
  });
}

std::string ClaimNameOf(const PodInfo& pod, const api::Volume& volume) {
  if (volume.source.kind == VolumeKind::kPersistentVolumeClaim) return volume.source.id;
  return volume.source.kind == VolumeKind::kEphemeral ? pod.name + "-" + volume.name : std::string();
}

Status AddAttachableVolumes(const Objects& objects, const PodInfo& pod, const api::CsiNode* csi_node, bool is_new,
                            AttachableVolumes& volumes) {
  for (const api::Volume& volume : pod.spec().volumes) {
    if (!HasClaim(volume)) {
      if (Status status = AddInline(volume, csi_node, volumes); !status.IsSuccess()) return status;
      continue;
    }
    const std::string name = ClaimNameOf(pod, volume);
    if (name.empty()) return Status::Error("PersistentVolumeClaim had no name");
    const auto* claim = objects.Of<api::PersistentVolumeClaim>().Find(pod.namespace_name(), name);
    if (claim == nullptr) {
      if (!is_new) continue;
      return Status::UnschedulableAndUnresolvable("looking up PVC " + pod.namespace_name() + "/" + name +
                                                  ": persistentvolumeclaim \"" + name + "\" not found");
    }
    if (volume.source.kind == VolumeKind::kEphemeral && !IsOwnedBy(*claim, pod)) {
      return Status::Error("PVC " + pod.namespace_name() + "/" + name + " was not created for pod " + pod.Key() +
                           " (pod is not owner)");
    }
    const auto found = FromClaim(objects, *claim, csi_node);
    if (!found || found->driver.empty() || found->handle.empty()) continue;
    volumes[UniqueVolumeName(found->driver, found->handle)] = found->driver;
  }
  return {};
}

}  // namespace berth::plugins
