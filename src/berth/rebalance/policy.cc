// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/policy.h"

#include <array>

namespace berth::rebalance {

std::string_view ToString(MetricsSource source) {
  return source == MetricsSource::kKubernetes ? "KubernetesMetrics" : "Prometheus";
}

std::vector<const StrategyArgs*> StrategiesOf(const Policy& policy) {
  std::vector<const StrategyArgs*> strategies;
  for (const auto point : {&PolicyProfile::deschedule, &PolicyProfile::balance}) {
    for (const PolicyProfile& profile : policy.profiles) {
      for (const StrategyArgs& strategy : profile.*point) strategies.push_back(&strategy);
    }
  }
  return strategies;
}

std::string_view NameOf(const StrategyArgs& args) {
  // The names, in the order of the variant's alternatives.
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
      "BackToSpot",
      "CheaperNode",
      "BetterScore",
      "Consolidate",
      "CustomMetric",
      "ZoneRepair",
  };
  return kNames[args.index()];
}

bool IsOwn(const StrategyArgs& args) { return args.index() > StrategyArgs(HighNodeUtilizationArgs{}).index(); }

}  // namespace berth::rebalance
