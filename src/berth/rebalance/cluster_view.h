// SPDX-License-Identifier: Apache-2.0
// ClusterView: the nodes, and the pods on them, in the one order in which strategies look at them: nodes by name, the
// pods of a node by namespace and name. The descheduler takes both from hash tables, and so in any order. A value;
// MovePod() changes it for a plan's next look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/pod_details.h"
#include "berth/api/storage.h"
#include "berth/api/workloads.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/framework/resource.h"
#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/rebalance/policy.h"
#include "berth/whatif/cluster_state.h"

namespace berth::rebalance {

using NodeNumber = std::uint32_t;
using PodNumber = std::uint32_t;

// What a node or a pod uses, as one source measures it.
struct MeasuredUse {
  double cpu_milli = 0;
  double memory_bytes = 0;
  double percent = 0;  // of its node: a query's answer for the node, of which each pod has a part
  bool is_known = false;
};

// Which use is meant: what pods request (nullopt), or what the view's source of that number has measured.
using UseSource = std::optional<std::size_t>;

struct NodeView {
  std::shared_ptr<const api::Node> node;
  framework::Resource allocatable;
  bool is_ready = true;               // no condition Ready says otherwise
  std::vector<PodNumber> pods;        // of all phases, in order
  framework::Resource requested;      // of pods that are not finished; `pods` is how many they are
  std::vector<MeasuredUse> measured;  // by source
  const std::string& name() const { return node->metadata.name; }
};

struct PodView {
  std::shared_ptr<const api::Pod> pod;
  std::shared_ptr<const api::PodDetails> details;
  NodeNumber node = 0;
  framework::Resource requests;       // from the spec alone
  std::vector<MeasuredUse> measured;  // by source
  std::shared_ptr<const plugins::RequiredNodeAffinity> required;
  bool is_finished = false;
  // A plan has put the pod here: it counts as just created, and as never restarted.
  bool is_moved = false;

  std::string Key() const { return pod->metadata.namespace_name + "/" + pod->metadata.name; }
};

class ClusterView {
 public:
  // Pods without a node, or on a node that does not exist, are left out: no strategy looks at them. The state must have
  // been read with pod details.
  explicit ClusterView(const whatif::ClusterState& state);

  const std::vector<NodeView>& nodes() const { return nodes_; }
  const std::vector<PodView>& pods() const { return pods_; }
  const NodeView& node(NodeNumber number) const { return nodes_[number]; }
  const PodView& pod(PodNumber number) const { return pods_[number]; }
  std::optional<NodeNumber> FindNode(std::string_view name) const;

  // Labels; null: there is no such namespace.
  const api::StringMap* NamespaceLabels(std::string_view name) const;
  const std::vector<std::shared_ptr<const api::PodDisruptionBudget>>& Budgets(std::string_view namespace_name) const;
  const api::PersistentVolumeClaim* FindClaim(std::string_view namespace_name, std::string_view name) const;
  // Pods of any phase that name the owner, those without a node too.
  std::size_t OwnedBy(const std::string& uid) const;
  // The value of a priority class, as some pod of the class has it. nullopt: no pod is of the class.
  std::optional<std::int32_t> PriorityOfClass(std::string_view name) const;

  // Adds measurements, by node and by pod. When a pod moves, its use moves with it.
  void AddSource(MetricsUse use, const std::vector<MeasuredUse>& of_nodes, const std::vector<MeasuredUse>& of_pods);
  // nullopt, also where nobody has added that source.
  UseSource FindSource(const std::optional<MetricsUse>& use) const;

  // The node as it would be with the pod's replacement on it.
  NodeView With(NodeNumber node, const PodView& pod) const;

  // Pods that a plan has taken off the node.
  std::size_t CountLeft(NodeNumber node) const;

  // The pod's replacement is on another node, or it is gone for good (nullopt).
  void MovePod(PodNumber number, std::optional<NodeNumber> to);
  // Undoes the pod's move from the node where it was in the beginning.
  void TakeBack(PodNumber number, NodeNumber from);

 private:
  void AddPod(const std::shared_ptr<const api::Pod>& pod, const std::shared_ptr<const api::PodDetails>& details,
              bool is_finished);
  void Insert(PodNumber number, NodeNumber node);
  void Remove(PodNumber number);

  std::vector<NodeView> nodes_;
  std::vector<PodView> pods_;
  std::vector<MetricsUse> sources_;
  std::map<PodNumber, PodView> originals_;                                               // of those that have moved
  StringHashMap<std::size_t> owned_;                                                     // by the owner's uid
  StringHashMap<std::int32_t> priority_of_class_;                                        // by name
  StringHashMap<api::StringMap> namespaces_;                                             // labels
  StringHashMap<std::vector<std::shared_ptr<const api::PodDisruptionBudget>>> budgets_;  // by namespace
  StringHashMap<std::shared_ptr<const api::PersistentVolumeClaim>> claims_;              // by "namespace/name"
};

}  // namespace berth::rebalance
