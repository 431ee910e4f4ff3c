// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/nominated_rows.h"

#include <algorithm>
#include <utility>

namespace berth::framework {

void NominatedRows::Set(NodeIndex row, std::span<const PodInfoPtr> pods) {
  const std::uint32_t slot = row < slots_.size() ? slots_[row] : kNoSlot;
  if (slot == kNoSlot) {
    if (pods.empty()) return;
    if (row >= slots_.size()) slots_.resize(row + 1, kNoSlot);
    slots_[row] = static_cast<std::uint32_t>(rows_.size());
    pods_.emplace_back(pods.begin(), pods.end());
    rows_.push_back({row, pods_.back()});
    Count(pods, row);
    Touch(row);
    return;
  }
  std::vector<PodInfoPtr>& own = pods_[slot];
  if (std::equal(own.begin(), own.end(), pods.begin(), pods.end())) return;
  Discount(own, row);
  Count(pods, row);
  if (pods.empty()) {
    // The last row takes the free slot. Moving a vector does not move its elements, so that spans stay valid.
    slots_[row] = kNoSlot;
    if (slot + 1 < rows_.size()) {
      own = std::move(pods_.back());
      rows_[slot] = rows_.back();
      slots_[rows_[slot].row] = slot;
    }
    pods_.pop_back();
    rows_.pop_back();
  } else {
    own.assign(pods.begin(), pods.end());
    rows_[slot].pods = own;
  }
  Touch(row);
}

std::span<const PodInfoPtr> NominatedRows::PodsOn(NodeIndex row) const {
  if (row >= slots_.size() || slots_[row] == kNoSlot) return {};
  return rows_[slots_[row]].pods;
}

NodeIndex NominatedRows::RowOf(std::string_view uid) const {
  if (row_by_uid_.empty()) return kNoNode;
  const auto it = row_by_uid_.find(uid);
  return it == row_by_uid_.end() ? kNoNode : it->second;
}

bool NominatedRows::MatterTo(const PodInfo& pod) const {
  std::size_t count = 0;
  for (const auto& [priority, pods] : counts_) {
    if (priority < pod.priority()) break;
    count += pods;
    if (count > 1) return true;
  }
  if (count == 0) return false;
  // A single pod: it may be this one, nominated with its present or former priority.
  const NodeIndex own = RowOf(pod.uid);
  return own == kNoNode || std::none_of(PodsOn(own).begin(), PodsOn(own).end(), [&](const PodInfoPtr& other) {
           return other->uid == pod.uid && other->priority() >= pod.priority();
         });
}

bool NominatedRows::MatterTo(const PodInfo& pod, NodeIndex row) const {
  const auto pods = PodsOn(row);
  return std::any_of(pods.begin(), pods.end(), [&](const PodInfoPtr& other) {
    return other->priority() >= pod.priority() && other->uid != pod.uid;
  });
}

std::optional<std::span<const NodeIndex>> NominatedRows::ChangedSince(std::uint64_t since) const {
  if (since < log_base_) return std::nullopt;
  return std::span<const NodeIndex>(log_).subspan(std::min<std::size_t>(since - log_base_, log_.size()));
}

void NominatedRows::Count(std::span<const PodInfoPtr> pods, NodeIndex row) {
  for (const PodInfoPtr& pod : pods) {
    ++counts_[pod->priority()];
    row_by_uid_[pod->uid] = row;
  }
}

void NominatedRows::Discount(std::span<const PodInfoPtr> pods, NodeIndex row) {
  for (const PodInfoPtr& pod : pods) {
    const auto count = counts_.find(pod->priority());
    if (--count->second == 0) counts_.erase(count);
    const auto known = row_by_uid_.find(pod->uid);
    // The pod may have been set on another row already.
    if (known != row_by_uid_.end() && known->second == row) row_by_uid_.erase(known);
  }
}

void NominatedRows::Touch(NodeIndex row) {
  log_.push_back(row);
  // Replaying a log longer than the table is no faster than reading all rows.
  const std::size_t log_max = 2 * slots_.size() + 1024;
  if (log_.size() <= log_max) return;
  const std::size_t dropped = log_.size() / 2;
  log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(dropped));
  log_base_ += dropped;
}

}  // namespace berth::framework
