// SPDX-License-Identifier: Apache-2.0
#include "berth/replay/history.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "berth/framework/node_table.h"
#include "berth/framework/object_kinds.h"

namespace berth::replay {
namespace {

// The pod as its owner wants it, without what schedulers and kubelets have written since.
api::Pod WithoutProgress(const api::Pod& pod) {
  api::Pod bare = pod;
  bare.metadata.resource_version.clear();
  bare.metadata.generation = 0;
  bare.spec.node_name.clear();
  bare.status = {};
  return bare;
}

// Kinds whose content follows from where pods go, so that only an object's first version counts.
bool FollowsPods(framework::ObjectKind kind) {
  using enum framework::ObjectKind;
  return kind == kPersistentVolume || kind == kPersistentVolumeClaim || kind == kResourceClaim ||
         kind == kVolumeAttachment;
}

}  // namespace

Expected<std::unique_ptr<History>> History::Make(whatif::OfflineOptions options) {
  BERTH_ASSIGN_OR_RETURN(auto cluster, whatif::OfflineCluster::Make(std::move(options)));
  return std::unique_ptr<History>(new History(std::move(cluster)));
}

void History::AdvanceTo(Time now) {
  cluster_->AdvanceTo(std::max(now, cluster_->now()));
  std::erase_if(pending_, [this](const std::string& uid) {
    const auto pod = cluster_->FindPod(uid);
    if (pod == nullptr) return true;
    if (pod->spec.node_name.empty()) return false;
    FirstPlacement& placement = placements_.at(uid);
    placement.node = pod->spec.node_name;
    placement.placed = cluster_->now();
    return true;
  });
}

void History::Take(const scheduler::Input& input, Time now) {
  if (now > cluster_->now()) AdvanceTo(now);
  if (const auto* pod = std::get_if<scheduler::PodSet>(&input)) {
    TakePod(*pod->pod);
  } else if (const auto* gone = std::get_if<scheduler::PodGone>(&input)) {
    last_seen_.erase(gone->uid);
    pending_.erase(gone->uid);
    cluster_->RemovePod(gone->uid);
  } else if (const auto* node = std::get_if<scheduler::NodeSet>(&input)) {
    cluster_->SetNode(node->node);
  } else if (const auto* no_node = std::get_if<scheduler::NodeGone>(&input)) {
    cluster_->RemoveNode(no_node->name);
  } else if (const auto* object = std::get_if<scheduler::ObjectSet>(&input)) {
    TakeObject(object->object);
  } else if (const auto* no_object = std::get_if<scheduler::ObjectGone>(&input)) {
    cluster_->RemoveObject(no_object->kind, no_object->key);
  }
}

void History::TakePod(const api::Pod& pod) {
  const std::string& uid = pod.metadata.uid;
  auto bare = std::make_shared<const api::Pod>(WithoutProgress(pod));
  const bool is_ours = !pod.spec.node_name.empty() && placed_by_recorded_.contains(uid);
  const auto known = last_seen_.find(uid);
  if (known == last_seen_.end()) {
    last_seen_.emplace(uid, std::move(bare));
    if (pod.spec.node_name.empty() && cluster_->ProfileOf(pod) != nullptr) {
      placements_[uid] = {pod.metadata.namespace_name + "/" + pod.metadata.name, {}, cluster_->now(), {}};
      pending_.insert(uid);
    }
    api::Pod taken = pod;
    taken.status.nominated_node_name.clear();
    cluster_->SetPod(std::move(taken));
    return;
  }
  const auto there = cluster_->FindPod(uid);
  if (there == nullptr) return;  // evicted here
  const bool is_bound_by_others = !is_ours && !pod.spec.node_name.empty() && there->spec.node_name.empty();
  if (!is_bound_by_others && *known->second == *bare) return;
  known->second = std::move(bare);
  api::Pod taken = pod;
  taken.status.nominated_node_name = there->status.nominated_node_name;
  if (!is_bound_by_others) taken.spec.node_name = there->spec.node_name;
  cluster_->SetPod(std::move(taken));
}

void History::TakeObject(const framework::AnyObject& object) {
  const framework::ObjectKind kind = framework::KindOf(object);
  if (FollowsPods(kind)) {
    const std::string uid = std::visit([](const auto& each) { return each->metadata.uid; }, object);
    if (!objects_seen_.insert(uid).second) return;
    if (const auto* volume = std::get_if<std::shared_ptr<const api::PersistentVolume>>(&object)) {
      // Made for a pod, on a node that it may not have here.
      if ((*volume)->spec.claim_ref && !placements_.empty()) return;
    }
  }
  cluster_->SetObject(object);
}

std::size_t History::NodesInUse() const {
  const framework::NodeTable& nodes = cluster_->nodes();
  return static_cast<std::size_t>(std::ranges::count_if(nodes.rows(), [&](framework::NodeIndex row) {
    return nodes.Info(row).has_node() && !nodes.Info(row).pods().empty();
  }));
}

}  // namespace berth::replay
