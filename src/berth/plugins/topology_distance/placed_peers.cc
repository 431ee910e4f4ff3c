// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/topology_distance/placed_peers.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;

std::vector<std::string> KeysOf(const TopologyDistanceArgs& args) {
  std::vector<std::string> keys;
  for (const TopologyDistanceArgs::Level& level : args.levels) keys.push_back(level.key);
  return keys;
}

void Write(std::string& key, std::initializer_list<std::string_view> parts) {
  key.clear();
  for (const std::string_view part : parts) {
    key += part;
    key += '\0';
  }
}

}  // namespace

PlacedPeers::PlacedPeers(const TopologyDistanceArgs& args)
    : label_(args.peer_label),
      by_controller_(args.by_controller),
      level_count_(args.levels.size()),
      tree_(KeysOf(args)) {}

bool PlacedPeers::HasPeers(const PodInfo& pod) const { return WriteKey(pod); }

// Puts into key_ what tells the pod's set from all others. False when it has none.
bool PlacedPeers::WriteKey(const PodInfo& pod) const {
  const std::string& in = pod.namespace_name();
  if (!pod.pod_group_name.empty()) {
    Write(key_, {"pod group", in, pod.pod_group_name});
    return true;
  }
  const std::string* const value = label_.empty() ? nullptr : pod.labels().Find(label_);
  if (value != nullptr && !value->empty()) {
    Write(key_, {"label", in, *value});
    return true;
  }
  if (!by_controller_ || !pod.pod_class->controller) return false;
  const api::OwnerReference& controller = *pod.pod_class->controller;
  Write(key_, {"controller", in, controller.api_version, controller.kind, controller.name, controller.uid});
  return true;
}

void PlacedPeers::Reset() {
  table_.Forget();
  tree_.Clear();
  numbering_ = ++last_version_;
  rows_.clear();
  sets_.clear();
  live_sets_ = 0;
  set_of_key_.clear();
  set_of_class_.clear();
}

void PlacedPeers::Sync(const framework::NodeTable& nodes) {
  if (table_.IsUpToDate(nodes)) return;
  const bool is_overgrown =
      sets_.size() > 2 * live_sets_ + kDeadMax || tree_.domains().size() > 2 * level_count_ * rows_.size() + kDeadMax;
  if (!table_.IsSame(nodes) || is_overgrown) Reset();
  if (set_of_class_.size() > kClassesMax) set_of_class_.clear();
  rows_.resize(nodes.row_count());
  table_.ForChanged(nodes, [&](NodeIndex index, std::size_t pods_kept) {
    const framework::NodeInfo& info = nodes.Info(index);
    Row& row = rows_[index];
    if (row.node != info.node_ptr()) {
      row.node = info.node_ptr();
      row.leaf = info.has_node() ? tree_.LeafOf(info.node()) : TopologyTree::kNoDomain;
    }
    SyncPods(
        info, pods_kept, row.pods, [this](const Pod& kept, const PodInfoPtr& pod) { return Keeps(kept, *pod); },
        [this](const PodInfoPtr& pod) { return PodOf(*pod); },
        [this, index](const Pod& pod, std::int32_t pods) { Count(pod, index, pods); });
  });
}

bool PlacedPeers::Keeps(const Pod& kept, const PodInfo& pod) const {
  if (kept.class_id != pod.pod_class->id || kept.is_terminating != pod.deletion_time.has_value()) return false;
  if (kept.is_terminating) return true;
  if (kept.is_in_pod_group == pod.pod_group_name.empty()) return false;
  return !kept.is_in_pod_group || sets_[kept.set].pod_group_name == pod.pod_group_name;
}

PlacedPeers::Pod PlacedPeers::PodOf(const PodInfo& pod) {
  const bool is_terminating = pod.deletion_time.has_value();
  return {pod.pod_class->id, is_terminating ? kNoSet : SetOf(pod), !pod.pod_group_name.empty(), is_terminating};
}

PlacedPeers::SetId PlacedPeers::SetOf(const PodInfo& pod) {
  const bool is_of_class = pod.pod_group_name.empty();
  if (is_of_class) {
    if (const auto known = set_of_class_.find(pod.pod_class->id); known != set_of_class_.end()) return known->second;
  }
  SetId set = kNoSet;
  if (WriteKey(pod)) {
    const auto [it, is_new] = set_of_key_.try_emplace(key_, static_cast<SetId>(sets_.size()));
    if (is_new) sets_.push_back({++last_version_, pod.pod_group_name, 0, {}});
    set = it->second;
  }
  if (is_of_class) set_of_class_.emplace(pod.pod_class->id, set);
  return set;
}

void PlacedPeers::Count(const Pod& pod, NodeIndex row, std::int64_t pods) {
  if (pod.set == kNoSet) return;
  Set& set = sets_[pod.set];
  if (set.pods == 0) ++live_sets_;
  set.pods += pods;
  if (set.pods == 0) --live_sets_;
  const auto it = set.by_row.try_emplace(row, 0).first;
  it->second += pods;
  if (it->second == 0) set.by_row.erase(it);
}

const PlacedPeers::Set* PlacedPeers::Find(const PodInfo& pod) const {
  SetId set = kNoSet;
  const auto known = pod.pod_group_name.empty() ? set_of_class_.find(pod.pod_class->id) : set_of_class_.end();
  if (known != set_of_class_.end()) {
    set = known->second;
  } else if (WriteKey(pod)) {
    const auto it = set_of_key_.find(std::string_view(key_));
    if (it != set_of_key_.end()) set = it->second;
  }
  return set == kNoSet || sets_[set].pods == 0 ? nullptr : &sets_[set];
}

}  // namespace berth::plugins
