// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet_inbox.h"

#include <utility>

namespace berth::page {

// What is replaced is freed without the lock, here and below.
void FleetInbox::SetNode(std::shared_ptr<const api::Node> node) {
  const std::lock_guard lock(mutex_);
  NodeChange& change = waiting_.nodes.Of(node->metadata.name);
  change.node.swap(node);
}

void FleetInbox::RemoveNode(std::string_view name) {
  std::shared_ptr<const api::Node> before;
  const std::lock_guard lock(mutex_);
  NodeChange& change = waiting_.nodes.Of(name);
  change.name = name;
  change.node.swap(before);
}

// When a pod came and when it got its node counts from the first time.
void FleetInbox::SetPod(std::shared_ptr<const api::Pod> pod) {
  const Time now = clock_.Now();
  const std::lock_guard lock(mutex_);
  PodChange& change = waiting_.pods.Of(pod->metadata.uid);
  std::optional<Time>& first = pod->spec.node_name.empty() ? change.times.arrived_at : change.times.bound_at;
  if (!first) first = now;
  change.pod.swap(pod);
}

void FleetInbox::RemovePod(std::string_view namespace_name, std::string_view name, std::string_view uid) {
  auto gone = std::make_unique<Gone>(Gone{std::string(namespace_name), std::string(name), std::string(uid)});
  std::shared_ptr<const api::Pod> before;
  const std::lock_guard lock(mutex_);
  PodChange& change = waiting_.pods.Of(uid);
  change.gone = std::move(gone);
  change.pod.swap(before);
}

void FleetInbox::Apply() {
  const std::lock_guard apply_lock(apply_mutex_);
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    std::swap(changes, waiting_);
    waiting_.pods.Reserve(changes.pods.size());
  }
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

}  // namespace berth::page
