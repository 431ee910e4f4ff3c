// SPDX-License-Identifier: Apache-2.0
// `berth headroom`: how many node losses each workload of a cluster survives. A loss takes the node that runs the most
// pods of the workload at that moment (of several the first by name), with all that runs on it. Then the pods of all
// workloads that were there are replaced, those of the highest priority first, evicting nobody. The workload survives
// the loss when each of its own pods found a place; then the next node is lost. One thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/placement.h"

namespace berth::whatif {

// An error where the cluster has no such namespace, which would have no workloads and so enough headroom. Empty: all.
Expected<void> CheckNamespace(const ClusterState& state, const std::string& namespace_name);

struct HeadroomOptions {
  std::size_t losses_max = 3;
  std::string namespace_name;  // empty: all
  // Asked between losses; true: end with what is known so far.
  std::function<bool()> is_interrupted;
};

// The pods of one Deployment, StatefulSet, ... DaemonSets, static pods and pods without a controller do not count.
struct WorkloadHeadroom {
  std::string namespace_name;
  std::string kind;  // "Deployment", where a ReplicaSet has its pod-template-hash
  std::string name;
  std::int32_t priority = 0;  // the lowest of its pods
  std::size_t pod_count = 0;  // on nodes
  std::size_t node_count = 0;
  std::size_t pending_count = 0;  // without a node already, before any loss
  std::size_t survives = 0;       // losses; losses_max: at least that many
  // The loss that it does not survive: all nodes that are lost by then, the last one last, and how many of its pods fit
  // nowhere. Empty: it survives them all.
  std::vector<std::string> lost_nodes;
  std::size_t homeless_count = 0;
  std::optional<PlacementRefusal> refusal;  // of the first of them
  // Why its pods' places are not known; `survives` says nothing then.
  std::string why_unknown;
};

struct Headroom {
  std::size_t losses_max = 0;
  std::size_t node_count = 0;
  std::vector<WorkloadHeadroom> workloads;  // that survive the fewest losses first, then by namespace, name and kind
  bool is_interrupted = false;              // some of them are missing
};

// `cluster` has been loaded with `state`.
Headroom MeasureHeadroom(OfflineCluster& cluster, const ClusterState& state, const HeadroomOptions& options);

}  // namespace berth::whatif
