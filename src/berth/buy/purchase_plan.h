// SPDX-License-Identifier: Apache-2.0
// PurchasePlan: which nodes to buy so that pods fit at the least price, where each pod would be, and why some stay
// pending. docs/buy.md says how it is found, and ADR 23 why so. Nothing is done to a real cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/buy/node_catalogue.h"
#include "berth/buy/purchase_options.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::buy {

struct NewNode {
  std::string name;
  std::size_t shape = 0;  // of the catalogue
  std::string zone;       // empty: none
  std::int64_t price_micro = 0;
  std::vector<std::pair<whatif::Workload, std::size_t>> pods;  // what it is for
  std::size_t daemon_pods = 0;
  std::int64_t cpu_milli = 0, cpu_milli_of = 0;  // requested, allocatable
  std::int64_t memory_bytes = 0, memory_bytes_of = 0;
};

struct PlannedPod {
  std::string key;  // "shop/web-1"
  whatif::Workload workload;
  bool is_pending = false;  // of the cluster, not of a manifest
  std::string node;         // empty: it stays pending
  bool is_on_new_node = false;
};

// Pods of one workload that stay pending, for the same reason.
struct LeftPods {
  whatif::Workload workload;
  std::string first;  // the key of the first of them
  std::size_t count = 0;
  std::string why;
  bool fits_no_shape = false;  // by what it demands of a node
};

// A node of the cluster that may go, because its pods fit elsewhere.
struct ReplacedNode {
  std::string name;
  std::int64_t price_micro = 0;
  std::vector<std::pair<std::string, std::string>> moves;  // the pod's key, and the node of its replacement
};

// Shapes of a plan, as "2 m7.large, 1 c7.xlarge", and its price.
struct OtherPlan {
  std::string shapes;
  std::int64_t price_micro = 0;
};

struct PurchasePlan {
  std::vector<NewNode> nodes;  // in the order in which the search has bought them
  std::int64_t price_micro = 0;
  // No plan in which all of these pods fit costs less; nullopt: it is not known.
  std::optional<std::int64_t> bound_micro;
  std::optional<OtherPlan> second;     // the cheapest other plan that was found
  std::optional<OtherPlan> nominated;  // of Placement::kScheduler: what closer packing would cost, if it is less
  std::vector<PlannedPod> pods;        // in the order in which they are scheduled
  std::vector<LeftPods> left;          // those that fit no shape first
  // Pods of manifests that the API server would not take; the plan is made without them.
  std::vector<whatif::RefusedPods> refused;
  std::vector<ReplacedNode> replaced;
  std::int64_t replaced_price_micro = 0;
  std::size_t pods_on_existing = 0;
  std::size_t pods_on_new = 0;
  std::size_t ignored_pending = 0;  // pods of the cluster that are pending and were not asked about
  std::vector<std::string> notes;
  bool is_interrupted = false;
  bool is_cut_short = false;  // a bound of the search was reached

  std::size_t LeftCount() const;
  std::size_t RefusedCount() const;
  // Every pod that was asked about has a node.
  bool IsComplete() const { return LeftCount() == 0 && refused.empty(); }
};

struct PurchaseInput {
  const whatif::ClusterState& state;  // with which the cluster has been loaded
  const whatif::Manifests& manifests;
  const NodeCatalogue& catalogue;
  bool takes_pending = false;  // the cluster's pending pods, too
};

// Pods of one question.
inline constexpr std::size_t kAskedPodsMax = 200'000;

// The cluster is the caller's own copy: afterwards it has the manifests' objects, the new nodes and the pods on them.
// Fails for a manifest that is wrong, a zone or a node that there is not, a pod whose scheduler has no profile.
Expected<PurchasePlan> PlanPurchase(whatif::OfflineCluster& cluster, const PurchaseInput& input,
                                    const PurchaseOptions& options);

}  // namespace berth::buy
