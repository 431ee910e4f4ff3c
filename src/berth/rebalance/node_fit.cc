// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/node_fit.h"

#include <algorithm>
#include <string>

#include "berth/plugins/helper/node_selector.h"
#include "berth/plugins/helper/tolerations.h"

namespace berth::rebalance {
namespace {

// Only whether the node has the topology key counts, since the other pod is on this very node.
bool HasPodAgainst(const ClusterView& view, const PodView& pod, const NodeView& node) {
  for (const api::PodAffinityTerm& term : pod.pod->spec.pod_anti_affinity.required) {
    if (node.node->metadata.labels.Find(term.topology_key) == nullptr) continue;
    for (const PodNumber number : node.pods) {
      const PodView& other = view.pod(number);
      if (!other.is_finished && IsInTerm(term, *pod.pod, *other.pod)) return true;
    }
  }
  return false;
}

bool HasRoom(const PodView& pod, const NodeView& node) {
  const auto is_short = [&](std::string_view resource, std::int64_t want) {
    return want > framework::WrappingSub(node.allocatable.Get(resource), node.requested.Get(resource));
  };
  using namespace framework::resources;
  if (node.allocatable.pods - node.requested.pods < 1) return false;
  if (pod.requests.cpu_milli > 0 && is_short(kCpu, pod.requests.cpu_milli)) return false;
  if (pod.requests.memory_bytes > 0 && is_short(kMemory, pod.requests.memory_bytes)) return false;
  if (pod.requests.ephemeral_storage_bytes > 0 && is_short(kEphemeralStorage, pod.requests.ephemeral_storage_bytes))
    return false;
  return std::ranges::none_of(pod.requests.scalars,
                              [&](const auto& each) { return each.second > 0 && is_short(each.first, each.second); });
}

}  // namespace

bool IsInTerm(const api::PodAffinityTerm& term, const api::Pod& of, const api::Pod& other) {
  // By name, whatever the namespace: the descheduler's way of leaving out the pod itself.
  if (other.metadata.name == of.metadata.name) return false;
  const bool is_there = term.namespaces.empty() ? other.metadata.namespace_name == of.metadata.namespace_name
                                                : std::ranges::find(term.namespaces, other.metadata.namespace_name) !=
                                                      term.namespaces.end();
  return is_there && term.selector && term.selector->Matches(other.metadata.labels);
}

std::int32_t PreferredWeight(const PodView& pod, const NodeView& node) {
  if (!pod.pod->spec.node_affinity) return 0;
  std::int32_t sum = 0;
  for (const api::PreferredSchedulingTerm& term : pod.pod->spec.node_affinity->preferred) {
    if (plugins::NodeSelector({term.preference}).Matches(node.name(), node.node->metadata.labels)) sum += term.weight;
  }
  return sum;
}

bool FitsNode(const ClusterView& view, const PodView& pod, NodeNumber number) {
  const NodeView& node = view.node(number);
  if (node.node->unschedulable || !pod.required->Matches(*node.node)) return false;
  if (plugins::HasUntoleratedHardTaint(node.node->taints, pod.pod->spec.tolerations)) return false;
  if (HasPodAgainst(view, pod, node)) return false;
  return pod.node == number || HasRoom(pod, node);
}

bool FitsAnyNode(const ClusterView& view, const PodView& pod, std::span<const NodeNumber> nodes) {
  return std::ranges::any_of(nodes, [&](NodeNumber node) { return FitsNode(view, pod, node); });
}

bool FitsAnyOtherNode(const ClusterView& view, const PodView& pod, std::span<const NodeNumber> nodes) {
  return std::ranges::any_of(nodes, [&](NodeNumber node) { return node != pod.node && FitsNode(view, pod, node); });
}

}  // namespace berth::rebalance
