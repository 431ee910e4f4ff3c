// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet_inbox.h"

#include <algorithm>
#include <utility>

#include "berth/base/hash_map.h"

namespace berth::page {
namespace {

// Keeps the newest change of each key, in their order. `replace` gives a newer one what it has to know of an older one.
template <typename Change, typename Replace>
void KeepNewest(std::vector<Change>& changes, const Replace& replace) {
  if (changes.size() < 2) return;
  StringViewHashMap<std::size_t> newest;
  newest.reserve(changes.size());
  std::vector<bool> is_replaced(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto [at, is_first] = newest.try_emplace(changes[i].Key(), i);
    if (is_first) continue;
    replace(changes[at->second], changes[i]);
    is_replaced[at->second] = true;
    at->second = i;
  }
  if (newest.size() == changes.size()) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (is_replaced[i]) continue;
    if (kept != i) changes[kept] = std::move(changes[i]);
    ++kept;
  }
  changes.resize(kept);
}

}  // namespace

void FleetInbox::SetNode(std::shared_ptr<const api::Node> node) {
  const std::lock_guard lock(mutex_);
  waiting_.nodes.push_back({std::move(node), {}});
  FoldIfMany();
}

void FleetInbox::RemoveNode(std::string_view name) {
  const std::lock_guard lock(mutex_);
  waiting_.nodes.push_back({nullptr, std::string(name)});
  FoldIfMany();
}

void FleetInbox::SetPod(std::shared_ptr<const api::Pod> pod) {
  const Time now = clock_.Now();
  PodTimes times;
  (pod->spec.node_name.empty() ? times.arrived_at : times.bound_at) = now;
  const std::lock_guard lock(mutex_);
  waiting_.pods.push_back({std::move(pod), nullptr, times});
  FoldIfMany();
}

void FleetInbox::RemovePod(std::string_view namespace_name, std::string_view name, std::string_view uid) {
  auto gone = std::make_unique<Gone>(Gone{std::string(namespace_name), std::string(name), std::string(uid)});
  const std::lock_guard lock(mutex_);
  waiting_.pods.push_back({nullptr, std::move(gone), {}});
  FoldIfMany();
}

void FleetInbox::Apply() {
  const std::lock_guard apply_lock(apply_mutex_);
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    std::swap(changes, waiting_);
    folded_at_ = kFoldedFrom;
  }
  Fold(changes);
  for (NodeChange& change : changes.nodes) {
    if (change.node != nullptr) {
      fleet_.SetNode(std::move(change.node));
    } else {
      fleet_.RemoveNode(change.name);
    }
  }
  for (PodChange& change : changes.pods) {
    if (change.pod != nullptr) {
      fleet_.SetPod(std::move(change.pod), change.times);
    } else {
      fleet_.RemovePod(change.gone->namespace_name, change.gone->name, change.gone->uid, change.times);
    }
  }
}

std::size_t FleetInbox::waiting_count() const {
  const std::lock_guard lock(mutex_);
  return waiting_.nodes.size() + waiting_.pods.size();
}

void FleetInbox::Fold(Changes& changes) {
  KeepNewest(changes.nodes, [](const NodeChange&, NodeChange&) {});
  // When a pod came and when it got its node counts from the first time.
  KeepNewest(changes.pods, [](const PodChange& older, PodChange& newer) {
    if (older.times.arrived_at) newer.times.arrived_at = older.times.arrived_at;
    if (older.times.bound_at) newer.times.bound_at = older.times.bound_at;
  });
}

// mutex_ is held. After it there is room for as many changes again, so that a change costs the same on average.
void FleetInbox::FoldIfMany() {
  if (waiting_.nodes.size() + waiting_.pods.size() < folded_at_) return;
  Fold(waiting_);
  folded_at_ = std::max(kFoldedFrom, 2 * (waiting_.nodes.size() + waiting_.pods.size()));
}

}  // namespace berth::page
