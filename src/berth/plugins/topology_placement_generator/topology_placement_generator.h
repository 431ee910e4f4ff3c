// SPDX-License-Identifier: Apache-2.0
// TopologyPlacementGenerator: a group with a topology constraint may be placed on the nodes of one domain: those with
// the same value of the constraint's label. A group whose pods run in a domain stays there.
#pragma once

#include <string_view>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/pod_group_placement.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class TopologyPlacementGenerator final : public framework::PlacementGeneratePlugin {
 public:
  // `handle` must outlive the plugin.
  explicit TopologyPlacementGenerator(framework::Handle& handle) : handle_(handle) {}

  std::string_view Name() const override { return names::kTopologyPlacementGenerator; }
  framework::Status GeneratePlacements(const framework::PodGroupKey& group, const framework::PlacementNodes& nodes,
                                       std::vector<framework::PodGroupPlacement>& placements) const override;

 private:
  framework::Handle& handle_;
};

}  // namespace berth::plugins
