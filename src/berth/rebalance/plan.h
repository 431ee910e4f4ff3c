// SPDX-License-Identifier: Apache-2.0
// RebalancePlan: which of the pods that a policy objects to can be moved so that something gets better, where each
// would go, and why the others stay. Nothing is done to the cluster.
//
// Each move is proved on the overlay (core/scheduler/overlay.h): the pod is gone, all earlier moves have been made, and
// the scheduler is asked where the pod's replacement goes. The move is made if that is somewhere where the policy is
// better served (violations.h), for each of the nodes that tie for the best. What fits nowhere is tried again after
// others have moved: what makes room goes first. If that does not help, other pods may make room for it by moves that
// are no worse (chain_search.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/rebalance/measurements.h"
#include "berth/rebalance/move_allowance.h"
#include "berth/rebalance/policy.h"
#include "berth/rebalance/violations.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::rebalance {

inline constexpr std::size_t kTiesMax = 8;

struct PlannedMove {
  std::shared_ptr<const api::Pod> pod;
  std::string key;  // "default/web-1"
  std::string uid;
  std::string owner;  // "ReplicaSet web-5c7", or empty
  std::string from;
  std::string to;  // empty: a finished pod, which is removed and needs no place
  // Nodes that are as good as `to` for the scheduler, which may choose any of them: kTiesMax of them at most.
  std::vector<std::string> ties;
  bool has_more_ties = false;
  std::string strategy;  // that objects to it
  std::string profile;
  std::string reason;
  bool empties = false;  // it is one of all pods of `from`, which is cordoned first
  // Moves of the same number are a chain: they are made together or not at all. 0: it is of none.
  std::size_t chain = 0;
  std::string makes_room_for;            // "default/web-2", a later move of the chain; empty: the chain is for this pod
  std::vector<ViolationChange> changes;  // of all strategies that see one; the policy must outlive the plan
};

struct StayingPod {
  std::string key;
  std::string node;
  std::string strategy;
  std::string profile;
  std::string reason;     // of the objection
  std::string why;        // it is not moved
  std::string_view hold;  // the cause, where PlanOptions::allowance holds it
};

struct RebalancePlan {
  std::vector<PlannedMove> moves;     // in the order in which they are to be made
  std::vector<StayingPod> staying;    // each once, in the order in which they were last tried
  std::vector<std::string> emptied;   // nodes that are to be cordoned and emptied, in this round or in several
  std::vector<std::string> given_up;  // nodes that were cordoned to be emptied, and are not any more
  std::size_t looked_at = 0;          // pods on nodes that the policy looks at
  std::size_t pending = 0;            // pods without a node, which the scheduler may place first
  bool is_complete = true;            // false: kPlanPassesMax was reached, or it was interrupted
  bool is_interrupted = false;
  bool are_chains_cut = false;  // there may be more chains: as many as is allowed were looked at
};

struct PlanOptions {
  Time now{};  // the time of day
  // Asked between two moves; true ends the plan with what it has.
  std::function<bool()> is_interrupted;
  // The replacement can be sent to a node of ours (runner/reservations.h). It goes to the best of those that are better
  // for the policy, whichever node the scheduler likes best.
  bool chooses_target = false;
  // What may be moved beside what the policy says; null: all.
  const MoveAllowance* allowance = nullptr;
  // Measured use, for strategies that depend on it; null: nothing is measured.
  const Measurements* measurements = nullptr;
};

// Times that pods which fitted nowhere are tried again, because others have moved meanwhile.
inline constexpr std::size_t kPlanPassesMax = 50;

// `cluster` has been loaded with `state`, which was read with pod details. `policy` must outlive the plan. Fails where
// the policy names what the cluster does not have, with kUnavailable where a measurement is missing.
Expected<RebalancePlan> PlanRebalance(whatif::OfflineCluster& cluster, const whatif::ClusterState& state,
                                      const Policy& policy, const PlanOptions& options);

}  // namespace berth::rebalance
