// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/selector_counts.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {

SelectorCounts::SelectorCounts(std::string namespace_name, std::optional<api::LabelSelector> selector,
                               bool counts_by_empty)
    : namespace_name_(std::move(namespace_name)), selector_(std::move(selector)) {
  if (selector_ && !counts_by_empty && selector_->requirements.empty()) selector_.reset();
}

bool SelectorCounts::Counts(const PodIndex::Slot& slot) const {
  return !slot.is_terminating && slot.pod_class->namespace_name == namespace_name_ &&
         selector_->Matches(slot.pod_class->labels);
}

void SelectorCounts::FindSlots(const PodIndex& index) {
  const std::size_t known = slots_.size();
  index.CollectCandidates(namespace_name_, *selector_, static_cast<PodIndex::SlotId>(slots_seen_), slots_);
  const auto from = slots_.begin() + static_cast<std::ptrdiff_t>(known);
  slots_.erase(std::remove_if(from, slots_.end(), [&](const PodIndex::SlotId id) { return !Counts(index.slot(id)); }),
               slots_.end());
  slots_seen_ = index.slot_count();
}

void SelectorCounts::Update(const PodIndex& index, std::size_t row_count) {
  if (!selector_) return;
  if (slots_seen_ < index.slot_count()) FindSlots(index);
  if (!is_counted_ || !index.HasLogSince(position_)) {
    Recount(index, row_count);
  } else if (position_ != index.log_end()) {
    Replay(index);
  }
  position_ = index.log_end();
  for (const auto& domains : domains_) domains->Refresh(by_row_);
}

void SelectorCounts::Replay(const PodIndex& index) {
  const auto changes = index.LogSince(position_);
  if (changes.size() <= slots_.size()) {
    for (const PodIndex::Change& change : changes) {
      if (std::binary_search(slots_.begin(), slots_.end(), change.slot)) Apply(change);
    }
    return;
  }
  for (const PodIndex::SlotId id : slots_) {
    index.ForChangesOf(id, position_, [this](const PodIndex::Change& change) { Apply(change); });
  }
}

void SelectorCounts::Apply(const PodIndex::Change& change) {
  by_row_.Add(change.row, change.pods);
  for (const auto& domains : domains_) domains->Add(change.row, change.pods);
}

void SelectorCounts::Recount(const PodIndex& index, std::size_t row_count) {
  std::vector<SparseCounts::Entry> entries;
  for (const PodIndex::SlotId id : slots_) {
    for (const auto& [row, pods] : index.slot(id).count_by_row) entries.push_back({row, pods});
  }
  by_row_.Assign(std::move(entries), row_count);
  for (const auto& domains : domains_) domains->Forget();
  is_counted_ = true;
}

std::shared_ptr<const DomainCounts> SelectorCounts::Follow(const std::shared_ptr<SpreadLayout>& layout) {
  for (const auto& domains : domains_) {
    if (&domains->layout() == layout.get()) return domains;
  }
  domains_.push_back(std::make_shared<DomainCounts>(layout));
  domains_.back()->Refresh(by_row_);
  return domains_.back();
}

std::size_t SelectorCounts::Bytes() const {
  std::size_t bytes = sizeof(*this) + by_row_.Bytes() + slots_.capacity() * sizeof(slots_[0]);
  for (const auto& domains : domains_) bytes += domains->Bytes();
  return bytes;
}

}  // namespace berth::plugins
