// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/capacity.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "berth/framework/pod_info.h"
#include "berth/whatif/replacement.h"

namespace berth::whatif {
namespace {

using framework::NodeIndex;
using framework::PodInfoPtr;
using scheduler::Overlay;

// Pods between two looks at CapacityOptions::is_interrupted.
constexpr std::size_t kPodsBetweenLooks = 1000;

// A shape while its pods are being placed.
struct Filling {
  PodInfoPtr first;                  // what all others are copies of
  std::string prefix;                // of their names
  std::vector<std::size_t> per_row;  // pods by node
  ShapeCapacity found;
};

// True when one more was placed; else the refusal is noted.
bool AddOne(Overlay& overlay, Placer& placer, Filling& filling) {
  const PodInfoPtr pod = Another(*filling.first, filling.prefix + std::to_string(filling.found.fits));
  const NodeIndex row = placer.Place(pod);
  if (row == framework::kNoNode) {
    filling.found.refusal = placer.Explain(pod, true);
    return false;
  }
  if (filling.per_row.size() <= row) filling.per_row.resize(overlay.nodes().row_count());
  ++filling.per_row[row];
  ++filling.found.fits;
  return true;
}

ShapeCapacity Ended(const Overlay& overlay, Filling&& filling) {
  ShapeCapacity found = std::move(filling.found);
  for (NodeIndex row = 0; row < filling.per_row.size(); ++row) {
    if (filling.per_row[row] > 0) found.nodes.emplace_back(overlay.nodes().Info(row).name(), filling.per_row[row]);
  }
  std::ranges::sort(found.nodes, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return found;
}

}  // namespace

Expected<Capacity> MeasureCapacity(OfflineCluster& cluster, const std::vector<Shape>& shapes,
                                   const CapacityOptions& options) {
  Capacity capacity;
  capacity.options = options;
  const auto overlay = cluster.MakeOverlay();
  capacity.node_count = overlay->nodes().node_count();
  capacity.pod_count = cluster.core().cache().pod_count();
  const queue::SchedulingQueue& queue = cluster.core().queue();
  capacity.pending_count =
      queue.active_count() + queue.backoff_count() + queue.unschedulable_count() + queue.gated_count();
  std::vector<Filling> fillings;
  for (const Shape& shape : shapes) {
    Filling& filling = fillings.emplace_back();
    filling.prefix = "capacity-" + std::to_string(fillings.size()) + "-";
    filling.first = overlay->MakePod(AsNew(shape.pod, filling.prefix));
    if (overlay->ProfileOf(*filling.first) == nullptr)
      return InvalidError(shape.name + ": " + NoProfileCalled(shape.pod.spec.scheduler_name));
    filling.found.name = shape.name;
    filling.found.origin = shape.origin;
    filling.found.requests = filling.first->pod_class->requests;
  }
  Placer placer(*overlay);
  const auto goes_on = [&](std::size_t count) {
    if (count % kPodsBetweenLooks == 0 && options.is_interrupted && options.is_interrupted())
      capacity.is_interrupted = true;
    return count < options.pods_max && !capacity.is_interrupted;
  };
  if (options.is_together) {
    bool has_room = true;
    for (std::size_t round = 0; has_room && goes_on(round); ++round) {
      for (Filling& filling : fillings) {
        has_room = has_room && AddOne(*overlay, placer, filling);
      }
    }
    for (Filling& filling : fillings) capacity.shapes.push_back(Ended(*overlay, std::move(filling)));
    return capacity;
  }
  const Overlay::Mark mark = overlay->mark();
  for (Filling& filling : fillings) {
    while (goes_on(filling.found.fits) && AddOne(*overlay, placer, filling)) {
    }
    capacity.shapes.push_back(Ended(*overlay, std::move(filling)));
    overlay->UndoTo(mark);
  }
  return capacity;
}

}  // namespace berth::whatif
