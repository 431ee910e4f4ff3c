// SPDX-License-Identifier: Apache-2.0
// How full nodes are, by requests, and which of them LowNodeUtilization and HighNodeUtilization call too empty or too
// full. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/policy.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

// In percent of what is allocatable; 0 where nothing is.
double PercentUsed(const NodeView& node, std::string_view resource);
// "85 %".
std::string PercentText(double percent);
// Milli-CPUs, bytes, pods, units.
std::int64_t Used(const NodeView& node, std::string_view resource);
std::int64_t Capacity(const NodeView& node, std::string_view resource);

struct UtilizationGroups {
  std::vector<NodeNumber> sources;  // in the order in which pods leave them
  std::vector<NodeNumber> targets;
  // Between which a node is neither.
  Thresholds low;
  Thresholds high;
};

UtilizationGroups GroupNodes(const LowNodeUtilizationArgs& args, const ClusterView& view,
                             const std::vector<NodeNumber>& nodes);
UtilizationGroups GroupNodes(const HighNodeUtilizationArgs& args, const ClusterView& view,
                             const std::vector<NodeNumber>& nodes);

// Whether none of the resources is above its threshold.
bool IsWithin(const NodeView& node, const Thresholds& thresholds);

// LowNodeUtilization and HighNodeUtilization, by requests, as the descheduler has them.
void Run(const LowNodeUtilizationArgs& args, const StrategyRun& run);
void Run(const HighNodeUtilizationArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
