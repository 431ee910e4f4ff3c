// SPDX-License-Identifier: Apache-2.0
// Entry: the queue's record of a pod, and the indexes that find it by uid and by name. Internal to the queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/base/reset_to_default.h"
#include "berth/base/text_hash.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/scheduling_queue.h"

namespace berth::queue {

// An entry that is being moved between two places.
inline constexpr Place kNowhere = static_cast<Place>(255);
// Places of pods that are scheduled as a group (pod_group_queue.h): in a waiting group, in a group that is not known,
// or in a group whose cycle is under way.
inline constexpr Place kInGroup = static_cast<Place>(254);
inline constexpr Place kIncomplete = static_cast<Place>(253);
inline constexpr Place kPending = static_cast<Place>(252);

inline bool IsPlaceOfMembers(Place place) { return place == kInGroup || place == kIncomplete || place == kPending; }

struct PodGroupEntity;

struct Entry {
  QueuedPodInfo info;
  const Profile* profile = nullptr;
  RejectorSet* rejector_set = nullptr;
  std::uint64_t sequence = 0;  // order of arrival; breaks ties
  std::size_t uid_hash = 0;    // copies of the hashes in the indexes
  std::size_t name_hash = 0;
  Place place = kNowhere;
  bool is_traced = false;      // the pod was sampled (instruments::PodTraces)
  std::uint32_t position = 0;  // index in a heap, or among a group's members
  Time backoff_expiration{};   // set in the back-off heaps
  Time flushed{};              // when the flush last moved it, where that counts
  framework::Status gate;      // why it is gated, in kGated
  // Links of a list: in flight, the pods in order of popping; while waiting, the pods of one class and rejector set.
  Entry* earlier = nullptr;
  Entry* later = nullptr;
  std::uint64_t event_sequence = 0;  // in flight: number of the first event after it was popped
  PodGroupEntity* group = nullptr;   // the group that it stands for, or waits in as a member

  // The time from which the flush of unschedulable pods counts.
  Time waits_since() const { return std::max(info.timestamp, flushed); }
};

// Whether the entry waits for an event.
inline bool IsParked(const Entry& entry) {
  return entry.place == Place::kUnschedulable || entry.place == Place::kGated;
}

// A pool of entries with stable addresses and a free list.
class EntryPool {
 public:
  Entry* Take() {
    if (free_.empty()) AddBlock();
    Entry* const entry = free_.back();
    free_.pop_back();
    return entry;
  }
  void Give(Entry* entry) {
    ResetToDefault(*entry);
    free_.push_back(entry);
  }

 private:
  // Entries are allocated in blocks: scattered among pods' short-lived allocations, they would keep the allocator from
  // returning pages.
  static constexpr std::size_t kBlock = 128;

  void AddBlock() {
    blocks_.push_back(std::make_unique<Entry[]>(kBlock));
    for (std::size_t i = kBlock; i-- > 0;) free_.push_back(&blocks_.back()[i]);
  }

  std::vector<std::unique_ptr<Entry[]>> blocks_;
  std::vector<Entry*> free_;
};

// Keys of the indexes. They read the pod in the entry, so that keys need no copies and stay valid when the object is
// replaced.
struct ByUid {
  using Key = std::string_view;
  static Key KeyOf(const framework::PodInfo& pod) { return pod.uid; }
  static std::size_t HashOf(Key uid) { return HashText(uid); }
  static constexpr std::size_t Entry::* kHash = &Entry::uid_hash;
};
struct ByName {
  using Key = std::pair<std::string_view, std::string_view>;  // namespace, name
  static Key KeyOf(const framework::PodInfo& pod) { return {pod.namespace_name(), pod.name}; }
  static std::size_t HashOf(const Key& key) { return HashText(key.second) + 31 * HashText(key.first); }
  static constexpr std::size_t Entry::* kHash = &Entry::name_hash;
};

// A hash set of entries. Hashes are stored with the pointers, so that growing it reads no entry.
template <typename By>
class EntryIndex {
 public:
  using Key = typename By::Key;

  Entry* Find(const Key& key) const { return Find(key, By::HashOf(key)); }
  Entry* Find(const Key& key, std::size_t hash) const {
    const auto slot = slots_.find(Probe{hash, &key});
    return slot == slots_.end() ? nullptr : slot->entry;
  }
  // The key must not be in the set. The entry's hash must be set.
  void Put(Entry* entry) { slots_.insert(Slot{entry->*By::kHash, entry}); }
  // Prefetches the memory that Erase(entry) will read.
  void Prefetch(Entry* entry) const { slots_.prefetch(Slot{entry->*By::kHash, entry}); }
  // No effect when the entry is not in the set.
  void Erase(Entry* entry) { slots_.erase(Slot{entry->*By::kHash, entry}); }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }

 private:
  struct Slot {
    std::size_t hash;
    Entry* entry;
  };
  struct Probe {
    std::size_t hash;
    const Key* key;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Slot& slot) const { return slot.hash; }
    std::size_t operator()(const Probe& probe) const { return probe.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return a.entry == b.entry; }
    bool operator()(const Slot& a, const Probe& b) const {
      return a.hash == b.hash && By::KeyOf(*a.entry->info.pod) == *b.key;
    }
    bool operator()(const Probe& a, const Slot& b) const { return (*this)(b, a); }
  };

  absl::flat_hash_set<Slot, Hash, Equal> slots_;
};

}  // namespace berth::queue
