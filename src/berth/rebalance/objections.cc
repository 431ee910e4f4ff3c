// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/objections.h"

#include <string>
#include <utility>
#include <variant>

#include "berth/rebalance/anti_affinity.h"
#include "berth/rebalance/back_to_spot.h"
#include "berth/rebalance/better_score.h"
#include "berth/rebalance/cheaper_node.h"
#include "berth/rebalance/consolidate.h"
#include "berth/rebalance/custom_metric.h"
#include "berth/rebalance/duplicates.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/node_strategies.h"
#include "berth/rebalance/pod_strategies.h"
#include "berth/rebalance/spread.h"
#include "berth/rebalance/strategy_run.h"
#include "berth/rebalance/utilization.h"
#include "berth/rebalance/zone_repair.h"

namespace berth::rebalance {
namespace {

// The descheduler does nothing where a pod could go nowhere else.
constexpr std::size_t kNodesMin = 2;

}  // namespace

Expected<std::vector<Objection>> FindObjections(const Policy& policy, const ClusterView& view,
                                                const ObjectionOptions& options) {
  std::vector<Objection> objections;
  const std::vector<NodeNumber> nodes = ReadyNodes(view, policy.node_selector);
  std::vector<Evictor> evictors;
  for (std::size_t i = 0; i < policy.profiles.size(); ++i) {
    auto evictor = Evictor::Make(policy.profiles[i].evictor, view, options.now);
    if (!evictor.ok()) return evictor.error().Wrap("profiles[" + std::to_string(i) + "]: DefaultEvictor");
    evictors.push_back(std::move(*evictor));
  }
  if (nodes.size() < kNodesMin) return objections;
  EvictionCounter counter(options.limits);
  const auto run_all = [&](const std::vector<StrategyArgs> PolicyProfile::* strategies) {
    for (std::size_t i = 0; i < policy.profiles.size(); ++i) {
      const PolicyProfile& profile = policy.profiles[i];
      for (const StrategyArgs& strategy : profile.*strategies) {
        const StrategyRun run{view,
                              nodes,
                              evictors[i],
                              counter,
                              options.now,
                              profile,
                              strategy,
                              options.refused,
                              objections,
                              options.measurements,
                              options.nodes_emptied};
        std::visit([&run](const auto& args) { Run(args, run); }, strategy);
      }
    }
  };
  run_all(&PolicyProfile::deschedule);
  run_all(&PolicyProfile::balance);
  return objections;
}

}  // namespace berth::rebalance
