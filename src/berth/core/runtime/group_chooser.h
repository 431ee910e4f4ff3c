// SPDX-License-Identifier: Apache-2.0
// GroupChooser: finds the best node in a bucketed ordered index of the feasible rows (totals_order.h): rows are in
// groups, and each group has a balanced tree by total. Plugins that depend on pods anywhere see a row only through a
// few numbers, its marks (framework::GroupingPlugin). Rows with equal marks form a group, for which one row is
// evaluated, and the best row of a group is at the top of its tree. A pod costs one evaluation for each group, and one
// for the row that the previous pod changed.
//
// It is tried from the second pod of a class on, and answers if every plugin that has to be called in this cycle can
// mark rows. It reduces the CPU time of a pod of `basic` to a third (docs/adr/0007-choosing-a-node.md). Within turns
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/core/runtime/class_updater.h"
#include "berth/core/runtime/node_chooser.h"
#include "berth/core/runtime/row_orders.h"
#include "berth/core/runtime/scorer.h"
#include "berth/core/runtime/totals_order.h"

namespace berth::runtime {

class GroupChooser final : public NodeChooser {
 public:
  // All arguments must outlive it.
  GroupChooser(const ProfileTraits& profile, ClassUpdater& updater, Scorer& scorer);

  std::string_view Name() const override { return "groups"; }
  bool Choose(EvaluationCycle& cycle) override;
  framework::Status StatusOf(const EvaluationCycle& cycle, framework::NodeIndex row) const override;
  void CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const override;
  std::size_t kept_count() const override { return orders_.size(); }
  void DropIdle() override;

 private:
  using NodeIndex = framework::NodeIndex;
  using VerdictId = framework::VerdictId;

  // Rows that plugins cannot tell apart: the rows of one group of the order that are not special, or a single special
  // row.
  struct Candidate {
    NodeIndex some_row = framework::kNoNode;
    std::size_t size = 0;
    TotalsOrder::GroupId group = TotalsOrder::kNoGroup;
    TotalsOrder::LevelId level = TotalsOrder::kNoLevel;  // the best level
    std::size_t best_count = 0;                          // rows in the best level
    bool is_special = false;
    VerdictId verdict = framework::kVerdictOk;
  };

  bool ChooseInOrder(EvaluationCycle& cycle);
  bool PlanGroupers(const EvaluationCycle& cycle);
  void CollectCandidates(const EvaluationCycle& cycle);
  void AddSpecialCandidates(const EvaluationCycle& cycle);
  bool FilterCandidates(EvaluationCycle& cycle);
  void Refuse(EvaluationCycle& cycle) const;
  bool PreScoreCandidates(EvaluationCycle& cycle) const;
  bool ScoreCandidates(EvaluationCycle& cycle);
  void ChooseAmongCandidates(EvaluationCycle& cycle) const;
  NodeIndex NthBest(const Candidate& candidate, std::size_t n) const;
  bool IsSpecial(NodeIndex row) const { return row < special_in_.size() && special_in_[row] == special_cycle_; }

  const Groupers filter_groupers_;  // by filter; null: it cannot mark rows
  const Groupers score_groupers_;   // by score plugin
  ClassUpdater& updater_;
  Scorer& scorer_;
  RowOrders orders_;

  // State of the last cycle in which Choose() was called.
  Groupers groupers_;                   // the plugins that have to be called
  const TotalsOrder* order_ = nullptr;  // null: there was no order
  std::vector<Candidate> candidates_;
  std::vector<VerdictId> group_verdicts_;  // by group of order_
  std::vector<VerdictId> verdicts_;        // by row; only the candidates' rows are set
  std::vector<std::uint32_t> special_in_;  // by row: the special_cycle_ in which it was last special
  std::uint32_t special_cycle_ = 0;

  // Scratch.
  std::vector<std::uint32_t> specials_of_level_, specials_of_group_;  // counts for order_; all 0 between cycles
  std::vector<NodeIndex> asked_rows_;                                 // one for each candidate
  std::vector<std::size_t> feasible_candidates_;                      // indices; the next two vectors are parallel
  std::vector<NodeIndex> feasible_;
  std::vector<std::size_t> feasible_sizes_;
  std::vector<std::int64_t> totals_;
};

}  // namespace berth::runtime
