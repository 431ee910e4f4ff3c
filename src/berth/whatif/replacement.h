// SPDX-License-Identifier: Apache-2.0
// The pods that controllers make in place of those that are gone: which pods have such a controller, and what the new
// pod looks like to a scheduler. Pure, but for the overlay that makes the pod's class.
#pragma once

#include <cstdint>
#include <string>

#include "berth/api/pod.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/pod_info.h"

namespace berth::whatif {

enum class PodKind : std::uint8_t {
  kOwned,   // its controller makes another one, wherever there is room
  kBare,    // of no controller
  kDaemon,  // of a DaemonSet: bound to its node
  kStatic,  // the kubelet's own: the API server has a mirror of it
};
PodKind KindOf(const api::Pod& pod);

// The API server's mirror of a static pod, which is the kubelet's own.
bool IsMirrorPod(const api::Pod& pod);

// "ReplicaSet web-5c7"; empty: it has no controller.
std::string OwnerOf(const api::Pod& pod);

// Why nobody schedules a pod of that name, and what to do about it.
std::string NoProfileCalled(const std::string& scheduler_name);

// The owner that decides how many such pods there are: the Deployment of a ReplicaSet whose name ends with the pod's
// pod-template-hash, or the controller. Empty: nobody.
struct TopOwner {
  std::string kind;
  std::string name;
};
TopOwner TopOwnerOf(const api::Pod& pod);

struct Replacement {
  framework::PodInfoPtr pod;  // null: see why_unknown
  std::string why_unknown;    // what stops berth from telling where it would go
  bool has_own_claims = false;
};

// The pod that comes in the place of `pod`: the same labels, the same spec, and the same claims, but for those that are
// made for each pod anew (own_claims.h), which it gets on the overlay. `name` is its uid, and begins the names of its
// claims.
Replacement MakeReplacement(scheduler::Overlay& overlay, const api::Pod& pod, const std::string& name);

// Takes the pod off its node, and its resource claims with it; see ReleaseResourceClaims(). Once it is gone what it
// held is free.
void RemoveWithClaims(scheduler::Overlay& overlay, const api::Pod& pod);

}  // namespace berth::whatif
