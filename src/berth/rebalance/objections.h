// SPDX-License-Identifier: Apache-2.0
// Objections: the pods that a policy wants moved or gone, in the order in which the descheduler would evict them. Pure.
//
// The descheduler takes nodes, the pods of a node, owners and domains from hash tables, in any order; here they come in
// the order of ClusterView, and where strategies look at owners or domains, in the order in which they are first seen.
// Pods that a strategy's sort finds equal come in the order in which Go's insertion sort leaves them.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/measurements.h"
#include "berth/rebalance/policy.h"

namespace berth::rebalance {

struct Objection {
  PodNumber pod = 0;
  const PolicyProfile* profile = nullptr;  // the policy's
  const StrategyArgs* strategy = nullptr;  // the profile's
  std::string reason;                      // "it does not tolerate the taint gpu=true:NoSchedule of its node"
  // The pod has to leave soon: pauses and shares of its owner do not hold it back.
  bool is_urgent = false;
  // The node that is to be emptied: all objections with the same one belong together, in their order.
  std::optional<NodeNumber> empties;
  // Where its replacement should go; nullopt: the scheduler chooses.
  std::optional<NodeNumber> wanted;
  // Of a chain (chain_search.h): the pod that needs the room which this one leaves. It is not objected to itself.
  std::optional<PodNumber> makes_room_for;
  // Nodes on which the chain makes room, which is not for this one.
  std::vector<NodeNumber> kept_free;
};

struct ObjectionOptions {
  Time now{};
  // The policy's limits; by default there are none. A pod that they stop is not among the objections.
  EvictionLimits limits;
  // Pods whose eviction fails: strategies go on to the next one.
  std::set<PodNumber> refused;
  // Measured use, for strategies that depend on a query; null: nothing is measured.
  const Measurements* measurements = nullptr;
  std::size_t nodes_emptied = 0;  // by the plan so far
};

// Runs the strategies as the descheduler does: all that deschedule, of each profile, then all that balance. A pod may
// be objected to several times. Fails where a priority class of the policy is not known.
Expected<std::vector<Objection>> FindObjections(const Policy& policy, const ClusterView& view,
                                                const ObjectionOptions& options);

}  // namespace berth::rebalance
