// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/kept_totals_chooser.h"

#include <algorithm>

#include "berth/base/random.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/normalization.h"
#include "berth/core/runtime/row_loops.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;

bool KeptTotalsChooser::Choose(EvaluationCycle& cycle) {
  if (cycle.request.extenders != nullptr || cycle.outcome.narrowed_to) return false;
  updater_.Update(cycle);
  const KeptEvaluation& kept = *cycle.kept;
  if (!IsKeptComplete(cycle) || kept.feasible_count == 0) return false;
  if (!cycle.plan.unkept_filters.empty() || cycle.plan.has_unkept_scores) return false;
  if (!std::all_of(kept.columns.begin(), kept.columns.end(), [](const auto& column) { return column.is_zero; }))
    return false;

  Outcome& outcome = cycle.outcome;
  const std::vector<VerdictId>& verdicts = kept.verdicts;
  const std::vector<std::int64_t>& fixed = kept.fixed;
  const BestRows best = BestOf(verdicts, fixed);
  std::size_t left = best.count == 1 ? 0 : Random(cycle.request.seed).Below(best.count);
  for (NodeIndex row = 0; row < verdicts.size(); ++row) {
    if (verdicts[row] != kVerdictOk || fixed[row] != best.total) continue;
    if (cycle.options.with_detail) outcome.best.push_back(row);
    if (left-- > 0) continue;
    outcome.node = row;
    if (!cycle.options.with_detail) break;
  }
  outcome.result = Result::kFeasible;
  outcome.feasible_count = kept.feasible_count;
  outcome.is_scored = kept.feasible_count > 1 && !cycle.profile.scores.empty();
  if (!outcome.is_scored) return true;
  outcome.total = best.total;
  for (const ScoreColumn& column : kept.columns)
    outcome.total += cycle.profile.scores[column.score].weight * Normalized(column.normalization, 0, {});
  return true;
}

Status KeptTotalsChooser::StatusOf(const EvaluationCycle& cycle, NodeIndex row) const {
  const KeptEvaluation& kept = *cycle.kept;
  const VerdictId verdict = row < kept.verdicts.size() ? kept.verdicts[row] : kVerdictNoNode;
  if (verdict == kVerdictNoNode) return cycle.absent_status;
  return verdict == kVerdictOk ? Status() : kept.statuses.Get(verdict);
}

void KeptTotalsChooser::CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const {
  counts.by_verdict.assign(cycle.kept->verdict_counts.begin(), cycle.kept->verdict_counts.end());
}

}  // namespace berth::runtime
