// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/update_events.h"

#include <algorithm>
#include <utility>

namespace berth::queue {
namespace {

using framework::ActionType;
using framework::ClusterEvent;
using framework::EventResource;
using framework::PodClass;
namespace action = framework::action;

bool IsScaledDown(const framework::Resource& from, const framework::Resource& to) {
  if (to.cpu_milli < from.cpu_milli || to.memory_bytes < from.memory_bytes ||
      to.ephemeral_storage_bytes < from.ephemeral_storage_bytes) {
    return true;
  }
  return std::ranges::any_of(from.scalars,
                             [&to](const auto& scalar) { return to.Scalar(scalar.first) < scalar.second; });
}

// Compares the claims generated for the pod, including those for extended resources, as its status lists them.
bool HaveSameResourceClaims(const framework::PodInfo& a, const framework::PodInfo& b) {
  static const framework::PodClaimStatus kNone;
  return (a.claim_status ? *a.claim_status : kNone) == (b.claim_status ? *b.claim_status : kNone);
}

}  // namespace

std::vector<ClusterEvent> PodUpdateEvents(const framework::PodInfo& old_pod, const framework::PodInfo& new_pod) {
  const EventResource resource = new_pod.node_name.empty() ? EventResource::kTargetPod : EventResource::kAssignedPod;
  std::vector<ClusterEvent> events;
  const auto add_if = [&](bool changed, ActionType aspect) {
    if (changed) events.push_back({resource, aspect});
  };
  // Everything compared here is part of the class, so that pods of one class have no difference.
  if (old_pod.pod_class != new_pod.pod_class) {
    const PodClass& from = *old_pod.pod_class;
    const PodClass& to = *new_pod.pod_class;
    add_if(from.labels != to.labels, action::kUpdatePodLabel);
    add_if(IsScaledDown(from.requests, to.requests), action::kUpdatePodScaleDown);
    add_if(!from.spec.scheduling_gates.empty() && to.spec.scheduling_gates.empty(),
           action::kUpdatePodSchedulingGatesEliminated);
    // Tolerations can only be added to a pod, so that it is enough to compare their number.
    add_if(from.spec.tolerations.size() != to.spec.tolerations.size(), action::kUpdatePodToleration);
  }
  add_if(!HaveSameResourceClaims(old_pod, new_pod), action::kUpdatePodGeneratedResourceClaim);
  add_if(resource == EventResource::kAssignedPod && !old_pod.deletion_time && new_pod.deletion_time,
         action::kUpdatePodDeletion);
  if (events.empty()) events.push_back({resource, action::kUpdate});
  return events;
}

std::vector<ClusterEvent> NodeUpdateEvents(const api::Node& old_node, const api::Node& new_node) {
  std::vector<ClusterEvent> events;
  const auto add_if = [&](bool changed, ActionType aspect) {
    if (changed) events.push_back({EventResource::kNode, aspect});
  };
  // Upstream treats the end of a cordon as a change of taints, with an event of its own.
  add_if(old_node.unschedulable && !new_node.unschedulable, action::kUpdateNodeTaint);
  add_if(old_node.allocatable != new_node.allocatable, action::kUpdateNodeAllocatable);
  add_if(old_node.metadata.labels != new_node.metadata.labels, action::kUpdateNodeLabel);
  add_if(old_node.taints != new_node.taints, action::kUpdateNodeTaint);
  add_if(old_node.conditions != new_node.conditions, action::kUpdateNodeCondition);
  add_if(old_node.metadata.annotations != new_node.metadata.annotations, action::kUpdateNodeAnnotation);
  add_if(old_node.declared_features != new_node.declared_features, action::kUpdateNodeDeclaredFeature);
  return events;
}

}  // namespace berth::queue
