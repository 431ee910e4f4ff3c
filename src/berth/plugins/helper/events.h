// SPDX-License-Identifier: Apache-2.0
// Shorthand for the lists that EventsToRegister returns: OnPod, OnNode, OfClass and the like.
#pragma once

#include <utility>

#include "berth/framework/cluster_event.h"

namespace berth::plugins {

inline framework::ClusterEventWithHint OnPod(framework::ActionType actions, framework::QueueingHintFn hint = {}) {
  return {{framework::EventResource::kPod, actions}, std::move(hint)};
}
inline framework::ClusterEventWithHint OnNode(framework::ActionType actions, framework::QueueingHintFn hint = {}) {
  return {{framework::EventResource::kNode, actions}, std::move(hint)};
}

// Marks an event whose hint reads nothing of the waiting pod but its class and whether the event is about that very
// pod.
inline framework::ClusterEventWithHint OfClass(framework::ClusterEventWithHint event) {
  event.is_hint_of_class = true;
  return event;
}

inline framework::QueueingHint QueueIf(bool helps) {
  return helps ? framework::QueueingHint::kQueue : framework::QueueingHint::kSkip;
}

// The event is an update of `pod` itself.
inline bool IsOwnUpdate(const framework::PodInfo& pod, const framework::EventObjects& event) {
  return event.new_pod != nullptr && event.new_pod->uid == pod.uid;
}

// A pod that takes nothing from any node cannot make room by going away.
inline bool WasAssignedOrNominated(const framework::PodInfo& pod) {
  return !pod.node_name.empty() || !pod.nominated_node_name.empty();
}

}  // namespace berth::plugins
