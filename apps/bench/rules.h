// SPDX-License-Identifier: Apache-2.0
// The workloads' rules, checked on the final placements. Each function returns a description of the first violation;
// empty: there is none.
#pragma once

#include <functional>
#include <string>

#include "workloads.h"

namespace berth::bench {

// The measured pods that a rule is about, by number.
using Which = std::function<bool(int)>;
inline bool AllPods(int) { return true; }

// No node has two of the measured (and, with `with_existing`, existing) pods.
std::string CheckOnePerNode(const Placements& placements, bool with_existing);
// Measured pods avoid the nodes of existing ones.
std::string CheckApart(const Placements& placements);
// Zones, or nodes, differ by at most `skew` measured pods.
std::string CheckZoneSpread(const Placements& placements, int skew, const Which& which);
std::string CheckNodeSpread(const Placements& placements, int skew);
// Measured pods are in zone1 and zone2 only.
std::string CheckZones(const Placements& placements, const Which& which);
// Measured pod i is on node_of(i).
std::string CheckPinned(const Placements& placements, const std::function<int(int)>& node_of);

// No node has more pods or requests than it has room for; holds for every workload.
std::string CheckCapacity(const Workload& workload, const Placements& placements);

// Standard deviation of the number of pods on a node.
double PodsPerNodeDeviation(const Placements& placements);

}  // namespace berth::bench
