// SPDX-License-Identifier: Apache-2.0
// LruCache: values by id with a limit on their bytes; the least recently used are evicted. The address of a value is
// stable. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

#include <absl/container/flat_hash_map.h>

namespace berth {

// Value must have `std::size_t Bytes() const`: the approximate size of what it holds.
template <typename Value>
class LruCache {
 public:
  LruCache() = default;
  LruCache(LruCache&&) = default;
  LruCache& operator=(LruCache&&) = default;

  // Null when the id is not found. A value that is found counts as used.
  Value* Find(std::uint64_t id) {
    // Most lookups are for the value used last.
    if (!entries_.empty() && entries_.front().id == id) {
      entries_.front().period = period_;
      return &entries_.front().value;
    }
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    it->second->period = period_;
    return &it->second->value;
  }

  // Constructs the value from `args` as the one used last. `id` must not exist.
  template <typename... Args>
  Value& Add(std::uint64_t id, Args&&... args) {
    entries_.emplace_front(id, period_, std::forward<Args>(args)...);
    by_id_.emplace(id, entries_.begin());
    return entries_.front().value;
  }

  // Updates the recorded size of the value used last, then evicts others until the limits hold.
  void Bound(std::size_t bytes_max, std::size_t count_max = SIZE_MAX) {
    if (entries_.empty()) return;
    Entry& newest = entries_.front();
    bytes_ -= newest.bytes;
    newest.bytes = newest.value.Bytes();
    bytes_ += newest.bytes;
    while (by_id_.size() > 1 && (bytes_ > bytes_max || by_id_.size() > count_max)) DropOldest();
  }

  // Ends a period: evicts values that were not used in it.
  void DropIdle() {
    while (!entries_.empty() && entries_.back().period != period_) DropOldest();
    // Frees a table that grew in a burst.
    if (entries_.empty()) by_id_ = {};
    ++period_;
  }

  std::size_t size() const { return by_id_.size(); }

 private:
  struct Entry {
    template <typename... Args>
    Entry(std::uint64_t entry_id, std::uint64_t now, Args&&... args)
        : id(entry_id), period(now), value(std::forward<Args>(args)...) {}

    std::uint64_t id;
    std::uint64_t period;   // the last period in which it was used
    std::size_t bytes = 0;  // at the last Bound()
    Value value;
  };
  using Entries = std::list<Entry>;

  void DropOldest() {
    bytes_ -= entries_.back().bytes;
    by_id_.erase(entries_.back().id);
    entries_.pop_back();
  }

  Entries entries_;  // most recently used first
  absl::flat_hash_map<std::uint64_t, typename Entries::iterator> by_id_;
  std::size_t bytes_ = 0;
  std::uint64_t period_ = 0;
};

}  // namespace berth
