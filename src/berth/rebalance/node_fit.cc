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

}  // namespace

bool IsOpenTo(const PodView& pod, const api::Node& node) {
  return !node.unschedulable && !plugins::HasUntoleratedHardTaint(node.taints, pod.pod->spec.tolerations) &&
         pod.required->Matches(node);
}

framework::Resource LackOf(const PodView& pod, const NodeView& node) {
  const auto lack_of = [](std::int64_t want, std::int64_t allocatable, std::int64_t requested) {
    const std::int64_t free = framework::WrappingSub(allocatable, requested);
    return want > 0 && want > free ? framework::WrappingSub(want, free) : 0;
  };
  const framework::Resource& has = node.allocatable;
  const framework::Resource& used = node.requested;
  framework::Resource lack;
  lack.cpu_milli = lack_of(pod.requests.cpu_milli, has.cpu_milli, used.cpu_milli);
  lack.memory_bytes = lack_of(pod.requests.memory_bytes, has.memory_bytes, used.memory_bytes);
  lack.ephemeral_storage_bytes =
      lack_of(pod.requests.ephemeral_storage_bytes, has.ephemeral_storage_bytes, used.ephemeral_storage_bytes);
  lack.pods = lack_of(1, has.pods, used.pods);
  for (const auto& [name, want] : pod.requests.scalars) {
    const std::int64_t short_by = lack_of(want, has.Scalar(name), used.Scalar(name));
    if (short_by != 0) lack.scalars.emplace_back(name, short_by);
  }
  return lack;
}

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
  if (!IsOpenTo(pod, *node.node) || HasPodAgainst(view, pod, node)) return false;
  return pod.node == number || LackOf(pod, node) == framework::Resource{};
}

bool FitsAnyNode(const ClusterView& view, const PodView& pod, std::span<const NodeNumber> nodes) {
  return std::ranges::any_of(nodes, [&](NodeNumber node) { return FitsNode(view, pod, node); });
}

bool FitsAnyOtherNode(const ClusterView& view, const PodView& pod, std::span<const NodeNumber> nodes) {
  return std::ranges::any_of(nodes, [&](NodeNumber node) { return node != pod.node && FitsNode(view, pod, node); });
}

}  // namespace berth::rebalance
