// SPDX-License-Identifier: Apache-2.0
// PluginPlan: which plugins of the profile are called in one cycle. It is made after PreFilter and read by the
// choosers.
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
  std::size_t pre_filter_count = 0;  // PreFilter plugins that were called or whose kept answer was used
  PluginFlags is_score_idle;         // declared before the filters that it scores all nodes alike for this pod
  bool has_unkept_scores = false;    // a score plugin that is not idle has to be called in this cycle
  PluginFlags is_score_active;       // false: its PreScore answered Skip. Set after PreScore

  // Derived from is_pre_filter_skipped by PlanFilters(). It stays valid for later cycles while that is the same.
  PluginFlags is_filter_active;             // false: its PreFilter answered Skip
  std::vector<std::size_t> kept_filters;    // indices of active filters whose answers are kept
  std::vector<std::size_t> unkept_filters;  // indices of active filters that have to be called in this cycle
  // The PreFilter plugins whose AddPod and RemovePod are called.
  std::vector<const framework::PreFilterPlugin*> extensions;
  std::uint64_t filters_id = 0;            // a new number each time the plan is made
  std::optional<PluginFlags> planned_for;  // the is_pre_filter_skipped that it was made for

  // Prepares for the next cycle and keeps the capacity.
  void Clear();
};

// After PreFilter, even if it refused the pod, because PostFilter's dry runs need the filters.
void PlanFilters(EvaluationCycle& cycle);
// After PreFilter, if it did not refuse the pod.
void PlanScores(EvaluationCycle& cycle);

}  // namespace berth::runtime
