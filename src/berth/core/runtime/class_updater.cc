// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/class_updater.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "berth/core/runtime/charged.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/node_filters.h"
#include "berth/core/runtime/plugin_calls.h"
#include "berth/core/runtime/row_loops.h"
#include "berth/framework/row_runs.h"

namespace berth::runtime {

using framework::Dependency;
using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Normalization;
using framework::Status;
using framework::VerdictId;

namespace {

MinMax RangeOf(std::span<const NodeIndex> rows, std::span<const std::int64_t> scores) {
  if (rows.size() == 1) return {scores[rows.front()], scores[rows.front()]};  // the case of most pods
  MinMax range;
  framework::ForEachRun(rows, rows.size(), [&](NodeIndex first, std::size_t count) {
    const MinMax of_run = MinMaxOf(scores.subspan(first, count));
    range = {std::min(range.min, of_run.min), std::max(range.max, of_run.max)};
  });
  return range;
}

// Sets the verdicts of rows that have nominated pods from filter runs that include these pods.
void RespectNominations(EvaluationCycle& cycle, std::span<const NodeIndex> rows) {
  for (const NodeIndex row : rows) {
    if (!cycle.request.nominated->MatterTo(cycle.pod(), row)) continue;
    cycle.kept->verdicts[row] = VerdictOf(
        cycle,
        RunFiltersWithNominated(cycle, cycle.state, cycle.pod(), cycle.nodes().Info(row), cycle.PodsNominatedFor(row)));
  }
}

}  // namespace

void ClassUpdater::PlanNominations(EvaluationCycle& cycle) {
  // A pod's own nomination does not count for itself, so that its cycle cannot use the class's verdicts.
  const bool respects = cycle.options.form == Form::kReuse && cycle.do_nominations_matter &&
                        cycle.plan.extensions.empty() && cycle.plan.unkept_filters.empty() &&
                        cycle.request.nominated->RowOf(cycle.pod().uid) == framework::kNoNode;
  if (cycle.kept->respects_nominations == respects) return;
  cycle.kept->respects_nominations = respects;
  cycle.kept->version = 0;
}

bool ClassUpdater::Plan(EvaluationCycle& cycle) {
  const ProfileTraits& profile = cycle.profile;
  KeptEvaluation& kept = *cycle.kept;
  if (kept.has_plan) return true;
  kept.pre_score.assign(profile.pre_scores.size(), std::nullopt);
  kept.is_fixed_score.assign(profile.scores.size(), false);
  for (const ProfileTraits::Filter& filter : profile.filters)
    kept.needs_cluster |= filter.is_kept && filter.depends_on == Dependency::kCluster;
  std::set<std::string_view> skipped;
  for (std::size_t i = 0; i < profile.pre_scores.size(); ++i) {
    const framework::PreScorePlugin& plugin = *profile.pre_scores[i].plugin;
    if (!profile.pre_scores[i].is_kept) continue;
    const bool is_own = profile.pre_scores[i].is_own;
    if (is_own) kept.state.Write(framework::WorkBudget::kKey, cycle.work);
    Status status = Charged(cycle, is_own, 0, [&] {
      return plugin.PreScore({cycle.nodes(), kept.state, cycle.request.seed, cycle.request.wall_now}, cycle.pod(), {});
    });
    if (!status.IsSuccess() && !status.IsSkip()) return false;
    if (status.IsSkip()) skipped.insert(plugin.Name());
    kept.pre_score[i] = std::move(status);
  }
  cycle.state.MergeFrom(kept.state);
  for (std::size_t s = 0; s < profile.scores.size(); ++s) {
    const ProfileTraits::Score& score = profile.scores[s];
    if (!score.is_kept || skipped.contains(score.plugin->Name())) continue;
    kept.needs_cluster |= score.depends_on == Dependency::kCluster;
    kept.is_fixed_score[s] = score.normalization == Normalization::kNone;
    if (kept.is_fixed_score[s]) continue;
    std::vector<std::int64_t> raw;
    if (!kept.spare.empty()) {
      raw = std::move(kept.spare.back());
      kept.spare.pop_back();
    }
    raw.resize(kept.verdicts.size());
    kept.columns.push_back({s, score.normalization, std::move(raw), true});
  }
  kept.has_plan = true;
  return true;
}

// Stores the rows' raw scores. Returns false when a plugin fails or its score is out of range. The scan then calls the
// plugins for the feasible nodes only, and reports the errors that occur there.
bool ClassUpdater::KeepScores(EvaluationCycle& cycle, std::span<const NodeIndex> rows) {
  KeptEvaluation& kept = *cycle.kept;
  for (ScoreColumn& column : kept.columns) {
    if (!ScoreRows(cycle, column.score, rows, column.raw).IsSuccess()) return false;
    const MinMax range = RangeOf(rows, column.raw);
    if (range.min < 0 || range.max > framework::kRawScoreMax) return false;
    column.is_zero = column.is_zero && range.max == 0;
  }
  framework::FillRows(rows, std::span(kept.fixed), std::int64_t{0});
  scores_.resize(cycle.nodes().row_count());
  for (std::size_t s = 0; s < cycle.profile.scores.size(); ++s) {
    if (!kept.is_fixed_score[s]) continue;
    if (!ScoreRows(cycle, s, rows, scores_).IsSuccess()) return false;
    const MinMax range = RangeOf(rows, scores_);
    if (range.min < 0 || range.max > framework::kNodeScoreMax) return false;
    if (range.max == 0) continue;
    AddToFixed(kept, rows, cycle.profile.scores[s].weight);
  }
  return true;
}

// Adds the scores in scores_, times the weight.
void ClassUpdater::AddToFixed(KeptEvaluation& kept, std::span<const NodeIndex> rows, std::int64_t weight) const {
  if (rows.size() == 1) {
    kept.fixed[rows.front()] += weight * scores_[rows.front()];
    return;
  }
  framework::ForEachRun(rows, rows.size(), [&](NodeIndex first, std::size_t count) {
    AddWeighted(std::span(kept.fixed).subspan(first, count), std::span(scores_).subspan(first, count), weight);
  });
}

// Runs the kept filters on these rows, which must be ascending, and the kept scores on those that pass.
void ClassUpdater::KeepRows(EvaluationCycle& cycle, std::span<const NodeIndex> rows) {
  std::vector<VerdictId>& verdicts = cycle.kept->verdicts;
  framework::FillRows(rows, std::span(verdicts), kVerdictOk);
  for (const std::size_t f : cycle.plan.kept_filters) FilterRows(cycle, f, rows, verdicts);
  if (cycle.kept->respects_nominations) RespectNominations(cycle, rows);
  if (!cycle.are_scores_kept) return;
  const bool is_run = rows.back() - rows.front() == rows.size() - 1;
  if (!is_run || CountOf(std::span(verdicts).subspan(rows.front(), rows.size()), kVerdictOk) != rows.size()) {
    feasible_.clear();
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(feasible_),
                 [&](NodeIndex row) { return verdicts[row] == kVerdictOk; });
    rows = feasible_;
  }
  cycle.are_scores_kept = KeepScores(cycle, rows);
}

void ClassUpdater::Update(EvaluationCycle& cycle) {
  if (cycle.is_kept_current) return;
  cycle.is_kept_current = true;
  KeptEvaluation& kept = *cycle.kept;
  const framework::NodeTable& nodes = cycle.nodes();
  cycle.are_scores_kept = Plan(cycle);
  if (cycle.options.form == Form::kPlain) {
    kept.Resize(nodes.row_count());
    std::fill(kept.verdicts.begin(), kept.verdicts.end(), kVerdictNoNode);
    for (const NodeIndex row : nodes.rows()) kept.verdicts[row] = kVerdictOk;
    return;
  }

  const auto changed =
      kept.version == 0 ? std::nullopt : cycle.ChangedSince(kept.version, kept.nominated_version, changed_);
  const bool cluster_changed = kept.needs_cluster && kept.nodes_version != nodes.nodes_version();
  const bool all_rows = !changed || cluster_changed;
  kept.version = nodes.version();
  kept.nodes_version = nodes.nodes_version();
  if (kept.respects_nominations) kept.nominated_version = cycle.request.nominated->version();
  if (!all_rows && changed->empty()) return;
  kept.Resize(nodes.row_count());

  std::span<const NodeIndex> live = nodes.rows();  // the evaluated rows that have a node
  if (all_rows) {
    if (live.size() < kept.verdicts.size()) std::fill(kept.verdicts.begin(), kept.verdicts.end(), kVerdictNoNode);
    for (ScoreColumn& column : kept.columns) column.is_zero = true;
    kept.rebuild = ++rebuild_count_;
  } else {
    rows_.assign(changed->begin(), changed->end());
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
    live_.clear();
    VerdictId* const verdict_of = kept.verdicts.data();  // avoids the bounds checks of a hardened vector
    for (const NodeIndex row : rows_) {
      kept.Count(verdict_of[row], -1);
      verdict_of[row] = kVerdictNoNode;
      if (nodes.Info(row).has_node()) live_.push_back(row);
    }
    live = live_;
  }
  for (; !live.empty(); live = live.subspan(std::min(live.size(), kRowsAtOnce)))
    KeepRows(cycle, live.first(std::min(live.size(), kRowsAtOnce)));
  if (!cycle.are_scores_kept) kept.version = 0;
  if (all_rows) {
    kept.Recount();
  } else {
    for (const NodeIndex row : rows_) kept.Count(kept.verdicts[row], +1);
  }
  if (kept.HasError()) kept.version = 0;
}

bool IsKeptComplete(const EvaluationCycle& cycle) {
  return cycle.options.form == Form::kReuse && cycle.are_scores_kept && !cycle.outcome.narrowed_to &&
         (!cycle.do_nominations_matter || cycle.kept->respects_nominations) && !cycle.kept->HasError();
}

}  // namespace berth::runtime
