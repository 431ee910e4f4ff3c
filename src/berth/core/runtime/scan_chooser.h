// SPDX-License-Identifier: Apache-2.0
// ScanChooser: finds the best node by a linear search: every active plugin is called for every row, or for every
// feasible row, and the largest total wins. All other choosers are compared with it. Only the scan handles narrowed
// searches, extenders and the forms that keep nothing, and only it has the detail for `explain`. It uses the class's
// kept verdicts and scores. It is tried last. Within turns only.
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
  // Both arguments must outlive it.
  ScanChooser(ClassUpdater& updater, Scorer& scorer) : updater_(updater), scorer_(scorer) {}

  std::string_view Name() const override { return "scan"; }
  bool Choose(EvaluationCycle& cycle) override;  // always returns true
  framework::Status StatusOf(const EvaluationCycle& cycle, framework::NodeIndex row) const override;
  void CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const override;

  // After another chooser found a node: adds each plugin's verdict and score for each row to the outcome, for
  // explanations. The choice stays. From now on this chooser answers StatusOf() for the cycle.
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
  std::vector<framework::VerdictId> verdicts_;  // by row; of the last cycle
  // Scratch.
  std::vector<framework::NodeIndex> narrowed_rows_;
  std::vector<framework::NodeIndex> refused_later_;  // rows that a kept filter after the current one refuses
  std::vector<framework::VerdictId> asked_verdicts_;
  std::vector<framework::NodeIndex> feasible_;
  std::vector<std::int64_t> totals_;  // parallel to feasible_
};

}  // namespace berth::runtime
