// SPDX-License-Identifier: Apache-2.0
// StrategyRun: what a strategy is given when it runs once, and what it says. Private to this folder.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/objections.h"
#include "berth/rebalance/policy.h"

namespace berth::rebalance {

using EvictionAnswer = EvictionCounter::Answer;

struct StrategyRun {
  const ClusterView& view;
  const std::vector<NodeNumber>& nodes;  // that the policy looks at
  const Evictor& evictor;
  EvictionCounter& counter;
  Time now;
  const PolicyProfile& profile;
  const StrategyArgs& strategy;
  const std::set<PodNumber>& refused;  // pods that cannot be evicted, as if the API server refused
  std::vector<Objection>& objections;
  const Measurements* measurements;
  std::size_t nodes_emptied;  // by this plan so far

  EvictionAnswer Evict(PodNumber pod, std::string reason) const {
    if (refused.contains(pod)) return EvictionAnswer::kRefused;
    const EvictionAnswer answer = counter.Evict(view.pod(pod));
    if (answer == EvictionAnswer::kEvicted) Object(pod, std::move(reason));
    return answer;
  }

  // Adds an objection without counting an eviction: for berth's own strategies. False: the pod has been refused.
  bool Object(PodNumber pod, std::string reason) const {
    if (refused.contains(pod)) return false;
    Objection& objection = objections.emplace_back();
    objection.pod = pod;
    objection.profile = &profile;
    objection.strategy = &strategy;
    objection.reason = std::move(reason);
    return true;
  }

  bool MayEvict(const PodView& pod) const { return evictor.Filter(pod) && evictor.PreEvictionFilter(pod); }

  // The pods of the node for which `take` holds.
  template <typename Take>
  std::vector<PodNumber> PodsOn(NodeNumber node, Take take) const {
    std::vector<PodNumber> pods;
    for (const PodNumber number : view.node(node).pods) {
      if (take(view.pod(number))) pods.push_back(number);
    }
    return pods;
  }
};

}  // namespace berth::rebalance
