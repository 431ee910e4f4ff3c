// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/capacity.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <variant>

#include "berth/core/cache/cache.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/pod_info.h"
#include "berth/whatif/daemon_pods.h"
#include "berth/whatif/in_memory_api.h"
#include "berth/whatif/replacement.h"

namespace berth::whatif {
namespace {

using framework::NodeIndex;
using framework::PodInfoPtr;
using scheduler::Overlay;

// How many pods are placed between two calls of CapacityOptions::is_interrupted.
constexpr std::size_t kPodsBetweenLooks = 1000;

// A shape while its pods are being placed.
struct Filling {
  const Shape* shape;
  PodInfoPtr first;                  // what all others are copies of
  std::string prefix;                // of their names
  std::vector<std::size_t> per_row;  // pods by node
  ShapeCapacity found;
};

// Places pods on the overlay, with the claims that are made for them.
class Filler {
 public:
  Filler(OfflineCluster& cluster, Overlay& overlay)
      : overlay_(overlay), placer_(overlay), api_(ApiOn(cluster, overlay)) {}

  // Places one more pod. False: it was refused, and the refusal is recorded.
  Expected<bool> AddOne(Filling& filling) {
    BERTH_ASSIGN_OR_RETURN(const PodInfoPtr pod, Next(filling));
    const NodeIndex row = placer_.Place(pod);
    if (row == framework::kNoNode) {
      filling.found.refusal = placer_.Explain(pod, true);
      return false;
    }
    Count(row, filling);
    return true;
  }

  // Places one pod for each node that the DaemonSet's rules allow, while `goes_on` says so.
  Expected<void> AddDaemons(Filling& filling, const std::function<bool(std::size_t)>& goes_on) {
    std::map<std::string, NodeIndex> allowed;
    for (const NodeIndex row : overlay_.nodes().rows()) {
      const framework::NodeInfo& node = overlay_.nodes().Info(row);
      if (!filling.shape->daemon->has_one.contains(node.name()) && RunsDaemonPod(filling.shape->pod, node.node()))
        allowed.emplace(node.name(), row);
    }
    filling.found.daemon_nodes = allowed.size();
    RefusalOfDaemons refused;
    std::size_t number = 0;
    for (const auto& [name, row] : allowed) {
      if (!goes_on(filling.found.fits)) break;
      BERTH_ASSIGN_OR_RETURN(api::Pod pod, MakeNew(filling, number++));
      PinDaemonPod(name, pod);
      const PodInfoPtr made = overlay_.MakePod(pod);
      if (placer_.Place(made) != framework::kNoNode) {
        Count(row, filling);
      } else {
        refused.Add(name, overlay_.Evaluate(made, Overlay::Detail::kChoice).evaluator.StatusOf(row));
      }
    }
    filling.found.refusal = std::move(refused).Take(allowed.size());
    return {};
  }

 private:
  // Why nodes that should have a pod of a DaemonSet take none.
  class RefusalOfDaemons {
   public:
    void Add(const std::string& node, const framework::Status& status) {
      if (count_++ == 0) first_ = node + ": " + status.Message();
      for (const std::string& reason : status.reasons()) ++counts_[{reason, std::string(status.plugin())}];
    }
    std::optional<PlacementRefusal> Take(std::size_t allowed) && {
      if (count_ == 0) return std::nullopt;
      PlacementRefusal refusal;
      refusal.message = "no room on " + std::to_string(count_) + " of the " + std::to_string(allowed) +
                        " nodes that its rules allow; " + first_;
      for (auto& [what, count] : counts_) refusal.reasons.push_back({what.first, what.second, count});
      std::ranges::stable_sort(refusal.reasons, std::greater<>(), &RefusalReason::node_count);
      return refusal;
    }

   private:
    std::size_t count_ = 0;
    std::string first_;
    std::map<std::pair<std::string, std::string>, std::size_t> counts_;
  };

  // The API by which claims that wait for no pod are bound.
  static InMemoryApi ApiOn(OfflineCluster& cluster, Overlay& overlay) {
    return InMemoryApi(
        {cluster.objects(), [&overlay](framework::AnyObject object) { overlay.SetObject(std::move(object)); },
         [&overlay](framework::ObjectKind kind, const std::string& key) { overlay.RemoveObject(kind, key); },
         [&overlay](const std::string& name) -> const api::Node* {
           const NodeIndex row = overlay.nodes().Find(name);
           return row == framework::kNoNode || !overlay.nodes().Info(row).has_node()
                      ? nullptr
                      : &overlay.nodes().Info(row).node();
         }});
  }

  Expected<PodInfoPtr> Next(const Filling& filling) {
    if (!filling.shape->make) return Another(*filling.first, filling.prefix + std::to_string(filling.found.fits));
    BERTH_ASSIGN_OR_RETURN(const api::Pod pod, MakeNew(filling, filling.found.fits));
    return overlay_.MakePod(pod);
  }

  // Makes the pod of that number, and puts its claims on the overlay.
  Expected<api::Pod> MakeNew(const Filling& filling, std::size_t number) {
    if (!filling.shape->make) return AsNew(filling.shape->pod, filling.prefix + std::to_string(number));
    std::vector<framework::AnyObject> claims;
    BERTH_ASSIGN_OR_RETURN(api::Pod pod, filling.shape->make(number, claims));
    for (const framework::AnyObject& claim : claims) {
      overlay_.SetObject(claim);
      if (const auto* volume = std::get_if<std::shared_ptr<const api::PersistentVolumeClaim>>(&claim))
        api_.BindNow(**volume);
    }
    std::vector<api::PodResourceClaimStatus> statuses = std::move(pod.status.resource_claim_statuses);
    const std::string uid = pod.metadata.uid;
    pod = AsNew(std::move(pod), uid);
    pod.status.resource_claim_statuses = std::move(statuses);
    return pod;
  }

  void Count(NodeIndex row, Filling& filling) const {
    if (filling.per_row.size() <= row) filling.per_row.resize(overlay_.nodes().row_count());
    ++filling.per_row[row];
    ++filling.found.fits;
  }

  Overlay& overlay_;
  Placer placer_;
  InMemoryApi api_;
};

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
    filling.shape = &shape;
    filling.prefix = "capacity-" + std::to_string(fillings.size()) + "-";
    filling.first = overlay->MakePod(AsNew(shape.pod, filling.prefix));
    if (overlay->ProfileOf(*filling.first) == nullptr)
      return InvalidError(shape.name + ": " + NoProfileCalled(shape.pod.spec.scheduler_name));
    filling.found.name = shape.name;
    filling.found.origin = shape.origin;
    filling.found.requests = filling.first->pod_class->requests;
  }
  Filler filler(cluster, *overlay);
  const auto goes_on = [&](std::size_t count) {
    if (count % kPodsBetweenLooks == 0 && options.is_interrupted && options.is_interrupted())
      capacity.is_interrupted = true;
    return count < options.pods_max && !capacity.is_interrupted;
  };
  if (options.is_together) {
    // A DaemonSet's pods do not come in turn: there are as many as nodes.
    for (Filling& filling : fillings) {
      if (filling.shape->daemon) BERTH_RETURN_IF_ERROR(filler.AddDaemons(filling, goes_on));
    }
    bool has_room = std::ranges::any_of(shapes, [](const Shape& shape) { return !shape.daemon; });
    for (std::size_t round = 0; has_room && goes_on(round); ++round) {
      for (Filling& filling : fillings) {
        if (filling.shape->daemon || !has_room) continue;
        BERTH_ASSIGN_OR_RETURN(has_room, filler.AddOne(filling));
      }
    }
    for (Filling& filling : fillings) capacity.shapes.push_back(Ended(*overlay, std::move(filling)));
    return capacity;
  }
  const Overlay::Mark mark = overlay->mark();
  for (Filling& filling : fillings) {
    bool has_room = !filling.shape->daemon;
    if (!has_room) BERTH_RETURN_IF_ERROR(filler.AddDaemons(filling, goes_on));
    while (has_room && goes_on(filling.found.fits)) {
      BERTH_ASSIGN_OR_RETURN(has_room, filler.AddOne(filling));
    }
    capacity.shapes.push_back(Ended(*overlay, std::move(filling)));
    overlay->UndoTo(mark);
  }
  return capacity;
}

}  // namespace berth::whatif
