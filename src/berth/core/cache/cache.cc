// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/cache.h"

#include <utility>

#include "berth/base/check.h"

namespace berth::cache {

using framework::PodInfoPtr;

const Cache::Entry* Cache::Find(std::string_view uid) const {
  const auto it = pods_.find(ProbeFor(uid));
  return it == pods_.end() ? nullptr : &*it;
}

void Cache::AssumePod(PodInfoPtr pod) {
  const framework::NodeIndex row = nodes_.AddPod(pod);
  Assume(std::move(pod), row);
}

void Cache::AssumePod(PodInfoPtr pod, framework::NodeIndex row) {
  nodes_.AddPod(row, pod);
  Assume(std::move(pod), row);
}

void Cache::Assume(PodInfoPtr pod, framework::NodeIndex row) {
  const std::size_t hash = ProbeFor(pod->uid).hash;
  const auto [it, added] = pods_.insert({hash, std::move(pod), row, true});
  BERTH_CHECK(added, it->pod->uid);
  ++assumed_count_;
  if (PodGroupStates* const groups = GroupsOf(*it->pod)) groups->SetScheduled(it->pod);
}

void Cache::ForgetPod(std::string_view uid) {
  const auto entry = pods_.find(ProbeFor(uid));
  BERTH_CHECK(entry != pods_.end() && entry->is_assumed, uid);
  if (PodGroupStates* const groups = GroupsOf(*entry->pod)) groups->SetUnscheduled(entry->pod);
  Erase(entry);
}

std::size_t Cache::Erase(Pods::iterator entry) {
  const std::size_t place = nodes_.RemovePod(entry->row, entry->pod);
  if (entry->is_assumed) --assumed_count_;
  pods_.erase(entry);
  return place;
}

Cache::PodChange Cache::SetPod(PodInfoPtr pod, PodInfoPtr* before) {
  const Probe probe = ProbeFor(pod->uid);
  if (PodGroupStates* const groups = GroupsOf(*pod)) groups->SetScheduled(pod);
  const auto it = pods_.find(probe);
  if (it == pods_.end()) {
    const framework::NodeIndex row = nodes_.AddPod(pod);
    pods_.insert({probe.hash, std::move(pod), row, false});
    return PodChange::kAdded;
  }
  const Entry& entry = *it;
  if (before != nullptr) *before = entry.pod;
  const bool was_assumed = std::exchange(entry.is_assumed, false);
  if (was_assumed) --assumed_count_;
  if (entry.pod->node_name == pod->node_name) {
    nodes_.UpdatePod(entry.row, entry.pod, pod);
    entry.pod = std::move(pod);
    return was_assumed ? PodChange::kConfirmed : PodChange::kUpdated;
  }
  nodes_.RemovePod(entry.row, entry.pod);
  entry.row = nodes_.AddPod(pod);
  entry.pod = std::move(pod);
  return PodChange::kMoved;
}

std::optional<std::size_t> Cache::RemovePod(std::string_view uid) {
  const auto entry = pods_.find(ProbeFor(uid));
  if (entry == pods_.end()) return std::nullopt;
  if (PodGroupStates* const groups = GroupsOf(*entry->pod)) groups->Remove(uid);
  return Erase(entry);
}

void Cache::PutBack(PodInfoPtr pod, std::size_t place, bool is_assumed) {
  if (PodGroupStates* const groups = GroupsOf(*pod)) groups->SetScheduled(pod);
  const framework::NodeIndex row = nodes_.PutBack(pod, place);
  const std::size_t hash = ProbeFor(pod->uid).hash;
  const auto [it, added] = pods_.insert({hash, std::move(pod), row, is_assumed});
  BERTH_CHECK(added, it->pod->uid);
  if (is_assumed) ++assumed_count_;
}

const PodInfoPtr* Cache::FindPod(std::string_view uid) const {
  const Entry* const entry = Find(uid);
  return entry == nullptr ? nullptr : &entry->pod;
}

bool Cache::IsAssumed(std::string_view uid) const {
  const Entry* const entry = Find(uid);
  return entry != nullptr && entry->is_assumed;
}

}  // namespace berth::cache
