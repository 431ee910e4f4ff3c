// SPDX-License-Identifier: Apache-2.0
// `berth can-drain`: what `kubectl drain --ignore-daemonsets --delete-emptydir-data` would do to each pod of some
// nodes, and where the pods that come in their place would go. The nodes are cordoned first, all of them; then their
// pods go one by one, each followed by its replacement. One thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/eviction_budgets.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/placement.h"

namespace berth::whatif {

// What the drain does to a pod.
enum class DrainOutcome : std::uint8_t {
  kMoves,    // evicted, and its controller makes another one
  kLost,     // evicted, and nobody makes another one: it has no controller
  kEnding,   // it is being deleted already, and what comes in its place has been made
  kIgnored,  // of a DaemonSet
  kStays,    // a static pod: the kubelet's own
};
// "moves", "lost" ...
std::string_view ToString(DrainOutcome outcome);

struct DrainedPod {
  std::string key;  // "default/web-1"
  std::string node;
  std::string owner;  // "ReplicaSet web-5c7", or empty
  DrainOutcome outcome = DrainOutcome::kMoves;
  BudgetAnswer budget = BudgetAnswer::kNone;
  std::vector<std::string> budgets;  // their names
  // Of kMoves: where the replacement goes; empty: nowhere.
  std::string place;
  // Of kMoves without a place: why; or why berth cannot tell where it would go.
  std::optional<PlacementRefusal> refusal;
  std::string why_unknown;
  // The pod tolerates the cordon, and so comes back to a node that is drained.
  bool comes_back = false;
  // Why the drain cannot end well because of this pod, in a few words; empty: it can.
  std::string obstacle;
};

struct DrainOptions {
  // As with kubectl: pods without a controller may be lost.
  bool is_forced = false;
  // Asked before each pod; true: the plan ends there and is of no use. Empty: nobody interrupts.
  std::function<bool()> is_interrupted = {};
};

struct DrainPlan {
  DrainOptions options;
  std::vector<std::string> nodes;  // that are drained, in the order in which they are named
  std::vector<DrainedPod> pods;    // in the order in which they go
  // Whether no pod is an obstacle.
  bool CanDrain() const;
  std::size_t CountOf(DrainOutcome outcome) const;
};

// Says which of `names` no node has, each with the nearest name there is: "node-1x: no such node; did you mean
// node-1?". Empty: all are there.
std::vector<std::string> UnknownNodes(const ClusterState& state, const std::vector<std::string>& names);

// `cluster` has been loaded with `state`. All nodes must be known; one named twice counts once.
DrainPlan PlanDrain(OfflineCluster& cluster, const ClusterState& state, const std::vector<std::string>& nodes,
                    const DrainOptions& options);

}  // namespace berth::whatif
