// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/duplicates.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {
namespace {

// An owner's pods beyond the first of each node.
struct OwnerDuplicates {
  std::string key;   // DuplicateKey
  std::string what;  // "ReplicaSet web-5c7"
  std::vector<std::pair<NodeNumber, std::vector<PodNumber>>> by_node;
};

// Counts the nodes where one of the pods could be. Like the descheduler it counts a pod's nodes only where there are
// several.
std::size_t CountTargets(const StrategyRun& run, const OwnerDuplicates& owner) {
  std::set<NodeNumber> targets;
  std::vector<const api::PodSpec*> seen;  // pods with the same demands have the same nodes
  for (const auto& [node, pods] : owner.by_node) {
    for (const PodNumber number : pods) {
      const PodView& pod = run.view.pod(number);
      const api::PodSpec& spec = pod.pod->spec;
      const bool is_seen = std::ranges::any_of(seen, [&spec](const api::PodSpec* other) {
        return other->tolerations == spec.tolerations && other->node_selector == spec.node_selector &&
               other->node_affinity == spec.node_affinity;
      });
      if (is_seen) continue;
      seen.push_back(&spec);
      std::vector<NodeNumber> matching;
      for (const NodeNumber candidate : run.nodes) {
        const api::Node& object = *run.view.node(candidate).node;
        if (!plugins::HasUntoleratedHardTaint(object.taints, spec.tolerations) && pod.required->Matches(object))
          matching.push_back(candidate);
      }
      if (matching.size() > 1) targets.insert(matching.begin(), matching.end());
    }
  }
  return targets.size();
}

}  // namespace

void Run(const RemoveDuplicatesArgs& args, const StrategyRun& run) {
  std::map<std::string, std::size_t> owner_pods;  // by DuplicateKey
  std::map<std::string, std::size_t> index;       // in `owners`
  std::vector<OwnerDuplicates> owners;            // in the order in which their first duplicate was seen
  for (const NodeNumber node : run.nodes) {
    std::set<std::vector<std::string>> seen;
    for (const PodNumber number : run.view.node(node).pods) {
      const PodView& pod = run.view.pod(number);
      if (!IsDuplicable(args, pod) || !run.MayEvict(pod)) continue;
      for (const auto& owner : pod.details->metadata.owners) ++owner_pods[DuplicateKey(pod, owner)];
      if (seen.insert(DuplicateSignature(pod)).second) continue;
      for (const auto& owner : pod.details->metadata.owners) {
        const auto [at, is_new] = index.emplace(DuplicateKey(pod, owner), owners.size());
        if (is_new) owners.push_back({at->first, owner.kind + " " + owner.name, {}});
        auto& by_node = owners[at->second].by_node;
        if (by_node.empty() || by_node.back().first != node) by_node.push_back({node, {}});
        by_node.back().second.push_back(number);
      }
    }
  }
  for (const OwnerDuplicates& owner : owners) {
    const std::size_t targets = CountTargets(run, owner);
    if (targets < 2) continue;
    const std::size_t share = (owner_pods[owner.key] + targets - 1) / targets;
    for (const auto& [node, pods] : owner.by_node) {
      for (std::size_t i = share - 1; i < pods.size(); ++i) {
        const EvictionAnswer answer =
            run.Evict(pods[i], "its node has " + std::to_string(pods.size() + 1) + " pods of " + owner.what +
                                   ", where " + std::to_string(share) + " would do");
        if (answer == EvictionAnswer::kNodeLimit) break;
        if (answer == EvictionAnswer::kTotalLimit) return;
      }
    }
  }
}

}  // namespace berth::rebalance
