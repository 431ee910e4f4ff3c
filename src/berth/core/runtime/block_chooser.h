// SPDX-License-Identifier: Apache-2.0
// BlockChooser: finds the best node by branch and bound over a k-d tree of the nodes' amounts (amount_blocks.h,
// block_search.h), for the first pod of its class. Rows with equal amounts of CPU, memory and pods are one point, and a
// leaf holds similar points and is called a block. The best score that any node of a block could have is the block's
// bound, and only blocks that may hold the best node are searched. Odd rows, which are in no block, are evaluated one
// by one.
//
// It is the first chooser to be tried. It answers if every active plugin depends on amounts only
// (framework::AmountsPlugin) or gives all nodes the same answer. Measured with berth-bench, CPU microseconds per pod
// with and without it: `unique` 27 and 139 at 5,000 nodes, 129 and 2,682 at 100,000; `mixed` 31 and 31, 116 and 120
// (docs/adr/0007-choosing-a-node.md). Within turns only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/core/runtime/block_search.h"
#include "berth/core/runtime/class_updater.h"
#include "berth/core/runtime/node_chooser.h"

namespace berth::runtime {

class BlockChooser final : public NodeChooser {
 public:
  // Both arguments must outlive it.
  BlockChooser(const ProfileTraits& profile, ClassUpdater& updater);

  std::string_view Name() const override { return "blocks"; }
  bool Choose(EvaluationCycle& cycle) override;
  framework::Status StatusOf(const EvaluationCycle& cycle, framework::NodeIndex row) const override;
  void CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const override;

 private:
  using NodeIndex = framework::NodeIndex;

  static bool CanUseBlocks(const EvaluationCycle& cycle);
  bool Plan(EvaluationCycle& cycle);
  bool PlanScores(EvaluationCycle& cycle, const framework::Cycle& of_plain_nodes);
  bool Search(EvaluationCycle& cycle);
  bool FilterOddRows(EvaluationCycle& cycle);
  bool ScoreOddRows(EvaluationCycle& cycle);
  bool HaveUsualRawScores(EvaluationCycle& cycle);

  // By filter; null: it depends on more than amounts.
  const std::vector<const framework::AmountsPlugin*> filter_amounts_;
  const std::vector<const framework::AmountsPlugin*> score_amounts_;  // by score plugin
  ClassUpdater& updater_;
  BlockSearch search_;

  // State of the last cycle in which Choose() was called.
  BlockSearch::Question question_;
  // The parts of the totals that all nodes except odd ones share: the raw scores of the class's columns, parallel to
  // these, and their sum with the other scores.
  std::vector<std::int64_t> raw_scores_;
  std::int64_t constant_ = 0;
  std::vector<std::uint32_t> verdict_counts_;

  // Scratch.
  std::vector<framework::VerdictId> odd_verdicts_;  // by row
  std::vector<std::int64_t> odd_scores_;            // by row
  std::vector<NodeIndex> feasible_;                 // the feasible odd rows
  std::vector<std::int64_t> totals_;                // parallel to feasible_
};

}  // namespace berth::runtime
