// SPDX-License-Identifier: Apache-2.0
// The fields of PersistentVolume, PersistentVolumeClaim and storage.k8s.io/v1 that scheduling reads. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/pod.h"
#include "berth/api/selector.h"

namespace berth::api {

struct ClaimReference {
  std::string namespace_name;
  std::string name;
  std::string uid;
  bool operator==(const ClaimReference&) const = default;
};

struct PersistentVolumeSpec {
  ResourceList capacity;
  std::vector<std::string> access_modes;
  std::string storage_class_name;
  std::string volume_mode;  // empty counts as Filesystem
  std::optional<std::string> volume_attributes_class_name;
  // spec.nodeAffinity.required. nullopt: every node. Empty: no node.
  std::optional<std::vector<NodeSelectorTerm>> node_affinity;
  std::optional<ClaimReference> claim_ref;
  VolumeSource source;
  bool operator==(const PersistentVolumeSpec&) const = default;
};

struct PersistentVolume {
  ObjectMeta metadata;
  PersistentVolumeSpec spec;
  std::string phase;
  bool operator==(const PersistentVolume&) const = default;
};

struct PersistentVolumeClaim {
  ObjectMeta metadata;
  std::optional<std::string> storage_class_name;  // empty string: no class, static volumes only
  std::vector<std::string> access_modes;
  std::optional<LabelSelector> selector;
  ResourceList requests;
  std::string volume_name;
  std::string volume_mode;
  std::optional<std::string> volume_attributes_class_name;
  std::string phase;  // Pending, Bound, Lost
  bool operator==(const PersistentVolumeClaim&) const = default;
};

struct TopologySelectorRequirement {
  std::string key;
  std::vector<std::string> values;
  bool operator==(const TopologySelectorRequirement&) const = default;
};

struct StorageClass {
  ObjectMeta metadata;
  std::string provisioner;
  std::optional<std::string> volume_binding_mode;  // Immediate, WaitForFirstConsumer
  // Terms are alternatives; all requirements of one term must be met.
  std::vector<std::vector<TopologySelectorRequirement>> allowed_topologies;
  bool operator==(const StorageClass&) const = default;
};

struct CsiNodeDriver {
  std::string name;
  std::string node_id;
  std::vector<std::string> topology_keys;
  std::optional<std::int32_t> allocatable_count;
  bool operator==(const CsiNodeDriver&) const = default;
};

struct CsiNode {
  ObjectMeta metadata;
  std::vector<CsiNodeDriver> drivers;
  bool operator==(const CsiNode&) const = default;
};

struct CsiDriver {
  ObjectMeta metadata;
  std::optional<bool> storage_capacity;
  std::optional<bool> prevent_pod_scheduling_if_missing;
  bool operator==(const CsiDriver&) const = default;
};

struct CsiStorageCapacity {
  ObjectMeta metadata;
  std::optional<LabelSelector> node_topology;
  std::string storage_class_name;
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_volume_size;
  bool operator==(const CsiStorageCapacity&) const = default;
};

struct VolumeAttachment {
  ObjectMeta metadata;
  std::string attacher;
  std::string node_name;
  std::optional<std::string> persistent_volume_name;
  std::optional<PersistentVolumeSpec> inline_volume_spec;
  bool operator==(const VolumeAttachment&) const = default;
};

}  // namespace berth::api
