// SPDX-License-Identifier: Apache-2.0
// ProfilePlugins: the plugins of one profile, in the order in which each extension point calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/framework/plugin.h"
#include "berth/framework/pod_group_namer.h"
#include "berth/framework/pod_group_placement.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/framework/pod_groups.h"

namespace berth::runtime {

struct WeightedScore {
  const framework::ScorePlugin* plugin = nullptr;
  std::int64_t weight = 1;
};

struct WeightedPlacementScore {
  const framework::PlacementScorePlugin* plugin = nullptr;
  std::int64_t weight = 1;
};

struct ProfilePlugins {
  std::string scheduler_name;
  // How many feasible nodes are enough to ask extenders about, as a percentage of all nodes; 0: computed from the
  // number of nodes.
  std::int32_t percentage_of_nodes_to_score = 0;
  // How many of its placements a pod group must fit on, as a percentage; 0: computed from the number of nodes. nullopt:
  // all placements are tried.
  std::optional<std::int32_t> percentage_of_placements_to_score;
  std::vector<std::shared_ptr<framework::Plugin>> owned;
  // Those of `owned` that are an author's own: their work in a cycle is bounded.
  std::vector<const framework::Plugin*> own;

  std::vector<const framework::PreEnqueuePlugin*> pre_enqueue;
  const framework::QueueSortPlugin* queue_sort = nullptr;
  std::vector<const framework::PreFilterPlugin*> pre_filter;
  std::vector<const framework::FilterPlugin*> filter;
  std::vector<const framework::PostFilterPlugin*> post_filter;
  std::vector<const framework::PreScorePlugin*> pre_score;
  std::vector<WeightedScore> score;
  std::vector<framework::ReservePlugin*> reserve;
  std::vector<framework::PermitPlugin*> permit;
  std::vector<framework::PreBindPlugin*> pre_bind;
  std::vector<framework::BindPlugin*> bind;
  std::vector<framework::PostBindPlugin*> post_bind;
  // For pod groups.
  const framework::PodGroupNamer* pod_group_namer = nullptr;                  // null: no plugin names groups
  std::vector<const framework::PlacementFeasiblePlugin*> placement_feasible;  // empty: any number of members is enough
  std::vector<const framework::PodGroupPostFilterPlugin*> pod_group_post_filter;  // plugins of last resort at the end
  std::vector<const framework::PlacementGeneratePlugin*> placement_generate;      // at most one
  std::vector<WeightedPlacementScore> placement_score;
};

}  // namespace berth::runtime
