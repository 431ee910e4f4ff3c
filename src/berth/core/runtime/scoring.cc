// PreScore, Score, normalisation and the choice of the best node.
#include <algorithm>

#include "berth/base/random.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/row_loops.h"
#include "berth/plugins/helper/row_runs.h"

namespace berth::runtime {

using framework::Code;
using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Normalization;
using framework::ScorePlugin;
using framework::Status;

// Which score plugins have nothing to say about this pod: only the others are in the way of taking the best node from
// what the class has kept.
void Evaluator::PlanScores() {
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  is_score_idle_.assign(plugins_.score.size(), false);
  has_cycle_scores_ = false;
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    if (is_score_kept_[s]) continue;
    const Status failed = Guarded([&] {
      is_score_idle_[s] = pre_score_of_[s] != nullptr ? pre_score_of_[s]->PreScoreSkips(cycle, *pod_)
                                                      : plugins_.score[s].plugin->ScoresNothing(cycle, *pod_);
      return Status();
    });
    // One that fails here fails again where its error is reported.
    has_cycle_scores_ |= !failed.IsSuccess() || !is_score_idle_[s];
  }
}

// Puts the rows' raw scores where they are kept. False when one cannot be kept, because a plugin fails or its score is
// out of range: the cycle then asks the plugins about its feasible nodes only, and reports what it meets there.
bool Evaluator::KeepScores(std::span<const NodeIndex> rows) {
  KeptEvaluation& kept = *kept_;
  const auto range_of = [rows](std::span<const std::int64_t> scores) {
    MinMax range;
    plugins::ForEachRun(rows, rows.size(), [&](NodeIndex first, std::size_t count) {
      const MinMax of_run = MinMaxOf(scores.subspan(first, count));
      range = {std::min(range.min, of_run.min), std::max(range.max, of_run.max)};
    });
    return range;
  };
  for (ScoreColumn& column : kept.columns) {
    if (!ScoreRowsInto(column.score, rows, column.raw).IsSuccess()) return false;
    const MinMax range = range_of(column.raw);
    if (range.min < 0 || range.max > framework::kRawScoreMax) return false;
    column.is_zero = column.is_zero && range.max == 0;
  }
  plugins::FillRows(rows, std::span(kept.fixed), std::int64_t{0});
  scratch_scores_.resize(nodes_->row_count());
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    if (!kept.is_fixed_score[s]) continue;
    if (!ScoreRowsInto(s, rows, scratch_scores_).IsSuccess()) return false;
    const MinMax range = range_of(scratch_scores_);
    if (range.min < 0 || range.max > framework::kNodeScoreMax) return false;
    if (range.max == 0) continue;
    plugins::ForEachRun(rows, rows.size(), [&](NodeIndex first, std::size_t count) {
      AddWeighted(std::span(kept.fixed).subspan(first, count), std::span(scratch_scores_).subspan(first, count),
                  plugins_.score[s].weight);
    });
  }
  return true;
}

Status Evaluator::ScoreRowsInto(std::size_t score, std::span<const NodeIndex> rows, std::span<std::int64_t> scores) {
  const ScorePlugin& plugin = *plugins_.score[score].plugin;
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  return Guarded([&] {
    Status said;
    if (options_.form == Form::kPlain) {
      plugin.ScorePlugin::ScoreRows(cycle, *pod_, rows, scores, said);
    } else {
      plugin.ScoreRows(cycle, *pod_, rows, scores, said);
    }
    return said;
  });
}

// Fills is_score_active_.
bool Evaluator::RunPreScore() {
  is_score_active_.assign(plugins_.score.size(), true);
  for (std::size_t i = 0; i < plugins_.pre_score.size(); ++i) {
    const framework::PreScorePlugin& plugin = *plugins_.pre_score[i];
    const Status status = kept_->pre_score[i] ? *kept_->pre_score[i] : Guarded([&] {
      return plugin.PreScore({*nodes_, state_, seed_, now_}, *pod_, feasible_);
    });
    if (status.IsSkip()) {
      for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
        if (pre_score_of_[s] == &plugin) is_score_active_[s] = false;
      }
    } else if (!status.IsSuccess()) {
      return Fail("running PreScore plugin \"" + std::string(plugin.Name()) + "\": " + status.Message());
    }
  }
  return true;
}

// Adds the plugin's weighted scores to totals_, which are parallel to feasible_.
bool Evaluator::AddScores(std::size_t score) {
  const ScorePlugin& plugin = *plugins_.score[score].plugin;
  const std::int64_t weight = plugins_.score[score].weight;
  std::span<const std::int64_t> raw;
  if (are_scores_kept_) {
    for (const ScoreColumn& column : kept_->columns) {
      if (column.score != score) continue;
      raw = column.raw;
      if (!column.is_zero || options_.with_detail) continue;
      // All nodes have the same of it, as most do of preferences.
      const std::int64_t same = weight * Normalized(column.normalization, 0, {});
      for (std::int64_t& total : totals_) total += same;
      return true;
    }
  }
  if (raw.empty()) {
    scratch_scores_.resize(nodes_->row_count());
    const Status status = ScoreRowsInto(score, feasible_, scratch_scores_);
    if (!status.IsSuccess()) {
      return Fail("running Score plugins: plugin \"" + std::string(plugin.Name()) +
                  "\" failed with: " + status.Message());
    }
    raw = scratch_scores_;
  }
  const std::size_t count = feasible_.size();
  normalized_.resize(count);
  if (normalization_[score] == Normalization::kCustom) {
    custom_scores_.resize(count);
    for (std::size_t i = 0; i < count; ++i) custom_scores_[i] = {feasible_[i], raw[feasible_[i]]};
    const Status status =
        Guarded([&] { return plugin.NormalizeScore({*nodes_, state_, seed_, now_}, *pod_, custom_scores_); });
    if (!status.IsSuccess()) {
      return Fail("running Normalize on Score plugins: plugin \"" + std::string(plugin.Name()) +
                  "\" failed with: " + status.Message());
    }
    for (std::size_t i = 0; i < count; ++i) normalized_[i] = custom_scores_[i].score;
  } else {
    for (std::size_t i = 0; i < count; ++i) normalized_[i] = raw[feasible_[i]];
    Normalize(normalization_[score]);
  }
  std::int64_t min = 0;
  std::int64_t max = 0;
  for (std::size_t i = 0; i < count; ++i) {
    min = std::min(min, normalized_[i]);
    max = std::max(max, normalized_[i]);
  }
  if (min < 0 || max > framework::kNodeScoreMax) {
    const auto invalid = std::find_if(normalized_.begin(), normalized_.end(),
                                      [](std::int64_t value) { return value < 0 || value > framework::kNodeScoreMax; });
    // Upstream's words, and the node.
    const NodeIndex row = feasible_[static_cast<std::size_t>(invalid - normalized_.begin())];
    return Fail("applying score defaultWeights on Score plugins: plugin \"" + std::string(plugin.Name()) +
                "\" returns an invalid score " + std::to_string(*invalid) +
                ", it should in the range of [0, 100] after normalizing (node \"" + nodes_->Info(row).name() + "\")");
  }
  for (std::size_t i = 0; i < count; ++i) totals_[i] += weight * normalized_[i];
  if (options_.with_detail) outcome_.scores.emplace_back(plugin.Name(), normalized_);
  return true;
}

// normalized_ holds raw scores before.
void Evaluator::Normalize(Normalization normalization) {
  if (normalization == Normalization::kNone) return;
  const RawRange range = RawRangeOf(normalization, normalized_);
  // Most nodes have the raw score of their neighbour, and a division costs more than all the rest.
  std::int64_t last_raw = 0;
  std::int64_t last = Normalized(normalization, 0, range);
  for (std::int64_t& value : normalized_) {
    if (value != last_raw) {
      last_raw = value;
      last = Normalized(normalization, value, range);
    }
    value = last;
  }
}

// Scores and chooses among feasible_, which has at least one row.
bool Evaluator::ScoreFeasible() {
  outcome_.feasible_count = feasible_.size();
  outcome_.result = Result::kFeasible;
  if (options_.with_detail) outcome_.feasible = feasible_;
  totals_.assign(feasible_.size(), 0);
  if (feasible_.size() > 1 && (!plugins_.score.empty() || extenders_ != nullptr)) {
    if (!RunPreScore()) return false;
    outcome_.is_scored = true;
    const bool uses_fixed = are_scores_kept_ && !options_.with_detail;
    if (uses_fixed) {
      for (std::size_t i = 0; i < feasible_.size(); ++i) totals_[i] = kept_->fixed[feasible_[i]];
    }
    for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
      const bool is_in_fixed = uses_fixed && kept_->is_fixed_score[s];
      const bool is_needless = is_score_idle_[s] && !options_.with_detail;
      if (is_score_active_[s] && !is_in_fixed && !is_needless && !AddScores(s)) return false;
    }
    if (extenders_ != nullptr) AddExtenderScores();
    if (options_.with_detail) outcome_.totals = totals_;
  }
  ChooseFromTotals();
  return true;
}

// Any of the best, with equal chance.
void Evaluator::ChooseFromTotals() {
  const std::int64_t best = *std::max_element(totals_.begin(), totals_.end());
  const auto best_count = static_cast<std::size_t>(std::count(totals_.begin(), totals_.end(), best));
  std::size_t left = best_count == 1 ? 0 : Random(seed_).Below(best_count);
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] != best) continue;
    if (options_.with_detail) outcome_.best.push_back(feasible_[i]);
    if (left-- == 0) {
      outcome_.node = feasible_[i];
      if (!options_.with_detail) break;
    }
  }
  outcome_.total = best;
}

}  // namespace berth::runtime
