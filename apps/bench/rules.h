// SPDX-License-Identifier: Apache-2.0
// The workloads' own rules, checked on where the pods ended up. Each returns what is wrong; empty: nothing.
#pragma once

#include <functional>
#include <string>

#include "workloads.h"

namespace berth::bench {

// Which measured pods a rule is about, by number.
using Which = std::function<bool(int)>;
inline bool AllPods(int) { return true; }

// No node holds two of the measured (and, if asked for, existing) pods.
std::string CheckOnePerNode(const Placements& placements, bool with_existing);
// Measured pods avoid the nodes of existing ones.
std::string CheckApart(const Placements& placements);
// Zones, or nodes, differ by at most `skew` measured pods.
std::string CheckZoneSpread(const Placements& placements, int skew, const Which& which);
std::string CheckNodeSpread(const Placements& placements, int skew);
// Measured pods are in zone1 and zone2 alone.
std::string CheckZones(const Placements& placements, const Which& which);
// Measured pod i is on node_of(i).
std::string CheckPinned(const Placements& placements, const std::function<int(int)>& node_of);

// Whether some node holds more than it has, whatever the workload.
std::string CheckCapacity(const Workload& workload, const Placements& placements);

// Standard deviation of the number of pods on a node.
double PodsPerNodeDeviation(const Placements& placements);

}  // namespace berth::bench
