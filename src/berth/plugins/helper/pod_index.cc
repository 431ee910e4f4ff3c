// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/pod_index.h"

#include <algorithm>
#include <utility>

#include "berth/plugins/helper/label_buckets.h"

namespace berth::plugins {

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;

void PodIndex::Forget() {
  table_.Forget();
  ++epoch_;
  slots_by_row_.clear();
  is_row_used_.clear();
  slots_.clear();
  slot_of_class_.clear();
  live_slot_count_ = class_bytes_ = live_class_bytes_ = 0;
  buckets_.clear();
  log_base_ += log_.size();
  log_.clear();
  log_begin_ = log_base_;
}

void PodIndex::Sync(const framework::NodeTable& nodes) {
  if (table_.IsUpToDate(nodes)) return;
  // An index that is overgrown with classes without a running pod is rebuilt, but not before it has cost as much as
  // rebuilding does.
  const bool is_overgrown = slots_.size() > 2 * live_slot_count_ + kDeadSlotsMax;
  const bool has_dead_bytes = class_bytes_ > 2 * live_class_bytes_ + kDeadBytesMax;
  if (!table_.IsSame(nodes) || (is_overgrown && log_end() - log_begin_ > kDeadSlotsMax) || has_dead_bytes) Forget();
  slots_by_row_.resize(nodes.row_count());
  is_row_used_.resize(nodes.row_count());
  table_.ForChanged(nodes, [&](NodeIndex row, std::size_t pods_kept) { SyncRow(nodes.Info(row), row, pods_kept); });
  if (log_.size() > kLogMax) {
    const std::size_t dropped = log_.size() - kLogMax / 2;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(dropped));
    log_base_ += dropped;
    // All pods of a large cluster may have come at once.
    if (log_.capacity() > 4 * kLogMax) log_.shrink_to_fit();
  }
}

void PodIndex::SyncRow(const framework::NodeInfo& info, NodeIndex row, std::size_t pods_kept) {
  SyncPods(
      info, pods_kept, slots_by_row_[row],
      [this](SlotId id, const PodInfoPtr& pod) {
        const Slot& slot = slots_[id];
        return slot.pod_class == pod->pod_class && slot.is_terminating == pod->deletion_time.has_value();
      },
      [this](const PodInfoPtr& pod) { return SlotFor(*pod); },
      [this, row](SlotId id, std::int32_t pods) { Count(id, row, pods); });
}

void PodIndex::Count(SlotId id, NodeIndex row, std::int32_t pods) {
  Slot& slot = slots_[id];
  const auto it = slot.count_by_row.try_emplace(row, 0).first;
  it->second += pods;
  if (it->second == 0) slot.count_by_row.erase(it);
  const bool was_live = slot.pod_count > 0;
  slot.pod_count += pods;
  const bool is_live = slot.pod_count > 0;
  if (is_live != was_live) {
    live_slot_count_ = is_live ? live_slot_count_ + 1 : live_slot_count_ - 1;
    const std::size_t bytes = slot.pod_class->bytes;
    live_class_bytes_ = is_live ? live_class_bytes_ + bytes : live_class_bytes_ - bytes;
  }
  is_row_used_[row] = true;
  const std::uint64_t end = log_end() + 1;
  // Further back than can be told is further back than the log reaches.
  const std::uint64_t back = slot.log_end == 0 ? 0 : end - slot.log_end;
  log_.push_back({id, row, pods, back > UINT32_MAX ? 0 : static_cast<std::uint32_t>(back)});
  slot.log_end = end;
}

PodIndex::SlotId PodIndex::SlotFor(const PodInfo& pod) {
  const SlotKey key{pod.pod_class.get(), pod.deletion_time.has_value()};
  const auto [it, is_new] = slot_of_class_.try_emplace(key, static_cast<SlotId>(slots_.size()));
  if (!is_new) return it->second;
  const SlotId id = it->second;
  class_bytes_ += pod.pod_class->bytes;
  slots_.push_back({pod.pod_class, key.is_terminating, {}, 0, 0});
  AddToBuckets(id);
  return id;
}

void PodIndex::AddToBuckets(SlotId id) {
  const framework::PodClass& pod_class = *slots_[id].pod_class;
  ForLabelBuckets(pod_class.namespace_name, pod_class.labels, bucket_, [&] { buckets_[bucket_].push_back(id); });
}

const PodIndex::SlotIds& PodIndex::Bucket(std::string_view namespace_name, std::string_view label,
                                          std::string_view value) const {
  static const SlotIds kNone;
  SetBucket(bucket_, namespace_name, label, value);
  const auto it = buckets_.find(bucket_);
  return it == buckets_.end() ? kNone : it->second;
}

void PodIndex::CollectCandidates(std::string_view namespace_name, const api::LabelSelector& selector, SlotId first,
                                 std::vector<SlotId>& candidates) const {
  // The candidates are those of the requirement that leaves the fewest.
  const api::Requirement* narrowest = nullptr;
  std::size_t fewest = Bucket(namespace_name, "", "").size();
  for (const api::Requirement& requirement : selector.requirements) {
    if (requirement.op != api::SelectorOperator::kIn || requirement.key.empty()) continue;
    std::size_t slots = 0;
    for (const std::string& value : requirement.values) slots += Bucket(namespace_name, requirement.key, value).size();
    if (slots > fewest || (slots == fewest && narrowest != nullptr)) continue;
    narrowest = &requirement;
    fewest = slots;
  }
  const std::size_t begin = candidates.size();
  const auto collect = [&](const SlotIds& bucket) {
    candidates.insert(candidates.end(), std::lower_bound(bucket.begin(), bucket.end(), first), bucket.end());
  };
  if (narrowest == nullptr) return collect(Bucket(namespace_name, "", ""));
  for (const std::string& value : narrowest->values) collect(Bucket(namespace_name, narrowest->key, value));
  if (narrowest->values.size() < 2) return;
  const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(from, candidates.end());
  candidates.erase(std::unique(from, candidates.end()), candidates.end());
}

std::size_t PodIndex::Bytes() const {
  std::size_t bytes = slots_by_row_.capacity() * sizeof(SlotIds) + slots_.capacity() * sizeof(Slot) +
                      slot_of_class_.capacity() * (sizeof(SlotKey) + sizeof(SlotId)) + log_.capacity() * sizeof(Change);
  for (const SlotIds& ids : slots_by_row_) bytes += ids.capacity() * sizeof(SlotId);
  for (const Slot& slot : slots_) bytes += slot.count_by_row.capacity() * 9;
  for (const auto& [key, ids] : buckets_) bytes += sizeof(key) + key.capacity() + ids.capacity() * sizeof(SlotId);
  return bytes;
}

}  // namespace berth::plugins
