// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/headroom.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "berth/base/edit_distance.h"
#include "berth/whatif/own_claims.h"
#include "berth/whatif/replacement.h"

namespace berth::whatif {
namespace {

using framework::kNoNode;
using framework::NodeIndex;
using framework::PodInfoPtr;
using scheduler::Overlay;

// A node of the cluster as it is before any loss: a row of the table may be another one after a loss was taken back.
using NodeId = std::size_t;
constexpr NodeId kNowhere = static_cast<NodeId>(-1);

// Loses nodes on an overlay, for all workloads at once: those whose next loss is the same node, after the same losses
// before, share it.
class Losses {
 public:
  Losses(OfflineCluster& cluster, const ClusterState& state, const HeadroomOptions& options)
      : options_(options), overlay_(cluster.MakeOverlay()), placer_(*overlay_) {
    Collect(state);
  }

  Headroom Measure() {
    Headroom found;
    found.losses_max = options_.losses_max;
    found.node_count = overlay_->nodes().node_count();
    std::vector<Workload*> all;
    for (auto& [key, workload] : workloads_) {
      if (IsAsked(workload) && !workload.pods.empty() && workload.headroom.why_unknown.empty())
        all.push_back(&workload);
    }
    Lose(all, {});
    for (auto& [key, workload] : workloads_) {
      if (IsAsked(workload)) found.workloads.push_back(std::move(workload.headroom));
    }
    std::ranges::stable_sort(found.workloads, {}, &WorkloadHeadroom::survives);
    found.is_interrupted = is_interrupted_;
    return found;
  }

 private:
  struct Workload {
    WorkloadHeadroom headroom;
    std::vector<std::size_t> pods;  // on nodes before any loss; indices of pods_
  };
  // A pod that is replaced when its node is lost.
  struct MovingPod {
    std::shared_ptr<const api::Pod> pod;
    PodInfoPtr replacement;  // made when it is needed
    NodeId node = kNowhere;
    bool has_own_claims = false;  // then each replacement has others, and is made anew
  };
  struct Moved {
    std::size_t pod;
    NodeId before;
  };

  void Collect(const ClusterState& state) {
    for (const NodeIndex row : overlay_->nodes().rows()) names_.push_back(overlay_->nodes().Info(row).name());
    std::ranges::sort(names_);
    for (NodeId id = 0; id < names_.size(); ++id) ids_.emplace(names_[id], id);
    pods_of_.resize(names_.size());
    for (const auto& pod : state.pods) {
      const PodKind kind = KindOf(*pod);
      if (kind != PodKind::kOwned) continue;
      const TopOwner owner = TopOwnerOf(*pod);
      Workload& workload = workloads_[{pod->metadata.namespace_name, owner.name, owner.kind}];
      WorkloadHeadroom& headroom = workload.headroom;
      if (headroom.kind.empty()) {
        headroom.namespace_name = pod->metadata.namespace_name;
        headroom.kind = owner.kind;
        headroom.name = owner.name;
        headroom.priority = pod->spec.priority.value_or(0);
      }
      headroom.priority = std::min(headroom.priority, pod->spec.priority.value_or(0));
      if (pod->metadata.deletion_time) continue;  // what comes in its place has been made, or comes by itself
      const auto node = ids_.find(pod->spec.node_name);
      if (node == ids_.end()) {
        ++headroom.pending_count;
        continue;
      }
      pods_of_[node->second].push_back(pods_.size());
      workload.pods.push_back(pods_.size());
      ++headroom.pod_count;
      pods_.push_back({pod, nullptr, node->second});
    }
    for (auto& [key, workload] : workloads_) {
      std::set<NodeId> nodes;
      for (const std::size_t pod : workload.pods) nodes.insert(pods_[pod].node);
      workload.headroom.node_count = nodes.size();
      if (!workload.pods.empty()) workload.headroom.why_unknown = WhyUnknown(pods_[workload.pods.front()]);
    }
  }

  bool IsAsked(const Workload& workload) const {
    const WorkloadHeadroom& headroom = workload.headroom;
    if (headroom.pod_count + headroom.pending_count == 0) return false;
    return options_.namespace_name.empty() || headroom.namespace_name == options_.namespace_name;
  }

  // Makes the replacement, and keeps it for later losses.
  std::string WhyUnknown(MovingPod& pod) {
    if (pod.replacement) return "";
    const Overlay::Mark mark = overlay_->mark();
    Replacement made = MakeReplacement(*overlay_, *pod.pod, "headroom-of-" + pod.pod->metadata.uid);
    overlay_->UndoTo(mark);
    pod.has_own_claims = made.has_own_claims;
    pod.replacement = std::move(made.pod);
    return made.why_unknown;
  }

  PodInfoPtr ReplacementCalled(const MovingPod& pod, const std::string& name) {
    return pod.has_own_claims ? MakeReplacement(*overlay_, *pod.pod, name).pod : Another(*pod.replacement, name);
  }

  // The node with the most of its pods, of several the first by name; kNowhere: it has none left.
  NodeId WorstNode(const Workload& workload) const {
    std::map<NodeId, std::size_t> counts;  // ids ascend with the names
    for (const std::size_t pod : workload.pods) {
      if (pods_[pod].node != kNowhere) ++counts[pods_[pod].node];
    }
    const auto worst = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    return worst == counts.end() ? kNowhere : worst->first;
  }

  // Makes the next loss of each of these workloads, which have survived the losses of `lost`.
  void Lose(const std::vector<Workload*>& workloads, const std::vector<std::string>& lost) {
    if (lost.size() == options_.losses_max) return;
    std::map<NodeId, std::vector<Workload*>> by_node;
    for (Workload* workload : workloads) by_node[WorstNode(*workload)].push_back(workload);
    for (const auto& [node, sharing] : by_node) {
      if (is_interrupted_ || (options_.is_interrupted && options_.is_interrupted())) {
        is_interrupted_ = true;
        return;
      }
      const Overlay::Mark mark = overlay_->mark();
      std::vector<Moved> moved;
      std::vector<std::string> lost_now = lost;
      lost_now.push_back(names_[node]);
      LoseNode(node, lost_now.size(), moved);
      std::vector<Workload*> survivors;
      for (Workload* workload : sharing) {
        if (Judge(*workload, lost_now)) survivors.push_back(workload);
      }
      if (!survivors.empty()) Lose(survivors, lost_now);
      overlay_->UndoTo(mark);
      TakeBack(moved);
    }
  }

  // True when all pods of the workload have a place.
  bool Judge(Workload& workload, const std::vector<std::string>& lost) {
    WorkloadHeadroom& headroom = workload.headroom;
    const MovingPod* first = nullptr;
    for (const std::size_t index : workload.pods) {
      if (pods_[index].node != kNowhere) continue;
      ++headroom.homeless_count;
      if (first == nullptr) first = &pods_[index];
    }
    if (first == nullptr) {
      ++headroom.survives;
      return true;
    }
    headroom.lost_nodes = lost;
    if (!first->replacement) return false;
    // The reason is asked for after all replacements: those that came later took no room, or the reason says who took
    // it.
    const Overlay::Mark mark = overlay_->mark();
    const PodInfoPtr again = ReplacementCalled(*first, "headroom-asked");
    if (again && placer_.Place(again) == kNoNode) headroom.refusal = placer_.Explain(again, false);
    overlay_->UndoTo(mark);
    return false;
  }

  void LoseNode(NodeId node, std::size_t depth, std::vector<Moved>& moved) {
    const std::string& name = names_[node];
    std::vector<std::size_t> movers = std::exchange(pods_of_[node], {});
    std::vector<std::string> uids;
    for (const PodInfoPtr& pod : overlay_->nodes().Info(overlay_->nodes().Find(name)).pods()) uids.push_back(pod->uid);
    for (const std::string& uid : uids) overlay_->RemovePod(uid);
    for (const std::size_t index : movers) ReleaseResourceClaims(*overlay_, *pods_[index].pod, overlay_->mark());
    overlay_->RemoveNode(name);
    std::ranges::sort(movers, {}, [this](std::size_t index) { return OrderOf(index); });
    for (const std::size_t index : movers) {
      MovingPod& pod = pods_[index];
      moved.push_back({index, std::exchange(pod.node, kNowhere)});
      if (!WhyUnknown(pod).empty()) continue;
      const PodInfoPtr made = ReplacementCalled(pod, "headroom-" + std::to_string(index) + "-" + std::to_string(depth));
      const NodeIndex row = made ? placer_.Place(made) : kNoNode;
      if (row == kNoNode) continue;
      pod.node = ids_.at(overlay_->nodes().Info(row).name());
      pods_of_[pod.node].push_back(index);
    }
  }
  std::tuple<std::int64_t, std::string_view, std::string_view> OrderOf(std::size_t index) const {
    const api::Pod& pod = *pods_[index].pod;
    return {-std::int64_t{pod.spec.priority.value_or(0)}, pod.metadata.namespace_name, pod.metadata.name};
  }

  void TakeBack(const std::vector<Moved>& moved) {
    for (auto at = moved.rbegin(); at != moved.rend(); ++at) {
      MovingPod& pod = pods_[at->pod];
      if (pod.node != kNowhere) std::erase(pods_of_[pod.node], at->pod);
      pod.node = at->before;
      pods_of_[pod.node].push_back(at->pod);
    }
  }

  const HeadroomOptions& options_;
  std::unique_ptr<Overlay> overlay_;
  Placer placer_;
  std::map<std::tuple<std::string, std::string, std::string>, Workload> workloads_;  // by namespace, name and kind
  std::vector<MovingPod> pods_;
  std::vector<std::string> names_;  // of nodes, by id, ascending
  std::map<std::string, NodeId, std::less<>> ids_;
  std::vector<std::vector<std::size_t>> pods_of_;  // by node: indices of pods_
  bool is_interrupted_ = false;
};

}  // namespace

Expected<void> CheckNamespace(const ClusterState& state, const std::string& namespace_name) {
  if (namespace_name.empty() || IsLeftOut(state, "namespaces")) return {};
  std::set<std::string_view> known;
  for (const framework::AnyObject& object : state.objects) {
    const auto* const found = std::get_if<std::shared_ptr<const api::Namespace>>(&object);
    if (found != nullptr) known.insert((*found)->metadata.name);
  }
  for (const auto& pod : state.pods) known.insert(pod->metadata.namespace_name);
  if (known.contains(namespace_name)) return {};
  const std::string_view nearest = SimilarName(namespace_name, std::vector(known.begin(), known.end()));
  return InvalidError("the cluster has no namespace \"" + namespace_name + "\"" +
                      (nearest.empty() ? "" : "; did you mean \"" + std::string(nearest) + "\"?"));
}

Headroom MeasureHeadroom(OfflineCluster& cluster, const ClusterState& state, const HeadroomOptions& options) {
  return Losses(cluster, state, options).Measure();
}

}  // namespace berth::whatif
