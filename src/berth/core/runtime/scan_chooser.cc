// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/scan_chooser.h"

#include <algorithm>
#include <string>

#include "berth/base/go_text.h"
#include "berth/base/random.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/extender_stage.h"
#include "berth/core/runtime/extender_verdicts.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/node_filters.h"
#include "berth/core/runtime/plugin_calls.h"

namespace berth::runtime {

using framework::kNoNode;
using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;

bool ScanChooser::Choose(EvaluationCycle& cycle) {
  const std::span<const NodeIndex> rows = RowsToSearch(cycle);
  if (!FilterAll(cycle, rows)) return true;
  // The nominated node's refusal is reported even if the node is outside a narrowed search.
  const NodeIndex refused = cycle.refused_nominated_row;
  if (refused != kNoNode && verdicts_[refused] == kVerdictNoNode)
    verdicts_[refused] = VerdictOf(cycle, cycle.outcome.nominated_status);
  Outcome& outcome = cycle.outcome;
  if (cycle.options.with_detail) outcome.evaluated.assign(rows.begin(), rows.end());
  const ExtenderVerdicts* extenders = cycle.request.extenders;
  if (extenders != nullptr) ApplyExtenderFilters(cycle, feasible_, verdicts_);
  if (feasible_.empty()) {
    outcome.result = Result::kRefused;
    CollectRefusals(cycle, rows);
    if (extenders != nullptr && extenders->has_refused) outcome.unschedulable_plugins.emplace(kExtenderName);
    return true;
  }
  const bool filters_only = extenders != nullptr && extenders->filters_only;
  if (filters_only) {
    outcome.result = Result::kFeasible;
    outcome.feasible = feasible_;
    outcome.feasible_count = feasible_.size();
    if (feasible_.size() <= extenders->totals_above) return true;
  }
  if (cycle.metrics != nullptr) cycle.metrics->ObserveFilters(cycle);
  if (!ScoreFeasible(cycle)) return true;
  if (filters_only) {
    outcome.totals = totals_;
  } else {
    ChooseFromTotals(cycle);
  }
  return true;
}

void ScanChooser::AddDetail(EvaluationCycle& cycle) {
  Outcome& outcome = cycle.outcome;
  cycle.chooser = this;
  outcome.scores.clear();
  outcome.raw_scores.clear();
  const std::span<const NodeIndex> rows = RowsToSearch(cycle);
  if (!FilterAll(cycle, rows) || !ScoreFeasible(cycle)) return;
  outcome.evaluated.assign(rows.begin(), rows.end());
}

std::span<const NodeIndex> ScanChooser::RowsToSearch(EvaluationCycle& cycle) {
  const Outcome& outcome = cycle.outcome;
  if (!outcome.narrowed_to) {
    updater_.Update(cycle);
    return cycle.nodes().rows();
  }
  narrowed_rows_.clear();
  for (const std::string& name : *outcome.narrowed_to) {
    const NodeIndex row = cycle.nodes().Find(name);
    if (row != kNoNode) narrowed_rows_.push_back(row);
  }
  std::sort(narrowed_rows_.begin(), narrowed_rows_.end());
  cycle.absent_status =
      Status::UnschedulableAndUnresolvable("node(s) didn't satisfy plugin(s) " + GoList(outcome.narrowing_plugins));
  // The class only plans what it keeps: results for nodes outside the search are not needed.
  static_cast<void>(updater_.Plan(cycle));
  cycle.are_scores_kept = false;
  return narrowed_rows_;
}

// Fills verdicts_ and feasible_ for these rows from kept verdicts, from filters that have to be called, and from runs
// with nominated pods. Returns false when a filter fails.
bool ScanChooser::FilterAll(EvaluationCycle& cycle, std::span<const NodeIndex> rows) {
  const bool asks_all = cycle.outcome.narrowed_to.has_value();
  verdicts_.assign(cycle.nodes().row_count(), kVerdictNoNode);
  if (asks_all) {
    for (const NodeIndex row : rows) verdicts_[row] = kVerdictOk;
  } else {
    const std::vector<VerdictId>& kept = cycle.kept->verdicts;
    for (const NodeIndex row : rows) verdicts_[row] = kept[row];
  }
  for (std::size_t f = 0; f < cycle.profile.filters.size(); ++f) {
    if (cycle.plan.is_filter_active[f] && (asks_all || !cycle.profile.filters[f].is_kept)) AskFilter(cycle, f, rows);
  }
  if (cycle.do_nominations_matter && (asks_all || !cycle.kept->respects_nominations)) AskAboutNominations(cycle);
  feasible_.clear();
  for (const NodeIndex row : rows) {
    if (verdicts_[row] == kVerdictOk) feasible_.push_back(row);
  }
  return !FindError(cycle, rows);
}

// A node's verdict is that of the first filter that refuses it, so that this filter is also called for nodes that a
// kept filter after it refuses.
void ScanChooser::AskFilter(EvaluationCycle& cycle, std::size_t filter, std::span<const NodeIndex> rows) {
  const framework::StatusTable& statuses = cycle.kept->statuses;
  refused_later_.clear();
  if (statuses.size() > 1) {
    for (const NodeIndex row : rows) {
      const VerdictId verdict = verdicts_[row];
      if (verdict != kVerdictOk && statuses.Position(verdict) > static_cast<int>(filter)) refused_later_.push_back(row);
    }
  }
  FilterRows(cycle, filter, rows, verdicts_);
  if (refused_later_.empty()) return;
  asked_verdicts_.resize(cycle.nodes().row_count());
  for (const NodeIndex row : refused_later_) asked_verdicts_[row] = kVerdictOk;
  FilterRows(cycle, filter, refused_later_, asked_verdicts_);
  for (const NodeIndex row : refused_later_) {
    if (asked_verdicts_[row] != kVerdictOk) verdicts_[row] = asked_verdicts_[row];
  }
}

void ScanChooser::AskAboutNominations(EvaluationCycle& cycle) {
  for (const framework::NominatedOnRow& on_row : cycle.request.nominated->rows()) {
    if (on_row.row >= cycle.nodes().row_count() || verdicts_[on_row.row] == kVerdictNoNode) continue;
    framework::CycleState state = cycle.state.Clone();
    const Status status =
        RunFiltersWithNominated(cycle, state, cycle.pod(), cycle.nodes().Info(on_row.row), on_row.pods);
    verdicts_[on_row.row] = VerdictOf(cycle, status);
  }
}

// If a filter failed, its error becomes the outcome.
bool ScanChooser::FindError(EvaluationCycle& cycle, std::span<const NodeIndex> rows) const {
  const framework::StatusTable& statuses = cycle.kept->statuses;
  bool any = false;
  for (VerdictId id = 1; id < statuses.size(); ++id) any |= !statuses.Get(id).IsRejected();
  if (!any) return false;
  for (const NodeIndex row : rows) {
    const VerdictId verdict = verdicts_[row];
    if (verdict == kVerdictOk || verdict == kVerdictNoNode) continue;
    const Status& status = statuses.Get(verdict);
    if (status.IsRejected()) continue;
    cycle.Fail(FilterErrorText(status));
    return true;
  }
  return false;
}

void ScanChooser::CollectRefusals(EvaluationCycle& cycle, std::span<const NodeIndex> rows) const {
  Outcome& outcome = cycle.outcome;
  const framework::StatusTable& statuses = cycle.kept->statuses;
  outcome.unschedulable_plugins.insert(outcome.narrowing_plugins.begin(), outcome.narrowing_plugins.end());
  std::vector<bool> seen(statuses.size(), false);
  for (const NodeIndex row : rows) {
    const VerdictId verdict = verdicts_[row];
    if (verdict == kVerdictOk || verdict == kVerdictNoNode || seen[verdict]) continue;
    seen[verdict] = true;
    outcome.unschedulable_plugins.insert(std::string(statuses.Get(verdict).plugin()));
  }
}

// Fills totals_ for feasible_, which must not be empty. Returns false when a plugin fails.
bool ScanChooser::ScoreFeasible(EvaluationCycle& cycle) {
  Outcome& outcome = cycle.outcome;
  const auto& scores = cycle.profile.scores;
  const bool with_detail = cycle.options.with_detail;
  outcome.feasible_count = feasible_.size();
  outcome.result = Result::kFeasible;
  if (with_detail) outcome.feasible = feasible_;
  totals_.assign(feasible_.size(), 0);
  if (feasible_.size() > 1 && (!scores.empty() || cycle.request.extenders != nullptr)) {
    if (!scorer_.RunPreScore(cycle, feasible_)) return false;
    outcome.is_scored = true;
    const bool uses_fixed = cycle.are_scores_kept && !with_detail;
    if (uses_fixed) {
      for (std::size_t i = 0; i < feasible_.size(); ++i) totals_[i] = cycle.kept->fixed[feasible_[i]];
    }
    for (std::size_t s = 0; s < scores.size(); ++s) {
      const bool is_in_fixed = uses_fixed && cycle.kept->is_fixed_score[s];
      const bool is_needless = cycle.plan.is_score_idle[s] && !with_detail;
      if (!cycle.plan.is_score_active[s] || is_in_fixed || is_needless) continue;
      if (!scorer_.AddScores(cycle, s, feasible_, totals_)) return false;
    }
    if (cycle.request.extenders != nullptr) AddExtenderScores(cycle, feasible_, totals_);
    if (with_detail) outcome.totals = totals_;
  }
  return true;
}

// Chooses one of the best nodes with equal probability.
void ScanChooser::ChooseFromTotals(EvaluationCycle& cycle) const {
  Outcome& outcome = cycle.outcome;
  const std::int64_t best = *std::max_element(totals_.begin(), totals_.end());
  const auto best_count = static_cast<std::size_t>(std::count(totals_.begin(), totals_.end(), best));
  std::size_t left = best_count == 1 ? 0 : Random(cycle.request.seed).Below(best_count);
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] != best) continue;
    if (cycle.options.with_detail) outcome.best.push_back(feasible_[i]);
    if (left-- == 0) {
      outcome.node = feasible_[i];
      if (!cycle.options.with_detail) break;
    }
  }
  outcome.total = best;
}

Status ScanChooser::StatusOf(const EvaluationCycle& cycle, NodeIndex row) const {
  const VerdictId verdict = row < verdicts_.size() ? verdicts_[row] : kVerdictNoNode;
  if (verdict == kVerdictNoNode) return cycle.absent_status;
  return verdict == kVerdictOk ? Status() : cycle.kept->statuses.Get(verdict);
}

void ScanChooser::CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const {
  counts.by_verdict.resize(cycle.kept->statuses.size(), 0);
  for (const NodeIndex row : cycle.nodes().rows()) {
    const VerdictId verdict = row < verdicts_.size() ? verdicts_[row] : kVerdictNoNode;
    if (verdict == kVerdictNoNode) {
      ++counts.absent;
    } else {
      ++counts.by_verdict[verdict];
    }
  }
}

}  // namespace berth::runtime
