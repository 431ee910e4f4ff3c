// SPDX-License-Identifier: Apache-2.0
// Placements of pod groups: sets of nodes, one of which a whole group is to be placed on, and the extension points that
// make and compare them. Only plugins that come with berth have them. Within turns only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/framework/node_list.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/framework/pod_groups.h"

namespace berth::framework {

struct PodGroupPlacement {
  std::string name;                     // of the domain; empty: all nodes
  std::vector<std::string> node_names;  // in the order of rows
};

// The nodes that a group may be placed on: all of them, or those of a placement of a group above it.
struct PlacementNodes {
  const NodeList& usable;
  // Any node by its name; null: there is none.
  std::function<const api::Node*(const std::string&)> find;
};

// PlacementGenerate: where may the group be placed? The first such plugin alone is asked.
class PlacementGeneratePlugin : public virtual Plugin {
 public:
  // Success, or an error. `placements` gets those to be tried, in order.
  virtual Status GeneratePlacements(const PodGroupKey& group, const PlacementNodes& nodes,
                                    std::vector<PodGroupPlacement>& placements) const = 0;
};

// PlacementScore: how good is a placement on which the group can be placed? Asked when there are several.
class PlacementScorePlugin : public virtual Plugin {
 public:
  // Of one placement, and what of the group would go where. `nodes` shows the nodes without it.
  virtual std::int64_t ScorePlacement(const PodGroupKey& group, const PodGroupPlacement& placement,
                                      std::span<const PodGroupAssignment> assignments, const NodeList& nodes) const = 0;
  // Brings the scores of all placements to 0 to 100. Success, or an error.
  virtual Status NormalizePlacementScores(std::span<std::int64_t>) const { return {}; }
};

}  // namespace berth::framework
