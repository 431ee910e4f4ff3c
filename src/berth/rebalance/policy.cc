// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/policy.h"

#include <algorithm>
#include <array>

namespace berth::rebalance {

bool NamespaceFilter::Takes(std::string_view namespace_name) const {
  const auto has = [namespace_name](const std::vector<std::string>& names) {
    return std::ranges::find(names, namespace_name) != names.end();
  };
  return (include.empty() || has(include)) && (exclude.empty() || !has(exclude));
}

bool PodSelection::Takes(const api::Pod& pod) const {
  return namespaces.Takes(pod.metadata.namespace_name) && (!labels || labels->Matches(pod.metadata.labels));
}

std::string_view NameOf(const StrategyArgs& args) {
  // In the order of the alternatives.
  static constexpr std::array<std::string_view, std::variant_size_v<StrategyArgs>> kNames = {
      "RemoveDuplicates",
      "RemovePodsViolatingNodeAffinity",
      "RemovePodsViolatingNodeTaints",
      "RemovePodsViolatingInterPodAntiAffinity",
      "RemovePodsViolatingTopologySpreadConstraint",
      "PodLifeTime",
      "RemoveFailedPods",
      "RemovePodsHavingTooManyRestarts",
      "LowNodeUtilization",
      "HighNodeUtilization",
  };
  return kNames[args.index()];
}

}  // namespace berth::rebalance
