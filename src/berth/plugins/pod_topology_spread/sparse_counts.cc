// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/sparse_counts.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {
namespace {

// An array of so few is as small as a list.
constexpr std::size_t kSmallRange = 64;
// With more than one entry per this many indexes an array is kept: moving the rest of a list would cost too much.
constexpr std::size_t kIndexesPerEntry = 16;
// A list is unfolded into an array for more than one lookup per this many indexes.
constexpr std::size_t kIndexesPerLookup = 8;

bool IsBefore(const SparseCounts::Entry& entry, SparseCounts::Index index) { return entry.index < index; }

}  // namespace

bool SparseCounts::PaysArray(std::size_t entries, std::size_t range) {
  return range <= kSmallRange || entries * kIndexesPerEntry > range;
}

void SparseCounts::Clear(std::size_t entries, std::size_t range) {
  size_ = 0;
  entries_.clear();
  array_.clear();
  is_array_ = range > 0 && PaysArray(entries, range);
  if (is_array_) array_.resize(range);
}

void SparseCounts::Assign(std::vector<Entry> entries, std::size_t range) {
  Clear(entries.size(), range);
  if (is_array_) {
    for (const Entry& entry : entries) AddToArray(entry.index, entry.count);
    return;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.index < b.index; });
  for (const Entry& entry : entries) {
    if (!entries_.empty() && entries_.back().index == entry.index) {
      entries_.back().count += entry.count;
    } else {
      entries_.push_back(entry);
    }
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.count == 0; });
  size_ = entries_.size();
}

std::vector<SparseCounts::Entry>::iterator SparseCounts::Find(Index index) {
  // Many lists are filled from the front.
  if (entries_.empty() || entries_.back().index < index) return entries_.end();
  return std::lower_bound(entries_.begin(), entries_.end(), index, IsBefore);
}

std::int32_t SparseCounts::Get(Index index) const {
  if (is_array_) return index < array_.size() ? array_[index] : 0;
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), index, IsBefore);
  return it != entries_.end() && it->index == index ? it->count : 0;
}

std::int32_t SparseCounts::AddToArray(Index index, std::int32_t difference) {
  std::int32_t& count = array_[index];
  const bool was_zero = count == 0;
  count += difference;
  if (was_zero && count != 0) ++size_;
  if (!was_zero && count == 0) --size_;
  return count;
}

std::int32_t SparseCounts::Add(Index index, std::int32_t difference) {
  if (difference == 0) return Get(index);
  const std::size_t range = std::size_t{index} + 1;
  if (is_array_ && range > array_.size()) {
    if (PaysArray(size_ + 1, range)) {
      array_.resize(range);
    } else {
      BecomeList();
    }
  }
  if (is_array_) return AddToArray(index, difference);
  const auto it = Find(index);
  if (it != entries_.end() && it->index == index) {
    it->count += difference;
    const std::int32_t count = it->count;
    if (count == 0) {
      entries_.erase(it);
      --size_;
    }
    return count;
  }
  const std::size_t whole = entries_.empty() ? range : std::max(range, std::size_t{entries_.back().index} + 1);
  if (PaysArray(size_ + 1, whole)) {
    BecomeArray(whole);
    return AddToArray(index, difference);
  }
  entries_.insert(it, {index, difference});
  ++size_;
  return difference;
}

void SparseCounts::BecomeArray(std::size_t range) {
  is_array_ = true;
  array_.assign(range, 0);
  for (const Entry& entry : entries_) array_[entry.index] = entry.count;
  entries_ = {};
}

void SparseCounts::BecomeList() {
  is_array_ = false;
  entries_.reserve(size_ + 1);
  for (std::size_t i = 0; i < array_.size(); ++i) {
    if (array_[i] != 0) entries_.push_back({static_cast<Index>(i), array_[i]});
  }
  array_ = {};
}

CountReader::CountReader(const SparseCounts& counts, std::size_t lookups) : counts_(counts) {
  if (counts.is_array_) {
    data_ = counts.array_.data();
    size_ = counts.array_.size();
    return;
  }
  const std::size_t range = counts.entries_.empty() ? 0 : std::size_t{counts.entries_.back().index} + 1;
  if (lookups * kIndexesPerLookup > range) {
    own_.resize(range);
    for (const SparseCounts::Entry& entry : counts.entries_) own_[entry.index] = entry.count;
    data_ = own_.data();
    size_ = own_.size();
  }
}

std::int32_t CountReader::GetFromList(SparseCounts::Index index) const {
  const std::vector<SparseCounts::Entry>& entries = counts_.entries_;
  // A caller that asks for the rows of the list in their order finds the next entry at once.
  if (next_ >= entries.size() || entries[next_].index != index) {
    next_ =
        static_cast<std::size_t>(std::lower_bound(entries.begin(), entries.end(), index, IsBefore) - entries.begin());
    if (next_ == entries.size() || entries[next_].index != index) return 0;
  }
  return entries[next_++].count;
}

}  // namespace berth::plugins
