// SPDX-License-Identifier: Apache-2.0
// Simulate: what would become of a cluster, if pods, nodes and objects were added to it and nodes were taken away. All
// happens in memory, to a copy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/cluster_use.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::whatif {

enum class PodOrigin : std::uint8_t {
  kNew,        // of a manifest
  kDisplaced,  // of a node that was taken away: its controller creates it anew
  kEvicted,    // made room for another pod: likewise
  kPending,    // the cluster's, without a node before
};
std::string_view ToString(PodOrigin origin);

struct SimulatedPod {
  PodOrigin origin = PodOrigin::kNew;
  Workload workload;
  std::string name;
  std::string node;    // empty: it stays pending
  std::string zone;    // of the node
  std::string why;     // of a pod that stays pending
  std::string was_on;  // the node before; empty: none
  bool operator==(const SimulatedPod&) const = default;
};

struct SimulatedEviction {
  Workload workload;
  std::string name;
  std::string node;
  std::string preemptor;  // "namespace/name"; empty: not known
  bool operator==(const SimulatedEviction&) const = default;
};

// A pod that goes and that nobody creates anew elsewhere.
struct LostPod {
  Workload workload;
  std::string name;
  std::string node;
  std::string why;
  bool operator==(const LostPod&) const = default;
};

struct Simulation {
  // By origin; within one in the order in which they came.
  std::vector<SimulatedPod> pods;
  std::vector<SimulatedEviction> evictions;
  std::vector<LostPod> lost;
  std::vector<std::string> notes;
  std::map<std::string, NodeUse> nodes_before, nodes_after;  // by name
  std::map<std::string, std::size_t> zones;                  // pods that got a node, by zone

  // Pods that stay pending and would not have, or did not exist.
  std::size_t PendingCount() const;
};

struct SimulationInput {
  const ClusterState& state;
  const Additions& additions;
  const std::vector<std::string>& removed_nodes;
};

// Rounds of evicted pods that look for another place.
inline constexpr int kEvictionRoundsMax = 100;

// The cluster's own pending pods are scheduled before anything is changed, as they would be without the change. An
// error names a node that does not exist, or a plugin that cannot be made.
Expected<Simulation> Simulate(const SimulationInput& input, OfflineOptions options);

}  // namespace berth::whatif
