// SPDX-License-Identifier: Apache-2.0
// Simulate: what would become of a cluster, if pods, nodes and objects were added to it and nodes were taken away. All
// happens in memory, to a copy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/cluster_use.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/pod_index.h"

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
  std::string group;   // the PodGroup that it is scheduled with; empty: it is scheduled by itself
  bool operator==(const SimulatedPod&) const = default;
};

struct SimulatedEviction {
  Workload workload;
  std::string name;
  std::string node;
  std::string preemptor;   // "namespace/name"; empty: not known
  std::string group_kind;  // "PodGroup" or "CompositePodGroup", if the preemptor is one
  bool operator==(const SimulatedEviction&) const = default;
};

// A PodGroup of pods of the simulation, as it is afterwards.
struct SimulatedGroup {
  std::string namespace_name;
  std::string name;
  std::optional<std::int32_t> min_count;  // absent: its policy is basic
  std::size_t scheduled = 0;              // its pods with a node, those that ran before counted
  std::size_t pending = 0;
  // "Scheduled", "Unschedulable" or "SchedulerError" by its condition, which never goes back from the first; "Gated":
  // it waits to be tried. Empty: neither.
  std::string reason;
  std::string message;
  std::string parent{};  // the CompositePodGroup that it is in, by which it is decided; empty: none

  // Whether a gang has enough of its pods, or any other group has one.
  bool IsPlaced() const { return scheduled >= static_cast<std::size_t>(min_count.value_or(1)); }
  bool operator==(const SimulatedGroup&) const = default;
};

// A CompositePodGroup above such a group, as it is afterwards.
struct SimulatedComposite {
  std::string namespace_name;
  std::string name;
  std::string parent;                           // the CompositePodGroup that it is in; empty: it is the root
  std::optional<std::int32_t> min_group_count;  // absent: its policy is basic
  std::size_t placed = 0;                       // groups in it, of either kind, that are placed
  std::size_t waiting = 0;                      // those that are not

  bool operator==(const SimulatedComposite&) const = default;
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
  std::vector<SimulatedGroup> groups;          // by name
  std::vector<SimulatedComposite> composites;  // by name
  std::vector<SimulatedEviction> evictions;
  std::vector<LostPod> lost;
  std::vector<std::string> notes;
  ClusterUse use_before, use_after;
  // Of the nodes that come, go or change, by name.
  std::map<std::string, NodeUse> nodes_before, nodes_after;
  std::map<std::string, std::size_t> zones;  // pods that got a node, by zone

  // Pods that stay pending, without those that were pending before.
  std::size_t PendingCount() const;
  // All that have no node, whenever they came.
  std::size_t WaitingCount() const;
};

struct SimulationInput {
  const ClusterState& state;
  const Additions& additions;
  const std::vector<std::string>& removed_nodes;
  // Of the state, for who keeps it; null: its pods are looked through.
  const PodIndex* index = nullptr;
};

// Most rounds in which evicted pods look for another place.
inline constexpr int kEvictionRoundsMax = 100;

// The same on a cluster that has been loaded with the state, which it changes. The nodes must be known.
Simulation SimulateOn(const SimulationInput& input, OfflineCluster& cluster);

// An error for the first of the nodes that the state does not have; it names the nearest one.
Expected<void> CheckNodes(const ClusterState& state, const std::vector<std::string>& names);

// The cluster's own pending pods are scheduled before anything is changed, as they would be without the change. An
// error names a node that does not exist, or a plugin that cannot be made.
Expected<Simulation> Simulate(const SimulationInput& input, OfflineOptions options);

}  // namespace berth::whatif
