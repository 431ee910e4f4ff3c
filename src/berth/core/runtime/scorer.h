// SPDX-License-Identifier: Apache-2.0
// Scorer: PreScore, and what one score plugin adds to the totals of feasible rows: its raw scores, normalised over
// these rows, times its weight. Shared by the choosers; holds scratch only. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

class Scorer {
 public:
  // Fills plan.is_score_active. False when a plugin fails: the outcome says so then.
  bool RunPreScore(EvaluationCycle& cycle, std::span<const framework::NodeIndex> feasible);

  // Adds the plugin's scores to `totals`, which are parallel to `feasible`. False when it fails, or gives a score out
  // of range: the outcome says so then. `score` is its position in the profile.
  bool AddScores(EvaluationCycle& cycle, std::size_t score, std::span<const framework::NodeIndex> feasible,
                 std::span<std::int64_t> totals);

 private:
  bool NormalizeCustom(EvaluationCycle& cycle, const framework::ScorePlugin& plugin,
                       std::span<const framework::NodeIndex> feasible, std::span<const std::int64_t> raw);
  bool CheckRange(EvaluationCycle& cycle, const framework::ScorePlugin& plugin,
                  std::span<const framework::NodeIndex> feasible) const;

  std::vector<std::int64_t> raw_;         // by row
  std::vector<std::int64_t> normalized_;  // parallel to the feasible rows, as the next are
  std::vector<framework::NodeScore> custom_scores_;
};

}  // namespace berth::runtime
