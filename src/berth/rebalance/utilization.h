// SPDX-License-Identifier: Apache-2.0
// How full nodes are, by what pods request or as it is measured, and which of them LowNodeUtilization and
// HighNodeUtilization call too empty or too full. Pure functions.
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
double PercentUsed(const NodeView& node, std::string_view resource, UseSource source = {});
// "85 %".
std::string PercentText(double percent);
// Milli-CPUs, bytes, pods, units, or percent for kMetricResource.
double Used(const NodeView& node, std::string_view resource, UseSource source = {});
double UsedBy(const PodView& pod, std::string_view resource, UseSource source = {});
std::int64_t Capacity(const NodeView& node, std::string_view resource);

struct UtilizationGroups {
  std::vector<NodeNumber> sources;  // in the order in which pods leave them
  std::vector<NodeNumber> targets;
  // A node between the two thresholds is neither source nor target.
  Thresholds low;
  Thresholds high;
  UseSource source;  // of use
};

UtilizationGroups GroupNodes(const LowNodeUtilizationArgs& args, const ClusterView& view,
                             const std::vector<NodeNumber>& nodes);
UtilizationGroups GroupNodes(const HighNodeUtilizationArgs& args, const ClusterView& view,
                             const std::vector<NodeNumber>& nodes);

// Whether none of the resources is above its threshold.
bool IsWithin(const NodeView& node, const Thresholds& thresholds, UseSource source = {});

// LowNodeUtilization and HighNodeUtilization, as the descheduler has them.
void Run(const LowNodeUtilizationArgs& args, const StrategyRun& run);
void Run(const HighNodeUtilizationArgs& args, const StrategyRun& run);

}  // namespace berth::rebalance
