// SPDX-License-Identifier: Apache-2.0
// CapacityScore: how good a node's storage is for the volumes of a pod, by how much of it they would use. Upstream:
// scorer.go, and VolumeBinding's Score with the feature gate StorageCapacityScoring. A value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/storage_class.h"
#include "berth/plugins/volume_binding/pod_volumes.h"

namespace berth::plugins::volumes {

class CapacityScore {
 public:
  using Shape = std::vector<config::UtilizationShapePoint>;

  // Without a shape, nodes with room score high.
  explicit CapacityScore(const std::optional<Shape>& shape);

  // 0 to 100, for a node that Decide() has found fit; `node` is its view.
  template <typename Node>
  std::int64_t Of(const PodVolumes& pod, const Node& node, const NodeDecision& decision) const {
    std::map<std::string_view, Use> by_class;
    for (const NodeDecision::Match& match : decision.matches) {
      Use& use = by_class[ClassOf(*match.volume)];
      use.requested += RequestOf(*pod.delayed[match.claim].claim).Value();
      use.capacity += CapacityOf(*match.volume).Value();
    }
    if (decision.matches.empty()) {
      for (const std::size_t i : decision.provisions) {
        const CapacityIndex::Entry* capacity = node.FindCapacity(i);
        if (capacity == nullptr) continue;
        const api::PersistentVolumeClaim& claim = *pod.delayed[i].claim;
        Use& use = by_class[ClassOf(claim)];
        use.requested += RequestOf(claim).Value();
        // The claims of a class share it.
        use.capacity = capacity->capacity_bytes;
      }
    }
    return Mean(by_class);
  }

 private:
  __extension__ using Bytes = __int128;
  struct Use {
    Bytes requested = 0;
    Bytes capacity = 0;
  };

  std::int64_t Mean(const std::map<std::string_view, Use>& by_class) const;
  std::int64_t At(std::int64_t utilization) const;

  Shape shape_;
};

}  // namespace berth::plugins::volumes
