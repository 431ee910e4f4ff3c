// SPDX-License-Identifier: Apache-2.0
// PluginPlan: which plugins of the profile have a say in one cycle. Made after PreFilter; the choosers read it.
#pragma once

#include <cstddef>
#include <vector>

#include "berth/core/runtime/profile_traits.h"
#include "berth/framework/plugin.h"

namespace berth::runtime {

struct EvaluationCycle;

struct PluginPlan {
  PluginFlags is_pre_filter_skipped;
  std::size_t pre_filter_count = 0;  // PreFilter plugins that were asked, or whose answer was at hand
  PluginFlags is_filter_active;      // false: its PreFilter said Skip
  bool has_unkept_filters = false;   // an active filter has to be asked in this cycle
  PluginFlags is_score_idle;         // has nothing to say about this pod, as it could tell before the filters
  bool has_unkept_scores = false;    // a score plugin that is not idle has to be asked in this cycle
  PluginFlags is_score_active;       // false: its PreScore said Skip. Set when PreScore has run
  // PreFilter plugins to tell of pods that come to a node or leave it.
  std::vector<const framework::PreFilterPlugin*> extensions;

  // In the room that it has.
  void Clear();
};

// After PreFilter, also after one that refused the pod: PostFilter's dry runs ask the filters.
void PlanFilters(EvaluationCycle& cycle);
// After a PreFilter that did not refuse the pod.
void PlanScores(EvaluationCycle& cycle);

}  // namespace berth::runtime
