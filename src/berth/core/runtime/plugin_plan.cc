// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/plugin_plan.h"

#include "berth/core/runtime/evaluation_cycle.h"
#include "berth/core/runtime/guarded.h"

namespace berth::runtime {

using framework::Status;

void PluginPlan::Clear() {
  is_pre_filter_skipped.clear();
  pre_filter_count = 0;
  is_score_idle.clear();
  has_unkept_scores = false;
  is_score_active.clear();
}

void PlanFilters(EvaluationCycle& cycle) {
  const ProfileTraits& profile = cycle.profile;
  PluginPlan& plan = cycle.plan;
  if (plan.planned_for == plan.is_pre_filter_skipped) return;
  plan.planned_for = plan.is_pre_filter_skipped;
  ++plan.filters_id;
  plan.extensions.clear();
  for (std::size_t i = 0; i < profile.pre_filters.size(); ++i) {
    const ProfileTraits::PreFilter& entry = profile.pre_filters[i];
    if (!plan.is_pre_filter_skipped[i] && entry.has_extensions) plan.extensions.push_back(entry.plugin);
  }
  plan.is_filter_active.assign(profile.filters.size(), true);
  plan.kept_filters.clear();
  plan.unkept_filters.clear();
  for (std::size_t f = 0; f < profile.filters.size(); ++f) {
    const ProfileTraits::Filter& filter = profile.filters[f];
    if (filter.pre_filter != ProfileTraits::kNone && plan.is_pre_filter_skipped[filter.pre_filter]) {
      plan.is_filter_active[f] = false;
    } else {
      (filter.is_kept ? plan.kept_filters : plan.unkept_filters).push_back(f);
    }
  }
}

void PlanScores(EvaluationCycle& cycle) {
  const ProfileTraits& profile = cycle.profile;
  PluginPlan& plan = cycle.plan;
  const framework::Cycle for_plugins = cycle.ForPlugins();
  plan.is_score_idle.assign(profile.scores.size(), false);
  for (const std::size_t s : profile.unkept_scores) {
    const ProfileTraits::Score& entry = profile.scores[s];
    const Status failed = Guarded([&] {
      if (entry.pre_score == ProfileTraits::kNone) {
        plan.is_score_idle[s] = entry.by_rows.ScoresNothing(for_plugins, cycle.pod());
      } else if (const framework::FastPreScore* fast = profile.pre_scores[entry.pre_score].fast) {
        plan.is_score_idle[s] = fast->PreScoreSkips(for_plugins, cycle.pod());
      }
      return Status();
    });
    // A plugin that throws here counts as not idle; its error is reported when it is called.
    plan.has_unkept_scores |= !failed.IsSuccess() || !plan.is_score_idle[s];
  }
}

}  // namespace berth::runtime
