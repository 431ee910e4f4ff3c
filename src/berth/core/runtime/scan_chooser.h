// SPDX-License-Identifier: Apache-2.0
// ScanChooser: the best node by a scan of all rows: every plugin that has a say is asked about every row, or every
// feasible row, and the largest total wins. The linear search that all other choosers are compared with; it alone
// serves narrowed searches, extenders and the forms that keep nothing, and it alone gives the detail for `explain`.
// Verdicts and scores that the class keeps are taken from there. It is asked when no other chooser can tell. Within
// turns only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "berth/core/runtime/class_updater.h"
#include "berth/core/runtime/node_chooser.h"
#include "berth/core/runtime/scorer.h"

namespace berth::runtime {

class ScanChooser final : public NodeChooser {
 public:
  // Both must outlive it.
  ScanChooser(ClassUpdater& updater, Scorer& scorer) : updater_(updater), scorer_(scorer) {}

  std::string_view Name() const override { return "scan"; }
  bool Choose(EvaluationCycle& cycle) override;  // always true
  framework::Status StatusOf(const EvaluationCycle& cycle, framework::NodeIndex row) const override;
  void CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const override;

  // After another chooser found a node: adds to the outcome, for people to read, what each plugin said about each row.
  // The choice stays. From now on this chooser answers for the cycle.
  void AddDetail(EvaluationCycle& cycle);

 private:
  std::span<const framework::NodeIndex> RowsToSearch(EvaluationCycle& cycle);
  bool FilterAll(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows);
  void AskFilter(EvaluationCycle& cycle, std::size_t filter, std::span<const framework::NodeIndex> rows);
  void AskAboutNominations(EvaluationCycle& cycle);
  bool FindError(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows) const;
  void CollectRefusals(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows) const;
  bool ScoreFeasible(EvaluationCycle& cycle);
  void ChooseFromTotals(EvaluationCycle& cycle) const;

  ClassUpdater& updater_;
  Scorer& scorer_;
  std::vector<framework::VerdictId> verdicts_;  // of the last cycle, by row
  // Scratch.
  std::vector<framework::NodeIndex> narrowed_rows_;
  std::vector<framework::NodeIndex> refused_later_;  // rows that a kept filter later in the profile refuses
  std::vector<framework::VerdictId> asked_verdicts_;
  std::vector<framework::NodeIndex> feasible_;
  std::vector<std::int64_t> totals_;  // parallel to feasible_
};

}  // namespace berth::runtime
