// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/evaluation_metrics.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/core/runtime/evaluation_cycle.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/framework/preemption_report.h"

namespace berth::runtime {

using framework::Code;
using instruments::Point;

void EvaluationMetrics::NotePoint(Point point, Code code) {
  const Time now = stopwatch_.Read();
  profile_.NotePoint(point, code, now - std::exchange(began_, now));
}

void EvaluationMetrics::NotePreFilter(const EvaluationCycle& cycle) {
  const Outcome& outcome = cycle.outcome;
  const bool has_failed = !outcome.error.empty();
  NotePoint(Point::kPreFilter, has_failed ? Code::kError : outcome.pre_filter_status.code());
  has_noted_filters_ = false;
  has_kept_verdicts_ = cycle.kept->version != 0;
  if (has_failed || outcome.result == Result::kRefused) CountEvaluations(cycle, false);
}

void EvaluationMetrics::NoteFilters(const EvaluationCycle& cycle) {
  const bool has_failed = !cycle.outcome.error.empty();
  NotePoint(Point::kFilter, has_failed ? Code::kError : Code::kSuccess);
  has_noted_filters_ = true;
}

// Where filters and scores are one step, all of its time is the filters', and that of the scores is nothing.
void EvaluationMetrics::NoteChoice(const EvaluationCycle& cycle) {
  const Outcome& outcome = cycle.outcome;
  const bool has_failed = outcome.result == Result::kError;
  const bool has_reached_scores = outcome.feasible_count > 1;
  if (!has_noted_filters_) NotePoint(Point::kFilter, has_failed && !has_reached_scores ? Code::kError : Code::kSuccess);
  if (has_reached_scores && (outcome.is_scored || has_failed)) {
    const bool has_pre_scored = outcome.is_scored || !has_failed;
    profile_.NotePoint(Point::kPreScore, has_pre_scored ? Code::kSuccess : Code::kError, Duration{0});
    const Code score_code = has_failed ? Code::kError : Code::kSuccess;
    if (has_pre_scored && has_noted_filters_) NotePoint(Point::kScore, score_code);
    if (has_pre_scored && !has_noted_filters_) profile_.NotePoint(Point::kScore, score_code, Duration{0});
  }
  profile_.NoteReuse(has_kept_verdicts_);
  CountEvaluations(cycle, true);
}

void EvaluationMetrics::NotePostFilter(const framework::PostFilterResult& result) {
  NotePoint(Point::kPostFilter, result.status.code());
}

// Counts as upstream: all victims, where one at least is not on its way out already.
void EvaluationMetrics::NotePreemption(const framework::PostFilterResult& result, Time began) {
  instruments::CycleCells& cells = profile_.all().cycles;
  cells.preemption_attempts.Add();
  std::optional<instruments::GroupMetrics>& groups = profile_.all().groups;
  if (groups) groups->NoteEvaluation("pod", result.status.code(), stopwatch_.Read() - began);
  const framework::PreemptionReport* report = result.preemption.get();
  if (report == nullptr || report->chosen == framework::kNoNode) return;
  const auto chosen = std::find_if(report->candidates.begin(), report->candidates.end(),
                                   [&](const auto& candidate) { return candidate.row == report->chosen; });
  if (chosen == report->candidates.end()) return;
  if (groups) groups->NotePodToll(chosen->pdb_violations);
  const bool evicts = std::any_of(chosen->victims.begin(), chosen->victims.end(),
                                  [](const framework::PodInfoPtr& victim) { return !victim->deletion_time; });
  if (evicts) cells.preemption_victims.Observe(static_cast<double>(chosen->victims.size()));
}

void EvaluationMetrics::CountEvaluations(const EvaluationCycle& cycle, bool has_filtered) {
  const FilterGrounds filter_grounds{cycle.plan.filters_id, cycle.plan.pre_filter_count, has_filtered};
  if (filter_grounds != filter_grounds_) {
    filter_grounds_ = filter_grounds;
    FindAskedFilters(cycle, has_filtered, asked_next_);
    Renew(asked_filters_);
  }
  if (!HasSameScoreGrounds(cycle)) {
    score_grounds_.is_score_idle = cycle.plan.is_score_idle;
    score_grounds_.is_score_active = cycle.plan.is_score_active;
    score_grounds_.kept = cycle.kept;
    score_grounds_.kept_key = cycle.kept_key;
    score_grounds_.has_scored = cycle.outcome.is_scored;
    FindAskedScores(cycle, asked_next_);
    Renew(asked_scores_);
  }
  ++cycle_count_;
}

bool EvaluationMetrics::HasSameScoreGrounds(const EvaluationCycle& cycle) const {
  const ScoreGrounds& grounds = score_grounds_;
  return grounds.kept == cycle.kept && grounds.kept_key == cycle.kept_key &&
         grounds.has_scored == cycle.outcome.is_scored && grounds.is_score_idle == cycle.plan.is_score_idle &&
         grounds.is_score_active == cycle.plan.is_score_active;
}

void EvaluationMetrics::Renew(Asked& asked) {
  if (asked_next_ == asked) return;
  Flush();
  std::swap(asked, asked_next_);
}

void EvaluationMetrics::FindAskedFilters(const EvaluationCycle& cycle, bool has_filtered, Asked& asked) const {
  const PluginPlan& plan = cycle.plan;
  asked.before.assign(profile_.pre_filter.size(), false);
  for (std::size_t i = 0; i < plan.pre_filter_count; ++i) asked.before[i] = !plan.is_pre_filter_skipped[i];
  asked.main.assign(profile_.filter.size(), false);
  if (has_filtered) asked.main = plan.is_filter_active;
}

void EvaluationMetrics::FindAskedScores(const EvaluationCycle& cycle, Asked& asked) const {
  const PluginPlan& plan = cycle.plan;
  const bool has_scored = cycle.outcome.is_scored;
  asked.before.assign(profile_.pre_score.size(), has_scored);
  asked.main.assign(profile_.score.size(), has_scored);
  if (!has_scored) return;
  // Who skips in PreScore is not asked for scores.
  const auto& scores = cycle.profile.scores;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const std::size_t pre_score = scores[s].pre_score;
    if (pre_score == ProfileTraits::kNone) continue;
    const bool is_idle = s < plan.is_score_idle.size() && plan.is_score_idle[s] != 0;
    const bool is_inactive = s < plan.is_score_active.size() && plan.is_score_active[s] == 0;
    const auto& kept = cycle.kept->pre_score;
    const bool is_kept = pre_score < kept.size() && kept[pre_score];
    const bool has_kept_skip = is_kept && kept[pre_score]->IsSkip();
    // One that is idle without skipping counts as asked.
    const bool has_idle_skip = is_idle && !(is_kept && kept[pre_score]->IsSuccess());
    if (has_idle_skip || is_inactive || has_kept_skip) asked.before[pre_score] = asked.main[s] = false;
  }
}

void EvaluationMetrics::Flush() {
  if (cycle_count_ == 0) return;
  const auto count = static_cast<double>(std::exchange(cycle_count_, 0));
  const auto add = [count](const PluginFlags& is_asked, const std::vector<CounterCell*>& cells) {
    for (std::size_t i = 0; i < is_asked.size(); ++i) {
      if (is_asked[i]) cells[i]->Add(count);
    }
  };
  add(asked_filters_.before, profile_.pre_filter);
  add(asked_filters_.main, profile_.filter);
  add(asked_scores_.before, profile_.pre_score);
  add(asked_scores_.main, profile_.score);
}

}  // namespace berth::runtime
