// ClassCache: what a plugin keeps for each pod class, bounded; the classes that were used least recently go first.
// Core's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "berth/framework/pod_info.h"

namespace berth::plugins {

// Kept has `std::size_t Bytes() const`: about what it holds on the heap.
template <typename Kept>
class ClassCache {
 public:
  ClassCache(std::size_t classes_max, std::size_t bytes_max) : classes_max_(classes_max), bytes_max_(bytes_max) {}

  // What is kept for the class; `make()`, a std::shared_ptr<Kept>, when there is nothing yet. It outlives its time in
  // the cache with whoever shares it.
  template <typename Make>
  const std::shared_ptr<Kept>& Get(const std::shared_ptr<const framework::PodClass>& pod_class, const Make& make) {
    const auto [it, is_new] = entries_.try_emplace(pod_class->id);
    Entry& entry = it->second;
    if (is_new) {
      recency_.push_front(pod_class->id);
      entry.recency = recency_.begin();
    } else {
      recency_.splice(recency_.begin(), recency_, entry.recency);
    }
    entry.period = period_;
    // Ids are unique among the classes of one scheduler; tests may have several.
    if (entry.pod_class != pod_class) {
      entry.pod_class = pod_class;
      entry.kept = make();
    }
    bytes_ -= entry.bytes;
    entry.bytes = entry.kept->Bytes();
    bytes_ += entry.bytes;
    while (entries_.size() > 1 && (entries_.size() > classes_max_ || bytes_ > bytes_max_)) DropLast();
    return entries_.find(pod_class->id)->second.kept;
  }

  // Ends a period: what was not used in it goes.
  void DropIdle() {
    while (!recency_.empty() && entries_.find(recency_.back())->second.period != period_) DropLast();
    if (entries_.empty()) entries_ = {};
    ++period_;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const framework::PodClass> pod_class;
    std::shared_ptr<Kept> kept;
    std::size_t bytes = 0;     // as of the last Get()
    std::uint64_t period = 0;  // of the last Get()
    std::list<std::uint64_t>::iterator recency;
  };

  void DropLast() {
    const auto it = entries_.find(recency_.back());
    bytes_ -= it->second.bytes;
    entries_.erase(it);
    recency_.pop_back();
  }

  std::size_t classes_max_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t period_ = 0;
  absl::flat_hash_map<std::uint64_t, Entry> entries_;  // by PodClass::id
  std::list<std::uint64_t> recency_;                   // most recent first
};

}  // namespace berth::plugins
