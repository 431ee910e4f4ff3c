// SPDX-License-Identifier: Apache-2.0
// BlockChooser: the best node by branch and bound over a k-d tree of the nodes' amounts (amount_blocks.h,
// block_search.h), for the first pod of its class. Rows of equal amounts of cpu, memory and pods are one point of the
// tree, similar points one leaf, a block; the best that any node of a block could score bounds it, and only blocks that
// may hold the best node are looked into. Odd rows, which are in no block, are asked about one by one.
//
// It is asked first, and answers where every plugin that has a say looks at amounts alone (framework::AmountsPlugin) or
// says the same of all nodes. Measured with berth-bench, CPU a pod with and without it: `unique` 27 and 139 us at 5,000
// nodes, 129 and 2,682 at 100,000; `mixed` 31 and 31, 116 and 120 (docs/adr/0007-choosing-a-node.md). Within turns
// only.
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
  // Both must outlive it.
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

  const std::vector<const framework::AmountsPlugin*> filter_amounts_;  // by filter; null: it looks at more
  const std::vector<const framework::AmountsPlugin*> score_amounts_;   // by score plugin
  ClassUpdater& updater_;
  BlockSearch search_;

  // Of the last cycle that it was asked in.
  BlockSearch::Question question_;
  // What all nodes but odd ones have the same of: the raw scores of the class's columns, parallel to them, and their
  // sum with the other scores.
  std::vector<std::int64_t> raw_scores_;
  std::int64_t constant_ = 0;
  std::vector<std::uint32_t> verdict_counts_;

  // Scratch.
  std::vector<framework::VerdictId> odd_verdicts_;  // by row
  std::vector<std::int64_t> odd_scores_;            // the same
  std::vector<NodeIndex> feasible_;                 // of the odd rows
  std::vector<std::int64_t> totals_;                // parallel to it
};

}  // namespace berth::runtime
