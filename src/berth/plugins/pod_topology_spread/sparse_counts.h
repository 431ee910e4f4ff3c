// SPDX-License-Identifier: Apache-2.0
// SparseCounts: counts by index of which most are 0: a sorted list of the others, or an array where they are many. A
// plain value.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::plugins {

class SparseCounts {
 public:
  using Index = std::uint32_t;
  struct Entry {
    Index index = 0;
    std::int32_t count = 0;
  };

  // Sets all counts to 0, and makes room for that many entries below `range`.
  void Clear(std::size_t entries = 0, std::size_t range = 0);
  // Replaces everything. `entries` are in any order; an index may come several times, with counts that add up.
  void Assign(std::vector<Entry> entries, std::size_t range);

  std::int32_t Get(Index index) const;
  // Returns the new count.
  std::int32_t Add(Index index, std::int32_t difference);
  // Counts that are not 0.
  std::size_t size() const { return size_; }

  // Calls take(index, count) for the counts that are not 0, ascending, until it returns false.
  template <typename Take>
  void ForEachWhile(const Take& take) const {
    for (const Entry& entry : entries_) {
      if (!take(entry.index, entry.count)) return;
    }
    for (std::size_t i = 0; i < array_.size(); ++i) {
      if (array_[i] != 0 && !take(static_cast<Index>(i), array_[i])) return;
    }
  }
  template <typename Take>
  void ForEach(const Take& take) const {
    ForEachWhile([&take](Index index, std::int32_t count) {
      take(index, count);
      return true;
    });
  }

  // About what it holds on the heap.
  std::size_t Bytes() const { return entries_.capacity() * sizeof(Entry) + array_.capacity() * sizeof(std::int32_t); }

 private:
  friend class CountReader;

  static bool PaysArray(std::size_t entries, std::size_t range);
  std::vector<Entry>::iterator Find(Index index);
  std::int32_t AddToArray(Index index, std::int32_t difference);
  void BecomeArray(std::size_t range);
  void BecomeList();

  std::size_t size_ = 0;
  std::vector<Entry> entries_;       // ascending; empty when there is an array
  std::vector<std::int32_t> array_;  // by index
  bool is_array_ = false;
};

// Counts that are read often, best in ascending order. `counts` must outlive it and not change.
class CountReader {
 public:
  CountReader(const SparseCounts& counts, std::size_t lookups);

  std::int32_t operator[](SparseCounts::Index index) const {
    if (data_ == nullptr) return GetFromList(index);
    return index < size_ ? data_[index] : 0;
  }

 private:
  std::int32_t GetFromList(SparseCounts::Index index) const;

  const SparseCounts& counts_;
  mutable std::size_t next_ = 0;  // entry of the list behind the last one that was met
  std::vector<std::int32_t> own_;
  const std::int32_t* data_ = nullptr;  // by index; null: not worth it
  std::size_t size_ = 0;
};

}  // namespace berth::plugins
