// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/evaluation_metrics.h"

#include <algorithm>
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
void EvaluationMetrics::NotePreemption(const framework::PostFilterResult& result) {
  instruments::CycleCells& cells = profile_.all().cycles;
  cells.preemption_attempts.Add();
  const framework::PreemptionReport* report = result.preemption.get();
  if (report == nullptr || report->chosen == framework::kNoNode) return;
  const auto chosen = std::find_if(report->candidates.begin(), report->candidates.end(),
                                   [&](const auto& candidate) { return candidate.row == report->chosen; });
  if (chosen == report->candidates.end()) return;
  const bool evicts = std::any_of(chosen->victims.begin(), chosen->victims.end(),
                                  [](const framework::PodInfoPtr& victim) { return !victim->deletion_time; });
  if (evicts) cells.preemption_victims.Observe(static_cast<double>(chosen->victims.size()));
}

void EvaluationMetrics::CountEvaluations(const EvaluationCycle& cycle, bool has_filtered) {
  const PluginPlan& plan = cycle.plan;
  const bool has_scored = cycle.outcome.is_scored;
  if (asked_.kept == cycle.kept && asked_.kept_key == cycle.kept_key &&
      asked_.pre_filter_count == plan.pre_filter_count && asked_.has_filtered == has_filtered &&
      asked_.has_scored == has_scored && asked_.is_pre_filter_skipped == plan.is_pre_filter_skipped &&
      asked_.is_filter_active == plan.is_filter_active && asked_.is_score_idle == plan.is_score_idle &&
      asked_.is_score_active == plan.is_score_active) {
    ++cycle_count_;
    return;
  }
  Flush();
  cycle_count_ = 1;
  asked_.is_pre_filter_skipped = plan.is_pre_filter_skipped;
  asked_.is_filter_active = plan.is_filter_active;
  asked_.is_score_idle = plan.is_score_idle;
  asked_.is_score_active = plan.is_score_active;
  asked_.pre_filter_count = plan.pre_filter_count;
  asked_.kept = cycle.kept;
  asked_.kept_key = cycle.kept_key;
  asked_.has_filtered = has_filtered;
  asked_.has_scored = has_scored;
  is_pre_score_asked_.assign(profile_.pre_score.size(), has_scored);
  is_score_asked_.assign(profile_.score.size(), has_scored);
  if (!has_scored) return;
  // Who skips in PreScore is not asked for scores.
  const auto& scores = cycle.profile.scores;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const std::size_t pre_score = scores[s].pre_score;
    if (pre_score == ProfileTraits::kNone) continue;
    const bool is_idle = s < plan.is_score_idle.size() && plan.is_score_idle[s] != 0;
    const bool is_inactive = s < plan.is_score_active.size() && plan.is_score_active[s] == 0;
    const auto& kept = cycle.kept->pre_score;
    const bool has_kept_skip = pre_score < kept.size() && kept[pre_score] && kept[pre_score]->IsSkip();
    if (is_idle || is_inactive || has_kept_skip) is_pre_score_asked_[pre_score] = is_score_asked_[s] = 0;
  }
}

void EvaluationMetrics::Flush() {
  if (cycle_count_ == 0) return;
  const auto count = static_cast<double>(std::exchange(cycle_count_, 0));
  for (std::size_t i = 0; i < asked_.pre_filter_count; ++i) {
    if (!asked_.is_pre_filter_skipped[i]) profile_.pre_filter[i]->Add(count);
  }
  for (std::size_t i = 0; asked_.has_filtered && i < asked_.is_filter_active.size(); ++i) {
    if (asked_.is_filter_active[i]) profile_.filter[i]->Add(count);
  }
  for (std::size_t i = 0; i < is_pre_score_asked_.size(); ++i) {
    if (is_pre_score_asked_[i]) profile_.pre_score[i]->Add(count);
  }
  for (std::size_t i = 0; i < is_score_asked_.size(); ++i) {
    if (is_score_asked_[i]) profile_.score[i]->Add(count);
  }
}

}  // namespace berth::runtime
