// KeptCache: values by id, within a bound on their bytes; those not used for longest go. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include <absl/container/flat_hash_map.h>

namespace berth::runtime {

// Kept has Bytes().
template <typename Kept>
class KeptCache {
 public:
  // Null when there is none. What is found counts as used.
  Kept* Find(std::uint64_t id) {
    const auto it = entries_.find(id);
    if (it == entries_.end()) return nullptr;
    recency_.splice(recency_.begin(), recency_, it->second.recency);
    it->second.period = period_;
    return it->second.kept.get();
  }

  // `id` must not be there.
  Kept& Add(std::uint64_t id, std::unique_ptr<Kept> kept) {
    recency_.push_front(id);
    return *entries_.emplace(id, Entry{std::move(kept), 0, period_, recency_.begin()}).first->second.kept;
  }

  // Tells that the newest value has the size that it has now. The newest one always stays.
  void Bound(std::size_t bytes_max) {
    if (entries_.empty()) return;
    Entry& newest = entries_.find(recency_.front())->second;
    bytes_ -= newest.bytes;
    newest.bytes = newest.kept->Bytes();
    bytes_ += newest.bytes;
    while (bytes_ > bytes_max && entries_.size() > 1) {
      const auto oldest = entries_.find(recency_.back());
      bytes_ -= oldest->second.bytes;
      entries_.erase(oldest);
      recency_.pop_back();
    }
  }

  // Ends a period: what was not used in it goes.
  void DropIdle() {
    while (!recency_.empty()) {
      const auto oldest = entries_.find(recency_.back());
      if (oldest->second.period == period_) break;
      bytes_ -= oldest->second.bytes;
      entries_.erase(oldest);
      recency_.pop_back();
    }
    // What is asked for by and by must not keep the table of a burst.
    if (entries_.empty()) entries_ = {};
    ++period_;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::unique_ptr<Kept> kept;
    std::size_t bytes = 0;
    std::uint64_t period = 0;  // the last one in which it was used
    std::list<std::uint64_t>::iterator recency;
  };

  absl::flat_hash_map<std::uint64_t, Entry> entries_;
  std::list<std::uint64_t> recency_;  // most recent first
  std::size_t bytes_ = 0;
  std::uint64_t period_ = 0;
};

}  // namespace berth::runtime
