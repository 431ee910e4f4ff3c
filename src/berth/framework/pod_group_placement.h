// SPDX-License-Identifier: Apache-2.0
// Placements of pod groups: sets of nodes, on one of which a whole group is to be placed, and the extension points that
// generate and score them. Only plugins that come with berth have these points. Within turns only.
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
  std::string name;                     // name of the topology domain; empty: all nodes
  std::vector<std::string> node_names;  // in the order of their rows
};

// The nodes on which a group may be placed: all nodes, or those of the placement of a group above it.
struct PlacementNodes {
  const NodeList& usable;
  // Finds any node by name; null: there is none.
  std::function<const api::Node*(const std::string&)> find;
};

// PlacementGenerate: where may the group be placed? Only the first plugin with this point is called.
class PlacementGeneratePlugin : public virtual Plugin {
 public:
  // Success, or an error. `placements` receives the placements to try, in order.
  virtual Status GeneratePlacements(const PodGroupKey& group, const PlacementNodes& nodes,
                                    std::vector<PodGroupPlacement>& placements) const = 0;
};

// PlacementScore: how good is a placement on which the group fits? Called when there are several.
class PlacementScorePlugin : public virtual Plugin {
 public:
  // Scores one placement, given the assignments of the group's members. `nodes` shows the nodes without these.
  virtual std::int64_t ScorePlacement(const PodGroupKey& group, const PodGroupPlacement& placement,
                                      std::span<const PodGroupAssignment> assignments, const NodeList& nodes) const = 0;
  // Normalises the scores of all placements to 0 to 100. Success, or an error.
  virtual Status NormalizePlacementScores(std::span<std::int64_t>) const { return {}; }
};

}  // namespace berth::framework
