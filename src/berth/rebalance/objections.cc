// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/objections.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "berth/rebalance/anti_affinity.h"
#include "berth/rebalance/back_to_spot.h"
#include "berth/rebalance/cheaper_node.h"
#include "berth/rebalance/consolidate.h"
#include "berth/rebalance/custom_metric.h"
#include "berth/rebalance/duplicates.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/pod_age.h"
#include "berth/rebalance/pod_strategies.h"
#include "berth/rebalance/spread.h"
#include "berth/rebalance/strategy_run.h"
#include "berth/rebalance/utilization.h"
#include "berth/rebalance/zone_repair.h"

namespace berth::rebalance {
namespace {

// The descheduler does nothing where a pod could go nowhere else.
constexpr std::size_t kNodesMin = 2;
// The first pod that is looked at depends on the time alone, so that a restart loses nothing and two looks at the same
// moment see the same pods.
constexpr Duration kTurn = std::chrono::minutes(1);

// BetterScore: pods that the scheduler would place elsewhere now. Only the core can say which they are: the strategy
// objects to all that may be moved, some of them each round, and the plan asks the core (plan.h).
void Run(const BetterScoreArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  std::vector<PodNumber> pods;
  for (const NodeNumber node : run.nodes) {
    for (const PodNumber number : view.node(node).pods) {
      const PodView& pod = view.pod(number);
      if (!pod.is_finished && args.pods.Takes(*pod.pod) && !pod.is_moved) pods.push_back(number);
    }
  }
  if (pods.empty()) return;
  const std::size_t count = std::min(args.pods_per_round, pods.size());
  const auto turns = static_cast<std::uint64_t>(run.now.time_since_epoch() / kTurn);
  const std::size_t begin = count == pods.size() ? 0 : static_cast<std::size_t>(turns * count % pods.size());
  for (std::size_t i = 0; i < count; ++i) {
    const PodNumber number = pods[(begin + i) % pods.size()];
    const PodView& pod = view.pod(number);
    if (!HasJustCome(pod, args.min_stay, run.now) && run.MayEvict(pod))
      run.Object(number, "the scheduler might place it elsewhere now");
  }
}

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
