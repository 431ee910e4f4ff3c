// SPDX-License-Identifier: Apache-2.0
// ClusterEvent: a change in the cluster that may help a pod in the queue. Values; hints are called within turns only.
// Names and matching are upstream's (k8s.io/kube-scheduler/framework).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "berth/framework/node_info.h"
#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"

namespace berth::framework {

enum class EventResource : std::uint8_t {
  kPod,  // for registrations: matches the next three
  kAssignedPod,
  kUnschedulablePod,  // a pod without a node; a registration also matches kTargetPod
  kTargetPod,         // the waiting pod itself was updated
  kNode,
  kPersistentVolume,
  kPersistentVolumeClaim,
  kStorageClass,
  kCsiNode,
  kCsiDriver,
  kCsiStorageCapacity,
  kVolumeAttachment,
  kResourceClaim,
  kResourceSlice,
  kDeviceClass,
  kPodGroup,
  kCompositePodGroup,
  // Upstream's queue gets no events for the following resources.
  kNamespace,
  kService,
  kReplicationController,
  kReplicaSet,
  kStatefulSet,
  kOutsideData,  // specific to berth, see outside_data.h
  kWildcard,
};

using ActionType = std::uint32_t;
namespace action {
inline constexpr ActionType kAdd = 1 << 0;
inline constexpr ActionType kDelete = 1 << 1;
inline constexpr ActionType kUpdateNodeAllocatable = 1 << 2;
inline constexpr ActionType kUpdateNodeLabel = 1 << 3;
inline constexpr ActionType kUpdateNodeTaint = 1 << 4;
inline constexpr ActionType kUpdateNodeCondition = 1 << 5;
inline constexpr ActionType kUpdateNodeAnnotation = 1 << 6;
inline constexpr ActionType kUpdateNodeDeclaredFeature = 1 << 7;
inline constexpr ActionType kUpdatePodLabel = 1 << 8;
inline constexpr ActionType kUpdatePodScaleDown = 1 << 9;
inline constexpr ActionType kUpdatePodToleration = 1 << 10;
inline constexpr ActionType kUpdatePodSchedulingGatesEliminated = 1 << 11;
inline constexpr ActionType kUpdatePodGeneratedResourceClaim = 1 << 12;
// The deletion of a pod on a node has begun. Upstream has no such event.
inline constexpr ActionType kUpdatePodDeletion = 1 << 13;
inline constexpr ActionType kUpdate = ((1 << 14) - 1) & ~(kAdd | kDelete);
inline constexpr ActionType kAll = (1 << 14) - 1;
}  // namespace action

struct ClusterEvent {
  EventResource resource = EventResource::kWildcard;
  ActionType actions = action::kAll;
  bool operator==(const ClusterEvent&) const = default;

  bool IsWildcard() const { return resource == EventResource::kWildcard && actions == action::kAll; }
  // Whether a plugin that registered `registered` gets `incoming`. Same as upstream's MatchClusterEvents, including its
  // integer comparison of action bits.
  static bool Matches(const ClusterEvent& registered, const ClusterEvent& incoming);
  // The name in metrics and logs: "AssignedPodDelete", "NodeUpdateNodeTaint". `names_target_pod_events`: see Release.
  std::string Label(bool names_target_pod_events) const;
};

// The objects of an event; those that do not apply are null.
struct EventObjects {
  const PodInfo* old_pod = nullptr;
  const PodInfo* new_pod = nullptr;
  const api::Node* old_node = nullptr;
  const api::Node* new_node = nullptr;
  const AnyObject* old_object = nullptr;
  const AnyObject* new_object = nullptr;
  std::string_view outside_plugin{};            // for kOutsideData: the plugin whose data changed
  std::span<const PodInfoPtr> old_node_pods{};  // for the deletion of a node: its pods

  // The object before or after the event; null when it is of another kind or missing.
  template <typename T>
  const T* Old() const {
    return As<T>(old_object);
  }
  template <typename T>
  const T* New() const {
    return As<T>(new_object);
  }

 private:
  template <typename T>
  static const T* As(const AnyObject* object) {
    const auto* value = object == nullptr ? nullptr : std::get_if<std::shared_ptr<const T>>(object);
    return value == nullptr ? nullptr : value->get();
  }
};

enum class QueueingHint : std::uint8_t { kSkip, kQueue };
// Answers whether the event may make `pod` schedulable. An empty function stands for kQueue.
using QueueingHintFn = std::function<QueueingHint(const PodInfo& pod, const EventObjects& event)>;

struct ClusterEventWithHint {
  ClusterEvent event;
  QueueingHintFn hint;
  // True when the hint reads nothing of the pod except its class, whether its uid is that of the event's pod, and
  // whether it is nominated for the node of the event's pod. The queue then calls the hint once for all other pods of a
  // class.
  bool is_hint_of_class = false;
  // True when the hint helps only pods of the pod group of the event's pod or object, including its whole hierarchy of
  // groups. The queue then calls the hint for that group only.
  bool is_hint_of_pod_group = false;
};

}  // namespace berth::framework
