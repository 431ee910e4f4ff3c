// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/anti_affinity.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/rebalance/node_fit.h"
#include "berth/rebalance/pod_order.h"

namespace berth::rebalance {
namespace {

using PodsByNamespace = std::map<std::string_view, std::vector<PodNumber>>;

bool IsSameDomain(const NodeView& a, const NodeView& b, std::string_view key) {
  if (&a == &b) return true;
  const std::string* const value = a.node->metadata.labels.Find(key);
  const std::string* const other = b.node->metadata.labels.Find(key);
  return value != nullptr && other != nullptr && *value == *other;
}

// The pod that a required term of `pod` excludes from its node or domain; null: none.
const PodView* FindExcluded(const ClusterView& view, const PodView& pod, const PodsByNamespace& pods) {
  for (const api::PodAffinityTerm& term : pod.pod->spec.pod_anti_affinity.required) {
    const auto in_namespace = [&](std::string_view name) -> const PodView* {
      const auto at = pods.find(name);
      if (at == pods.end()) return nullptr;
      for (const PodNumber number : at->second) {
        const PodView& other = view.pod(number);
        if (IsInTerm(term, *pod.pod, *other.pod) &&
            IsSameDomain(view.node(pod.node), view.node(other.node), term.topology_key))
          return &other;
      }
      return nullptr;
    };
    if (term.namespaces.empty()) {
      if (const PodView* found = in_namespace(pod.pod->metadata.namespace_name)) return found;
    }
    for (const std::string& name : term.namespaces) {
      if (const PodView* found = in_namespace(name)) return found;
    }
  }
  return nullptr;
}

}  // namespace

void Run(const InterPodAntiAffinityArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  std::vector<std::vector<PodNumber>> by_node;
  PodsByNamespace by_namespace;
  for (const NodeNumber node : run.nodes) {
    by_node.push_back(
        run.PodsOn(node, [&](const PodView& pod) { return !pod.is_finished && args.pods.Takes(*pod.pod); }));
    for (const PodNumber pod : by_node.back()) by_namespace[view.pod(pod).pod->metadata.namespace_name].push_back(pod);
  }
  for (std::vector<PodNumber>& pods : by_node) {
    SortByPriority(view, pods);
    for (const PodNumber number : pods) {
      const PodView& pod = view.pod(number);
      const PodView* const excluded = FindExcluded(view, pod, by_namespace);
      if (excluded == nullptr || !run.MayEvict(pod)) continue;
      const EvictionAnswer answer = run.Evict(
          number, "its anti-affinity excludes " + excluded->Key() + " on " + view.node(excluded->node).name());
      if (answer == EvictionAnswer::kNodeLimit) break;
      if (answer == EvictionAnswer::kTotalLimit) return;
      // Once it is gone, the pods that exclude it can stay.
      if (answer == EvictionAnswer::kEvicted) std::erase(by_namespace[pod.pod->metadata.namespace_name], number);
    }
  }
}

}  // namespace berth::rebalance
