// SPDX-License-Identifier: Apache-2.0
// `berth explain --pending`: all pods that wait for a node, by what they wait for and whose they are. One thread's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/placement.h"

namespace berth::whatif {

// Pods of one owner that wait for the same.
struct PendingOfOwner {
  Workload owner;
  std::size_t count = 0;
  std::string longest;    // the name of the one that waits longest
  Duration waits_for{0};  // since that one was created
};

struct PendingReason {
  PodState state = PodState::kRefused;
  std::string reason;                  // "3 Insufficient cpu, 1 node(s) were unschedulable"
  std::vector<PendingOfOwner> owners;  // who waits longest comes first
  // Of kRefused: the whole text of the condition, what it says by plugin, and the events after which such a pod is
  // tried again. They are of one of the pods: where the reasons are the same text, the plugins are the same too.
  PlacementRefusal refusal{};
  std::vector<std::string> woken_by{};

  std::size_t Count() const;
};

struct PendingPods {
  std::vector<PendingReason> reasons;  // what somebody waits for longest comes first
  std::size_t not_looked_at = 0;       // pods beyond the bound of FindPendingPods()

  std::size_t Count() const;
};

// Kinds of pods that are evaluated; what comes after them is only counted.
inline constexpr std::size_t kPendingKindsMax = 5'000;

// Of a namespace, or of all when it is empty. Changes nothing.
PendingPods FindPendingPods(OfflineCluster& cluster, const ClusterState& state, const std::string& namespace_name);

}  // namespace berth::whatif
