// SPDX-License-Identifier: Apache-2.0
// Topology spread constraints as RemovePodsViolatingTopologySpreadConstraint reads them: each once, whatever number of
// pods have it. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/selector.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/policy.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

struct SpreadConstraint {
  std::string namespace_name;
  std::int32_t max_skew = 0;
  std::string topology_key;
  std::optional<api::LabelSelector> selector;  // absent: no pod
  // Which nodes count; absent: the policy is Ignore.
  std::optional<api::StringMap> node_selector;
  std::optional<api::NodeAffinity> node_affinity;  // its required terms alone
  std::optional<std::vector<api::Toleration>> tolerations;
  bool operator==(const SpreadConstraint&) const = default;

  bool Selects(const api::Pod& pod) const;
  // Whether a node that has the topology key counts.
  bool TakesNode(const api::Node& node) const;
};

// The constraints of the pods, in their order, each once.
std::vector<SpreadConstraint> ConstraintsOf(const TopologySpreadArgs& args, const ClusterView& view,
                                            const std::vector<PodNumber>& pods);

// RemovePodsViolatingTopologySpreadConstraint, as the descheduler has it.
void Run(const TopologySpreadArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
