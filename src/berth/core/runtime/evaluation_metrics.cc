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

void EvaluationMetrics::ObservePoint(Point point, Code code) {
  const Time now = stopwatch_.Read();
  profile_.ObservePoint(point, code, now - std::exchange(began_, now));
}

void EvaluationMetrics::ObservePreFilter(const EvaluationCycle& cycle) {
  const Outcome& outcome = cycle.outcome;
  const bool has_failed = !outcome.error.empty();
  ObservePoint(Point::kPreFilter, has_failed ? Code::kError : outcome.pre_filter_status.code());
  has_noted_filters_ = false;
  has_kept_verdicts_ = cycle.kept->version != 0;
  if (has_failed || outcome.result == Result::kRefused) CountEvaluations(cycle, false);
}

void EvaluationMetrics::ObserveFilters(const EvaluationCycle& cycle) {
  const bool has_failed = !cycle.outcome.error.empty();
  ObservePoint(Point::kFilter, has_failed ? Code::kError : Code::kSuccess);
  has_noted_filters_ = true;
}

// For choosers that filter and score in one step, all of the time counts for Filter and none for Score.
void EvaluationMetrics::ObserveChoice(const EvaluationCycle& cycle) {
  const Outcome& outcome = cycle.outcome;
  const bool has_failed = outcome.result == Result::kError;
  const bool has_reached_scores = outcome.feasible_count > 1;
  if (!has_noted_filters_)
    ObservePoint(Point::kFilter, has_failed && !has_reached_scores ? Code::kError : Code::kSuccess);
  if (has_reached_scores && (outcome.is_scored || has_failed)) {
    const bool has_pre_scored = outcome.is_scored || !has_failed;
    profile_.ObservePoint(Point::kPreScore, has_pre_scored ? Code::kSuccess : Code::kError, Duration{0});
    const Code score_code = has_failed ? Code::kError : Code::kSuccess;
    if (has_pre_scored && has_noted_filters_) ObservePoint(Point::kScore, score_code);
    if (has_pre_scored && !has_noted_filters_) profile_.ObservePoint(Point::kScore, score_code, Duration{0});
  }
  profile_.ObserveReuse(has_kept_verdicts_);
  CountEvaluations(cycle, true);
}

void EvaluationMetrics::ObservePostFilter(const framework::PostFilterResult& result) {
  ObservePoint(Point::kPostFilter, result.status.code());
}

void EvaluationMetrics::ObservePreemption(const framework::PostFilterResult& result, Time began) {
  instruments::CycleCells& cells = profile_.all().cycles;
  cells.preemption_attempts.Add();
  std::optional<instruments::GroupMetrics>& groups = profile_.all().groups;
  if (groups) groups->ObservePodEvaluation(result.status.code(), stopwatch_.Read() - began);
  const framework::PreemptionReport* report = result.preemption.get();
  if (!groups || report == nullptr || report->chosen == framework::kNoNode) return;
  const auto chosen = std::find_if(report->candidates.begin(), report->candidates.end(),
                                   [&](const auto& candidate) { return candidate.row == report->chosen; });
  if (chosen != report->candidates.end()) groups->ObservePodToll(chosen->pdb_violations);
}

void EvaluationMetrics::CountEvaluations(const EvaluationCycle& cycle, bool has_filtered) {
  const FilterGrounds filter_grounds{cycle.plan.filters_id, cycle.plan.pre_filter_count, has_filtered};
  if (asked_filters_.empty() || filter_grounds != filter_grounds_) {
    filter_grounds_ = filter_grounds;
    FindAskedFilters(cycle, has_filtered, asked_next_);
    asked_filter_ = PositionIn(asked_filters_);
  }
  const std::size_t asked_score = AskedScoresOf(cycle);
  ++asked_filters_[asked_filter_].cycle_count;
  ++asked_scores_[asked_score].cycle_count;
}

std::size_t EvaluationMetrics::AskedScoresOf(const EvaluationCycle& cycle) {
  for (std::size_t i = 0; i < known_scores_.size(); ++i) {
    // Classes of pods often alternate: begins with the latest entry and continues in order of arrival.
    const std::size_t at = (known_latest_ + i) % known_scores_.size();
    if (!HasGrounds(known_scores_[at].grounds, cycle)) continue;
    known_latest_ = at;
    return known_scores_[at].asked;
  }
  FindAskedScores(cycle, asked_next_);
  const std::size_t asked = PositionIn(asked_scores_);
  if (known_scores_.size() < kKnownMax) {
    known_latest_ = known_scores_.size();
    known_scores_.emplace_back();
  } else {
    known_latest_ = (known_latest_ + 1) % kKnownMax;
  }
  KnownScores& known = known_scores_[known_latest_];
  known.grounds.is_score_idle = cycle.plan.is_score_idle;
  known.grounds.is_score_active = cycle.plan.is_score_active;
  known.grounds.kept = cycle.kept;
  known.grounds.kept_key = cycle.kept_key;
  known.grounds.rebuild = cycle.kept->rebuild;
  known.grounds.has_scored = cycle.outcome.is_scored;
  known.asked = asked;
  return asked;
}

bool EvaluationMetrics::HasGrounds(const ScoreGrounds& grounds, const EvaluationCycle& cycle) {
  return grounds.kept == cycle.kept && grounds.kept_key == cycle.kept_key && grounds.rebuild == cycle.kept->rebuild &&
         grounds.has_scored == cycle.outcome.is_scored && grounds.is_score_idle == cycle.plan.is_score_idle &&
         grounds.is_score_active == cycle.plan.is_score_active;
}

std::size_t EvaluationMetrics::PositionIn(AskedList& list) {
  const auto at = std::find_if(list.begin(), list.end(), [this](const Asked& asked) {
    return asked.before == asked_next_.before && asked.main == asked_next_.main;
  });
  if (at != list.end()) return static_cast<std::size_t>(at - list.begin());
  if (list.size() == kAskedMax) {
    Flush();
    list.clear();
    if (&list == &asked_scores_) known_scores_.clear();
  }
  list.push_back(asked_next_);
  return list.size() - 1;
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
  // A plugin whose PreScore answers Skip is not scored.
  const auto& scores = cycle.profile.scores;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const std::size_t pre_score = scores[s].pre_score;
    if (pre_score == ProfileTraits::kNone) continue;
    const bool is_idle = s < plan.is_score_idle.size() && plan.is_score_idle[s] != 0;
    const bool is_inactive = s < plan.is_score_active.size() && plan.is_score_active[s] == 0;
    const auto& kept = cycle.kept->pre_score;
    const bool is_kept = pre_score < kept.size() && kept[pre_score];
    const bool has_kept_skip = is_kept && kept[pre_score]->IsSkip();
    // A plugin that is idle without Skip counts as called.
    const bool has_idle_skip = is_idle && !(is_kept && kept[pre_score]->IsSuccess());
    if (has_idle_skip || is_inactive || has_kept_skip) asked.before[pre_score] = asked.main[s] = false;
  }
}

void EvaluationMetrics::Flush() {
  const auto flush = [](AskedList& list, const std::vector<CounterCell*>& before,
                        const std::vector<CounterCell*>& main) {
    for (Asked& asked : list) {
      if (asked.cycle_count == 0) continue;
      const auto count = static_cast<double>(std::exchange(asked.cycle_count, 0));
      for (std::size_t i = 0; i < asked.before.size(); ++i) {
        if (asked.before[i]) before[i]->Add(count);
      }
      for (std::size_t i = 0; i < asked.main.size(); ++i) {
        if (asked.main[i]) main[i]->Add(count);
      }
    }
  };
  flush(asked_filters_, profile_.pre_filter, profile_.filter);
  flush(asked_scores_, profile_.pre_score, profile_.score);
}

}  // namespace berth::runtime
