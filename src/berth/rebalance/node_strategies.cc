// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/node_strategies.h"

#include <algorithm>
#include <string>
#include <utility>

#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/node_fit.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {

void Run(const NodeAffinityArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  for (const std::string& type : args.types) {
    const bool is_required = type.starts_with("required");
    for (const NodeNumber number : run.nodes) {
      const NodeView& node = view.node(number);
      const auto best_weight = [&](const PodView& pod) {
        std::int32_t best = 0;
        for (const NodeNumber other : run.nodes) best = std::max(best, PreferredWeight(pod, view.node(other)));
        return best;
      };
      const auto is_violated = [&](const PodView& pod) {
        const auto& affinity = pod.pod->spec.node_affinity;
        if (!affinity) return false;
        if (is_required) return affinity->required.has_value() && !pod.required->Matches(*node.node);
        return !affinity->preferred.empty() && best_weight(pod) > PreferredWeight(pod, node);
      };
      const auto pods = run.PodsOn(number, [&](const PodView& pod) {
        return !pod.is_finished && args.pods.Takes(*pod.pod) && is_violated(pod) && run.MayEvict(pod) &&
               FitsAnyNode(view, pod, run.nodes);
      });
      for (const PodNumber pod : pods) {
        const EvictionAnswer answer =
            run.Evict(pod, is_required ? "its node does not match its required node affinity"
                                       : "another node has more weight by its preferred node affinity (" +
                                             std::to_string(best_weight(view.pod(pod))) + ") than its own (" +
                                             std::to_string(PreferredWeight(view.pod(pod), node)) + ")");
        if (answer == EvictionAnswer::kNodeLimit) break;
        if (answer == EvictionAnswer::kTotalLimit) return;
      }
    }
  }
}

void Run(const NodeTaintsArgs& args, const StrategyRun& run) {
  for (const NodeNumber number : run.nodes) {
    const NodeView& node = run.view.node(number);
    const auto pods = run.PodsOn(number, [&](const PodView& pod) {
      return !pod.is_finished && args.pods.Takes(*pod.pod) && UntoleratedTaint(args, *pod.pod, *node.node) != nullptr &&
             run.MayEvict(pod);
    });
    for (const PodNumber pod : pods) {
      const api::Taint& taint = *UntoleratedTaint(args, *run.view.pod(pod).pod, *node.node);
      std::string text = taint.key;
      if (!taint.value.empty()) text += "=" + taint.value;
      const bool is_hard = taint.effect == api::TaintEffect::kNoSchedule;
      const EvictionAnswer answer =
          run.Evict(pod, "it does not tolerate the taint " + text + (is_hard ? ":NoSchedule" : ":PreferNoSchedule") +
                             " of its node");
      if (answer == EvictionAnswer::kNodeLimit) break;
      if (answer == EvictionAnswer::kTotalLimit) return;
    }
  }
}

}  // namespace berth::rebalance
