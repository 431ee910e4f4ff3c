#include "berth/cache/cache.h"

#include <utility>

#include "berth/base/check.h"

namespace berth::cache {

using framework::PodInfoPtr;

void Cache::AssumePod(PodInfoPtr pod) {
  const auto [it, added] = pods_.try_emplace(pod->uid);
  BERTH_CHECK(added, pod->uid);
  it->second.row = nodes_.AddPod(pod);
  it->second.pod = std::move(pod);
  it->second.is_assumed = true;
  ++assumed_count_;
}

void Cache::ForgetPod(std::string_view uid) {
  BERTH_CHECK(IsAssumed(uid), uid);
  RemovePod(uid);
}

Cache::PodChange Cache::SetPod(PodInfoPtr pod) {
  const auto [it, added] = pods_.try_emplace(pod->uid);
  Entry& entry = it->second;
  if (added) {
    entry.row = nodes_.AddPod(pod);
    entry.pod = std::move(pod);
    return PodChange::kAdded;
  }
  const bool was_assumed = std::exchange(entry.is_assumed, false);
  if (was_assumed) --assumed_count_;
  if (entry.pod->node_name == pod->node_name) {
    nodes_.UpdatePod(entry.row, pod);
    entry.pod = std::move(pod);
    return was_assumed ? PodChange::kConfirmed : PodChange::kUpdated;
  }
  nodes_.RemovePod(entry.row, pod->uid);
  entry.row = nodes_.AddPod(pod);
  entry.pod = std::move(pod);
  return PodChange::kMoved;
}

bool Cache::RemovePod(std::string_view uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return false;
  nodes_.RemovePod(it->second.row, uid);
  if (it->second.is_assumed) --assumed_count_;
  pods_.erase(it);
  return true;
}

const PodInfoPtr* Cache::FindPod(std::string_view uid) const {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : &it->second.pod;
}

bool Cache::IsAssumed(std::string_view uid) const {
  const auto it = pods_.find(uid);
  return it != pods_.end() && it->second.is_assumed;
}

}  // namespace berth::cache
