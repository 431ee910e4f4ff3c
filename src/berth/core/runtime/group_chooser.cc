// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/group_chooser.h"

#include <algorithm>
#include <climits>
#include <string>

#include "berth/base/check.h"
#include "berth/base/random.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/plugin_calls.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;

namespace {

template <typename Entry>
Groupers GroupersOf(const std::vector<Entry>& entries) {
  Groupers groupers;
  for (const Entry& entry : entries) groupers.push_back(dynamic_cast<const framework::GroupingPlugin*>(entry.plugin));
  return groupers;
}

}  // namespace

GroupChooser::GroupChooser(const ProfileTraits& profile, ClassUpdater& updater, Scorer& scorer)
    : filter_groupers_(GroupersOf(profile.filters)),
      score_groupers_(GroupersOf(profile.scores)),
      updater_(updater),
      scorer_(scorer) {}

bool GroupChooser::Choose(EvaluationCycle& cycle) {
  if (cycle.is_first_sight || cycle.request.extenders != nullptr || cycle.outcome.narrowed_to) return false;
  updater_.Update(cycle);
  if (!IsKeptComplete(cycle) || !PlanGroupers(cycle)) return false;
  order_ = orders_.Open(cycle, groupers_);
  const bool has_chosen = order_ != nullptr && ChooseInOrder(cycle);
  // The other half of the limit is for the classes' evaluations (class_store.h).
  orders_.Bound(cycle.options.ClassBytesMax(cycle.nodes().row_count()) / 2);
  return has_chosen;
}

void GroupChooser::DropIdle() {
  order_ = nullptr;
  orders_.DropIdle();
}

// Whether every plugin that has to be called in this cycle can mark rows.
bool GroupChooser::PlanGroupers(const EvaluationCycle& cycle) {
  groupers_.clear();
  const auto add = [this](const framework::GroupingPlugin* plugin) {
    if (plugin == nullptr) return false;
    if (std::find(groupers_.begin(), groupers_.end(), plugin) == groupers_.end()) groupers_.push_back(plugin);
    return true;
  };
  int first_unkept_filter = INT_MAX;
  for (const std::size_t f : cycle.plan.unkept_filters) {
    if (!add(filter_groupers_[f])) return false;
    first_unkept_filter = std::min(first_unkept_filter, static_cast<int>(f));
  }
  for (const std::size_t s : cycle.profile.unkept_scores) {
    if (!cycle.plan.is_score_idle[s] && !add(score_groupers_[s])) return false;
  }
  // Rows refused by a kept filter are not in the order. If an unkept filter precedes it in the profile, the row may
  // belong to that filter's refusals; such pods are left to the scan.
  const KeptEvaluation& kept = *cycle.kept;
  for (VerdictId id = 1; id < kept.verdict_counts.size(); ++id) {
    if (kept.verdict_counts[id] > 0 && kept.statuses.Position(id) > first_unkept_filter) return false;
  }
  return true;
}

bool GroupChooser::ChooseInOrder(EvaluationCycle& cycle) {
  CollectCandidates(cycle);
  if (!FilterCandidates(cycle)) return false;
  Outcome& outcome = cycle.outcome;
  outcome.feasible_count = 0;
  for (const std::size_t size : feasible_sizes_) outcome.feasible_count += size;
  if (outcome.feasible_count == 0) {
    Refuse(cycle);
    return true;
  }
  const Candidate* const candidate_at = candidates_.data();
  totals_.resize(feasible_candidates_.size());
  std::int64_t* total = totals_.data();
  for (const std::size_t i : feasible_candidates_) *total++ = order_->TotalOf(candidate_at[i].level);
  outcome.is_scored = outcome.feasible_count > 1 && !cycle.profile.scores.empty();
  if (outcome.is_scored && !ScoreCandidates(cycle)) {
    // A plugin failed: the scan runs it again and reports the error.
    outcome.result = Result::kError;
    outcome.error.clear();
    outcome.is_scored = false;
    outcome.scores.clear();
    return false;
  }
  ChooseAmongCandidates(cycle);
  return true;
}

// Fills candidates_ from the order's groups and the special rows.
void GroupChooser::CollectCandidates(const EvaluationCycle& cycle) {
  candidates_.clear();
  if (++special_cycle_ == 0) {  // the counter wrapped
    std::fill(special_in_.begin(), special_in_.end(), 0);
    special_cycle_ = 1;
  }
  if (specials_of_level_.size() < order_->level_count()) specials_of_level_.resize(order_->level_count());
  if (!orders_.special_rows().empty()) AddSpecialCandidates(cycle);
  for (const TotalsOrder::GroupId group : order_->groups()) {
    Candidate candidate;
    candidate.group = group;
    candidate.size = order_->SizeOf(group) - (group < specials_of_group_.size() ? specials_of_group_[group] : 0);
    if (candidate.size == 0) continue;
    candidate.level = order_->BestLevel(group, specials_of_level_);
    const std::span<const NodeIndex> rows = order_->RowsOf(candidate.level);
    candidate.best_count = rows.size() - specials_of_level_[candidate.level];
    candidate.some_row = *std::find_if(rows.begin(), rows.end(), [this](NodeIndex row) { return !IsSpecial(row); });
    candidates_.push_back(candidate);
  }
  for (const Candidate& candidate : candidates_) {
    if (!candidate.is_special) continue;
    specials_of_level_[candidate.level] = 0;
    specials_of_group_[candidate.group] = 0;
  }
}

void GroupChooser::AddSpecialCandidates(const EvaluationCycle& cycle) {
  if (special_in_.size() < cycle.nodes().row_count()) special_in_.resize(cycle.nodes().row_count(), 0);
  for (const NodeIndex row : orders_.special_rows()) {
    const TotalsOrder::GroupId group = order_->GroupOf(row);
    if (group == TotalsOrder::kNoGroup || IsSpecial(row)) continue;
    special_in_[row] = special_cycle_;
    if (group >= specials_of_group_.size()) specials_of_group_.resize(group + 1);
    ++specials_of_group_[group];
    const TotalsOrder::LevelId level = order_->LevelOf(row);
    ++specials_of_level_[level];
    candidates_.push_back({row, 1, group, level, 1, true, kVerdictOk});
  }
}

// Runs this cycle's filters on one row of each candidate. Returns false when one fails.
bool GroupChooser::FilterCandidates(EvaluationCycle& cycle) {
  asked_rows_.clear();
  if (verdicts_.size() < cycle.nodes().row_count()) verdicts_.resize(cycle.nodes().row_count(), kVerdictNoNode);
  // Pointers avoid the bounds checks of a hardened vector: a pod may have hundreds of candidates.
  VerdictId* const verdict_of = verdicts_.data();
  asked_rows_.resize(candidates_.size());
  NodeIndex* asked = asked_rows_.data();
  for (const Candidate& candidate : candidates_) {
    *asked++ = candidate.some_row;
    verdict_of[candidate.some_row] = kVerdictOk;
  }
  for (const std::size_t f : cycle.plan.unkept_filters) FilterRows(cycle, f, asked_rows_, verdicts_);
  feasible_.clear();
  feasible_candidates_.clear();
  feasible_sizes_.clear();
  std::size_t i = 0;
  for (Candidate& candidate : candidates_) {
    candidate.verdict = verdict_of[candidate.some_row];
    if (!candidate.is_special) {
      if (candidate.group >= group_verdicts_.size()) group_verdicts_.resize(candidate.group + 1);
      group_verdicts_[candidate.group] = candidate.verdict;
    }
    if (candidate.verdict == kVerdictOk) {
      feasible_.push_back(candidate.some_row);
      feasible_candidates_.push_back(i);
      feasible_sizes_.push_back(candidate.size);
    } else if (!cycle.kept->statuses.Get(candidate.verdict).IsRejected()) {
      return false;
    }
    ++i;
  }
  return true;
}

void GroupChooser::Refuse(EvaluationCycle& cycle) const {
  Outcome& outcome = cycle.outcome;
  outcome.result = Result::kRefused;
  VerdictCounts counts;
  CountVerdicts(cycle, counts);
  for (VerdictId id = 1; id < counts.by_verdict.size(); ++id) {
    if (counts.by_verdict[id] > 0)
      outcome.unschedulable_plugins.insert(std::string(cycle.kept->statuses.Get(id).plugin()));
  }
  const std::span<const NodeIndex> rows = cycle.nodes().rows();
  if (cycle.options.with_detail) outcome.evaluated.assign(rows.begin(), rows.end());
}

// Sets plan.is_score_active.
bool GroupChooser::PreScoreCandidates(EvaluationCycle& cycle) const {
  const auto& scores = cycle.profile.scores;
  cycle.plan.is_score_active.assign(scores.size(), true);
  const framework::Cycle for_plugins = cycle.ForPlugins();
  for (std::size_t s = 0; s < scores.size(); ++s) {
    if (scores[s].pre_score == ProfileTraits::kNone) continue;
    const auto& kept = cycle.kept->pre_score[scores[s].pre_score];
    framework::Code code = framework::Code::kSkip;
    if (kept) {
      code = kept->code();
    } else if (!cycle.plan.is_score_idle[s]) {
      code = Guarded([&] {
               return score_groupers_[s]->PreScoreGroups(for_plugins, cycle.pod(), feasible_, feasible_sizes_);
             }).code();
    }
    if (code == framework::Code::kSkip) {
      cycle.plan.is_score_active[s] = false;
    } else if (code != framework::Code::kSuccess) {
      return false;
    }
  }
  return true;
}

// Adds normalised scores and the scores of this cycle's plugins to totals_, which hold the kept sums.
bool GroupChooser::ScoreCandidates(EvaluationCycle& cycle) {
  if (!PreScoreCandidates(cycle)) return false;
  const PluginPlan& plan = cycle.plan;
  for (std::size_t s = 0; s < cycle.profile.scores.size(); ++s) {
    if (!plan.is_score_active[s] || plan.is_score_idle[s] || cycle.kept->is_fixed_score[s]) continue;
    if (!scorer_.AddScores(cycle, s, feasible_, totals_)) return false;
  }
  return true;
}

void GroupChooser::ChooseAmongCandidates(EvaluationCycle& cycle) const {
  Outcome& outcome = cycle.outcome;
  const std::int64_t best = *std::max_element(totals_.begin(), totals_.end());
  std::size_t count = 0;
  const std::size_t* of_feasible = feasible_candidates_.data();
  for (const std::int64_t total : totals_) {
    if (total == best) count += candidates_[*of_feasible].best_count;
    ++of_feasible;
  }
  std::size_t left = count == 1 ? 0 : Random(cycle.request.seed).Below(count);
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] != best) continue;
    const Candidate& candidate = candidates_[feasible_candidates_[i]];
    if (outcome.node == framework::kNoNode && left < candidate.best_count) outcome.node = NthBest(candidate, left);
    left -= std::min(left, candidate.best_count);
    for (std::size_t n = 0; cycle.options.with_detail && n < candidate.best_count; ++n)
      outcome.best.push_back(NthBest(candidate, n));
  }
  std::sort(outcome.best.begin(), outcome.best.end());
  outcome.result = Result::kFeasible;
  outcome.total = outcome.is_scored ? best : 0;
}

NodeIndex GroupChooser::NthBest(const Candidate& candidate, std::size_t n) const {
  if (candidate.is_special) return candidate.some_row;
  const std::span<const NodeIndex> rows = order_->RowsOf(candidate.level);
  if (candidate.best_count == rows.size()) return rows[n];
  for (const NodeIndex row : rows) {
    if (!IsSpecial(row) && n-- == 0) return row;
  }
  BERTH_CHECK(false, candidate.best_count, rows.size());
  return framework::kNoNode;
}

Status GroupChooser::StatusOf(const EvaluationCycle& cycle, NodeIndex row) const {
  const KeptEvaluation& kept = *cycle.kept;
  const TotalsOrder::GroupId group = order_->GroupOf(row);
  VerdictId verdict = row < kept.verdicts.size() ? kept.verdicts[row] : kVerdictNoNode;
  if (group != TotalsOrder::kNoGroup) verdict = IsSpecial(row) ? verdicts_[row] : group_verdicts_[group];
  if (verdict == kVerdictNoNode) return cycle.absent_status;
  return verdict == kVerdictOk ? Status() : kept.statuses.Get(verdict);
}

void GroupChooser::CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const {
  counts.by_verdict.assign(cycle.kept->verdict_counts.begin(), cycle.kept->verdict_counts.end());
  counts.by_verdict.resize(cycle.kept->statuses.size());
  for (const Candidate& candidate : candidates_) counts.by_verdict[candidate.verdict] += candidate.size;
}

}  // namespace berth::runtime
