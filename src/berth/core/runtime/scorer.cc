// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/scorer.h"

#include <algorithm>
#include <string>

#include "berth/core/runtime/charged.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/normalization.h"
#include "berth/core/runtime/plugin_calls.h"
#include "berth/core/runtime/row_loops.h"

namespace berth::runtime {

using framework::NodeIndex;
using framework::Normalization;
using framework::ScorePlugin;
using framework::Status;

namespace {

// Copies the rows' values into a contiguous span.
void GatherRows(std::span<const NodeIndex> rows, std::span<const std::int64_t> values, std::span<std::int64_t> out) {
  const std::int64_t* const value_of = values.data();  // by row; avoids the bounds checks of a hardened span
  std::int64_t* to = out.data();
  for (const NodeIndex row : rows) *to++ = value_of[row];
}

}  // namespace

bool Scorer::RunPreScore(EvaluationCycle& cycle, std::span<const NodeIndex> feasible) {
  const ProfileTraits& profile = cycle.profile;
  cycle.plan.is_score_active.assign(profile.scores.size(), true);
  for (std::size_t i = 0; i < profile.pre_scores.size(); ++i) {
    const framework::PreScorePlugin& plugin = *profile.pre_scores[i].plugin;
    const auto& kept = cycle.kept->pre_score[i];
    EvaluationMetrics* const sampled = kept ? nullptr : cycle.sampled;
    const Time began = sampled != nullptr ? sampled->BeginCall() : Time{};
    const Status status = kept ? *kept : Charged(cycle, profile.pre_scores[i].is_own, 0, [&] {
      return plugin.PreScore(cycle.ForPlugins(), cycle.pod(), feasible);
    });
    if (sampled != nullptr) sampled->EndCall(instruments::Point::kPreScore, plugin.Name(), status.code(), began);
    if (status.IsSkip()) {
      for (std::size_t s = 0; s < profile.scores.size(); ++s) {
        if (profile.scores[s].pre_score == i) cycle.plan.is_score_active[s] = false;
      }
    } else if (!status.IsSuccess()) {
      return cycle.Fail("running PreScore plugin \"" + std::string(plugin.Name()) + "\": " + status.Message());
    }
  }
  return true;
}

bool Scorer::AddScores(EvaluationCycle& cycle, std::size_t score, std::span<const NodeIndex> feasible,
                       std::span<std::int64_t> totals) {
  const ProfileTraits::Score& entry = cycle.profile.scores[score];
  const ScorePlugin& plugin = *entry.plugin;
  const std::int64_t weight = entry.weight;
  const bool with_detail = cycle.options.with_detail;
  std::span<const std::int64_t> raw;
  if (cycle.are_scores_kept) {
    for (const ScoreColumn& column : cycle.kept->columns) {
      if (column.score != score) continue;
      raw = column.raw;
      if (!column.is_zero || with_detail) continue;
      // All nodes have the raw score 0, which is common for preferences.
      const std::int64_t same = weight * Normalized(column.normalization, 0, {});
      for (std::int64_t& total : totals) total += same;
      return true;
    }
  }
  if (raw.empty()) {
    raw_.resize(cycle.nodes().row_count());
    const Status status = ScoreRows(cycle, score, feasible, raw_);
    if (!status.IsSuccess()) {
      return cycle.Fail("running Score plugins: plugin \"" + std::string(plugin.Name()) +
                        "\" failed with: " + status.Message());
    }
    raw = raw_;
  }
  const std::size_t count = feasible.size();
  normalized_.resize(count);
  if (entry.normalization == Normalization::kCustom) {
    if (!NormalizeCustom(cycle, entry, feasible, raw)) return false;
  } else {
    GatherRows(feasible, raw, normalized_);
    NormalizeAll(entry.normalization, normalized_);
  }
  if (!CheckRange(cycle, plugin, feasible)) return false;
  AddWeighted(totals, normalized_, weight);
  if (with_detail) {
    cycle.outcome.scores.emplace_back(plugin.Name(), normalized_);
    std::vector<std::int64_t>& raw_scores = cycle.outcome.raw_scores.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) raw_scores[i] = raw[feasible[i]];
  }
  return true;
}

bool Scorer::NormalizeCustom(EvaluationCycle& cycle, const ProfileTraits::Score& entry,
                             std::span<const NodeIndex> feasible, std::span<const std::int64_t> raw) {
  const ScorePlugin& plugin = *entry.plugin;
  const std::size_t count = feasible.size();
  custom_scores_.resize(count);
  const std::int64_t* const raw_of = raw.data();  // by row; avoids the bounds checks of a hardened span
  framework::NodeScore* custom = custom_scores_.data();
  for (const NodeIndex row : feasible) *custom++ = {row, raw_of[row]};
  const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
  const Status status = Charged(cycle, entry.is_own, 0,
                                [&] { return plugin.NormalizeScore(cycle.ForPlugins(), cycle.pod(), custom_scores_); });
  if (cycle.sampled != nullptr)
    cycle.sampled->EndCall(instruments::Point::kScoreExtensionNormalize, plugin.Name(), status.code(), began);
  if (!status.IsSuccess()) {
    return cycle.Fail("running Normalize on Score plugins: plugin \"" + std::string(plugin.Name()) +
                      "\" failed with: " + status.Message());
  }
  std::int64_t* normalized = normalized_.data();
  for (const framework::NodeScore& score : custom_scores_) *normalized++ = score.score;
  return true;
}

bool Scorer::CheckRange(EvaluationCycle& cycle, const ScorePlugin& plugin, std::span<const NodeIndex> feasible) const {
  std::int64_t min = 0;
  std::int64_t max = 0;
  for (const std::int64_t value : normalized_) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  if (min >= 0 && max <= framework::kNodeScoreMax) return true;
  const auto invalid = std::find_if(normalized_.begin(), normalized_.end(),
                                    [](std::int64_t value) { return value < 0 || value > framework::kNodeScoreMax; });
  // Upstream's message, with the node added.
  const NodeIndex row = feasible[static_cast<std::size_t>(invalid - normalized_.begin())];
  return cycle.Fail("applying score defaultWeights on Score plugins: plugin \"" + std::string(plugin.Name()) +
                    "\" returns an invalid score " + std::to_string(*invalid) +
                    ", it should in the range of [0, 100] after normalizing (node \"" + cycle.nodes().Info(row).name() +
                    "\")");
}

}  // namespace berth::runtime
