// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/cluster_event.h"

#include <array>
#include <utility>

namespace berth::framework {

bool ClusterEvent::Matches(const ClusterEvent& registered, const ClusterEvent& incoming) {
  if (registered.IsWildcard()) return true;
  const bool same_resource =
      registered.resource == incoming.resource || registered.resource == EventResource::kWildcard ||
      (registered.resource == EventResource::kUnschedulablePod && incoming.resource == EventResource::kTargetPod) ||
      (registered.resource == EventResource::kPod &&
       (incoming.resource == EventResource::kAssignedPod || incoming.resource == EventResource::kUnschedulablePod ||
        incoming.resource == EventResource::kTargetPod));
  return same_resource && (registered.actions & incoming.actions) != 0 && incoming.actions <= registered.actions;
}

std::string ClusterEvent::Label(bool names_target_pod_events) const {
  static constexpr std::array<std::string_view, 24> kResources = {"Pod",
                                                                  "AssignedPod",
                                                                  "UnscheduledPod",
                                                                  "TargetPod",
                                                                  "Node",
                                                                  "PersistentVolume",
                                                                  "PersistentVolumeClaim",
                                                                  "storage.k8s.io/StorageClass",
                                                                  "storage.k8s.io/CSINode",
                                                                  "storage.k8s.io/CSIDriver",
                                                                  "storage.k8s.io/CSIStorageCapacity",
                                                                  "storage.k8s.io/VolumeAttachment",
                                                                  "resource.k8s.io/ResourceClaim",
                                                                  "resource.k8s.io/ResourceSlice",
                                                                  "resource.k8s.io/DeviceClass",
                                                                  "scheduling.k8s.io/PodGroup",
                                                                  "scheduling.k8s.io/CompositePodGroup",
                                                                  "Namespace",
                                                                  "Service",
                                                                  "ReplicationController",
                                                                  "apps/ReplicaSet",
                                                                  "apps/StatefulSet",
                                                                  "OutsideData",
                                                                  "*"};
  static constexpr std::array<std::pair<ActionType, std::string_view>, 16> kActions = {
      {{action::kAdd, "Add"},
       {action::kDelete, "Delete"},
       {action::kUpdateNodeAllocatable, "UpdateNodeAllocatable"},
       {action::kUpdateNodeLabel, "UpdateNodeLabel"},
       {action::kUpdateNodeTaint, "UpdateNodeTaint"},
       {action::kUpdateNodeCondition, "UpdateNodeCondition"},
       {action::kUpdateNodeAnnotation, "UpdateNodeAnnotation"},
       {action::kUpdateNodeDeclaredFeature, "UpdateNodeDeclaredFeature"},
       {action::kUpdatePodLabel, "UpdatePodLabel"},
       {action::kUpdatePodScaleDown, "UpdatePodScaleDown"},
       {action::kUpdatePodToleration, "UpdatePodToleration"},
       {action::kUpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated"},
       {action::kUpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim"},
       {action::kUpdatePodDeletion, "UpdatePodDeletion"},
       {action::kUpdate, "Update"},
       {action::kAll, "All"}}};
  const bool is_of_waiting_pod = resource == EventResource::kUnschedulablePod || resource == EventResource::kTargetPod;
  std::string label(is_of_waiting_pod && !names_target_pod_events ? "UnschedulablePod"
                                                                  : kResources[static_cast<std::size_t>(resource)]);
  for (const auto& [bits, name] : kActions) {
    if (actions == bits) return label.append(name);
  }
  for (const auto& [bits, name] : kActions) {
    if (bits != action::kUpdate && bits != action::kAll && (actions & bits) != 0) label.append(name);
  }
  return label;
}

}  // namespace berth::framework
