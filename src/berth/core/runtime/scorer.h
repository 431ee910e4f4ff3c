// SPDX-License-Identifier: Apache-2.0
// Scorer: runs PreScore, and adds one score plugin's weighted scores to the totals of the feasible rows, normalised
// over these rows. Shared by the choosers; has no state besides scratch. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

class Scorer {
 public:
  // Sets plan.is_score_active. Returns false when a plugin fails, and writes that into the outcome.
  bool RunPreScore(EvaluationCycle& cycle, std::span<const framework::NodeIndex> feasible);

  // Adds the plugin's scores to `totals`, which is parallel to `feasible`. Returns false when it fails or gives a score
  // out of range, and writes that into the outcome. `score` is an index in the profile.
  bool AddScores(EvaluationCycle& cycle, std::size_t score, std::span<const framework::NodeIndex> feasible,
                 std::span<std::int64_t> totals);

 private:
  bool NormalizeCustom(EvaluationCycle& cycle, const ProfileTraits::Score& entry,
                       std::span<const framework::NodeIndex> feasible, std::span<const std::int64_t> raw);
  bool CheckRange(EvaluationCycle& cycle, const framework::ScorePlugin& plugin,
                  std::span<const framework::NodeIndex> feasible) const;

  std::vector<std::int64_t> raw_;         // by row
  std::vector<std::int64_t> normalized_;  // parallel to the feasible rows, as is the next one
  std::vector<framework::NodeScore> custom_scores_;
};

}  // namespace berth::runtime
