// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/consolidate.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "berth/api/selector.h"
#include "berth/base/check.h"
#include "berth/rebalance/node_mark.h"
#include "berth/rebalance/packing.h"
#include "berth/rebalance/packing_view.h"
#include "berth/rebalance/utilization.h"

namespace berth::rebalance {
namespace {

// Sets which nodes may be emptied, and which may get pods: only those in use, so that no further node comes into use.
void SetBins(const ConsolidateArgs& args, const StrategyRun& run, PackingView& packing) {
  const auto selector = api::ParseLabelSelector(args.node_selector);
  BERTH_CHECK(selector.ok(), args.node_selector);
  PackingProblem& problem = packing.problem();
  std::vector<bool> is_used(problem.bins.size()), stays(problem.bins.size());
  for (const PackingItem& item : problem.items) {
    is_used[item.bin] = true;
    if (!item.may_move) stays[item.bin] = true;
  }
  for (std::size_t i = 0; i < problem.bins.size(); ++i) {
    const NodeView& node = run.view.node(packing.NodeOf(i));
    PackingBin& bin = problem.bins[i];
    bin.goes_first = IsConsolidating(*node.node);
    // A cordon that somebody else has made stays that one's: to empty the node would mark it as berth's own.
    const bool is_cordoned_by_others = node.node->unschedulable && !bin.goes_first;
    bin.may_empty = is_used[i] && !stays[i] && !is_cordoned_by_others && !IsLeftAlone(*node.node, run.now) &&
                    selector->Matches(node.node->metadata.labels) && IsWithin(node, args.thresholds);
    bin.may_receive = bin.may_receive && is_used[i];
  }
}

}  // namespace

void Run(const ConsolidateArgs& args, const StrategyRun& run) {
  if (run.nodes_emptied >= args.nodes_per_round) return;
  const std::size_t nodes_max = args.nodes_per_round - run.nodes_emptied;
  PackingView packing(run);
  SetBins(args, run, packing);
  packing.problem().keep = args.keep_nodes;
  // All nodes that could go are searched for, so that the first ones are those of the best assignment; only these
  // become objections.
  std::set<std::size_t> emptied_bins;
  for (const PackingMove& move : PackTogether(packing.problem())) {
    emptied_bins.insert(move.empties);
    if (emptied_bins.size() > nodes_max) return;
    const NodeNumber emptied = packing.NodeOf(move.empties);
    const bool leaves_it = packing.problem().items[move.item].bin == move.empties;
    const std::string& name = run.view.node(emptied).name();
    if (!run.Object(packing.PodOf(move.item),
                    leaves_it ? "its node can be emptied" : "it makes room, so that " + name + " can be emptied")) {
      continue;
    }
    run.objections.back().empties = emptied;
    run.objections.back().wanted = packing.NodeOf(move.to);
  }
}

}  // namespace berth::rebalance
