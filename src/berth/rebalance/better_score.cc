// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/better_score.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "berth/rebalance/pod_age.h"

namespace berth::rebalance {
namespace {

// Where to begin depends on the time alone, so that a restart loses nothing and two looks at the same moment see the
// same pods.
constexpr Duration kTurn = std::chrono::minutes(1);

}  // namespace

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

}  // namespace berth::rebalance
