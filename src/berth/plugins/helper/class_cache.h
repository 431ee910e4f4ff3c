// SPDX-License-Identifier: Apache-2.0
// ClassCache: what a plugin keeps for each pod class, bounded; the classes that were used least recently go first.
// Within turns only.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "berth/base/lru_cache.h"
#include "berth/framework/pod_info.h"

namespace berth::plugins {

// Kept has `std::size_t Bytes() const`: about what it holds on the heap. The class, which may be nobody else's any
// more, counts too.
template <typename Kept>
class ClassCache {
 public:
  ClassCache(std::size_t classes_max, std::size_t bytes_max) : classes_max_(classes_max), bytes_max_(bytes_max) {}

  // What is kept for the class; `make()`, a Kept, when there is nothing yet. Stays until the next Get() or DropIdle().
  template <typename Make>
  Kept& Get(const std::shared_ptr<const framework::PodClass>& pod_class, const Make& make) {
    Entry* entry = entries_.Find(pod_class->id);
    // Ids are unique among the classes of one scheduler; tests may have several.
    if (entry == nullptr) {
      entry = &entries_.Add(pod_class->id, pod_class, make());
    } else if (entry->pod_class != pod_class) {
      *entry = Entry(pod_class, make());
    }
    entries_.Bound(bytes_max_, classes_max_);
    return entry->kept;
  }

  // Ends a period: what was not used in it goes.
  void DropIdle() { entries_.DropIdle(); }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Entry(const std::shared_ptr<const framework::PodClass>& its_class, Kept made)
        : pod_class(its_class), kept(std::move(made)) {}
    std::size_t Bytes() const { return kept.Bytes() + pod_class->bytes; }

    std::shared_ptr<const framework::PodClass> pod_class;
    Kept kept;
  };

  std::size_t classes_max_;
  std::size_t bytes_max_;
  LruCache<Entry> entries_;  // by PodClass::id
};

}  // namespace berth::plugins
