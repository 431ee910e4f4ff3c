// SPDX-License-Identifier: Apache-2.0
// PluginPlan: which plugins of the profile have a say in one cycle. Made after PreFilter; the choosers read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "berth/core/runtime/profile_traits.h"
#include "berth/framework/plugin.h"

namespace berth::runtime {

struct EvaluationCycle;

struct PluginPlan {
  PluginFlags is_pre_filter_skipped;
  std::size_t pre_filter_count = 0;  // PreFilter plugins that were asked, or whose answer was at hand
  PluginFlags is_score_idle;         // has nothing to say about this pod, as it could tell before the filters
  bool has_unkept_scores = false;    // a score plugin that is not idle has to be asked in this cycle
  PluginFlags is_score_active;       // false: its PreScore said Skip. Set when PreScore has run

  // What PlanFilters() makes of is_pre_filter_skipped. As long as that is the same it holds for the next cycles, too.
  PluginFlags is_filter_active;             // false: its PreFilter said Skip
  std::vector<std::size_t> kept_filters;    // positions of the active ones whose answers are kept
  std::vector<std::size_t> unkept_filters;  // of those that have to be asked in this cycle
  // PreFilter plugins to tell of pods that come to a node or leave it.
  std::vector<const framework::PreFilterPlugin*> extensions;
  std::uint64_t filters_id = 0;            // another number each time that it is made anew
  std::optional<PluginFlags> planned_for;  // is_pre_filter_skipped as it was then

  // For the next cycle, in the room that it has.
  void Clear();
};

// After PreFilter, also after one that refused the pod: PostFilter's dry runs ask the filters.
void PlanFilters(EvaluationCycle& cycle);
// After a PreFilter that did not refuse the pod.
void PlanScores(EvaluationCycle& cycle);

}  // namespace berth::runtime
