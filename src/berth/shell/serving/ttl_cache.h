// SPDX-License-Identifier: Apache-2.0
// TtlCache: an LRU cache whose entries each have an expiry time. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/base/time.h"

namespace berth::serving {

template <typename Value>
class TtlCache {
 public:
  explicit TtlCache(std::size_t entries_max) : entries_max_(entries_max) {}

  // Null if there is no entry, or if it has expired. The pointer is valid until the next Set() or Find().
  const Value* Find(const std::string& key, Time now) {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return nullptr;
    if (it->second->until <= now) {
      entries_.erase(it->second);
      by_key_.erase(it);
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, it->second);
    return &it->second->value;
  }

  void Set(const std::string& key, Value value, Time until) {
    if (const auto it = by_key_.find(key); it != by_key_.end()) {
      entries_.erase(it->second);
      by_key_.erase(it);
    }
    entries_.push_front({key, std::move(value), until});
    by_key_.emplace(key, entries_.begin());
    if (entries_.size() <= entries_max_) return;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    Value value;
    Time until;
  };

  const std::size_t entries_max_;
  std::list<Entry> entries_;  // the one used last first
  StringHashMap<typename std::list<Entry>::iterator> by_key_;
};

}  // namespace berth::serving
