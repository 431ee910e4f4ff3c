// SPDX-License-Identifier: Apache-2.0
// Entry: the queue's own record of a pod, and the indexes that find it by uid and by name. Internal to the queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/base/make_anew.h"
#include "berth/base/text_hash.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/scheduling_queue.h"

namespace berth::queue {

// An entry that is between two places.
inline constexpr Place kNowhere = static_cast<Place>(255);
// Of pods that are scheduled as a group (pod_group_queue.h): in one that waits, or none that is known, or beside one in
// flight.
inline constexpr Place kInGroup = static_cast<Place>(254);
inline constexpr Place kIncomplete = static_cast<Place>(253);
inline constexpr Place kPending = static_cast<Place>(252);

inline bool IsPlaceOfMembers(Place place) { return place == kInGroup || place == kIncomplete || place == kPending; }

struct PodGroupEntity;

struct Entry {
  QueuedPodInfo info;
  const Profile* profile = nullptr;
  RejectorSet* rejector_set = nullptr;  // its rejectors; null: none
  std::uint64_t sequence = 0;           // of its arrival: what comes first among equals
  std::size_t uid_hash = 0;             // as the indexes have them
  std::size_t name_hash = 0;
  Place place = kNowhere;
  std::uint32_t position = 0;  // in a heap, or among a group's members
  Time backoff_expiration{};   // in the back-off heaps
  Time flushed{};              // when it was last flushed, where that counts
  framework::Status gate;      // why it is gated
  // In flight the neighbours in the order of popping, waiting those of the same class and rejector set.
  Entry* earlier = nullptr;
  Entry* later = nullptr;
  std::uint64_t event_sequence = 0;  // in flight: of the first event that happened after it was popped
  PodGroupEntity* group = nullptr;   // that it stands for, or is a waiting member of

  // From when the flush of long-waiting pods counts.
  Time waits_since() const { return std::max(info.timestamp, flushed); }
};

// Entries in stable places, used again after they are freed.
class EntryPool {
 public:
  Entry* Take() {
    if (free_.empty()) AddBlock();
    Entry* const entry = free_.back();
    free_.pop_back();
    return entry;
  }
  void Give(Entry* entry) {
    MakeAnew(*entry);
    free_.push_back(entry);
  }

 private:
  // One by one they would lie between what comes and goes with pods, and hold its pages for ever.
  static constexpr std::size_t kBlock = 128;

  void AddBlock() {
    blocks_.push_back(std::make_unique<Entry[]>(kBlock));
    for (std::size_t i = kBlock; i-- > 0;) free_.push_back(&blocks_.back()[i]);
  }

  std::vector<std::unique_ptr<Entry[]>> blocks_;
  std::vector<Entry*> free_;
};

// What an entry is found by. Reads the pod that the entry holds, so keys need no copy and survive a newer object.
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

// A hash set of entries. Hashes are kept beside the pointers, so that growing touches no pod.
template <typename By>
class EntryIndex {
 public:
  using Key = typename By::Key;

  Entry* Find(const Key& key) const { return Find(key, By::HashOf(key)); }
  // With the hash of the key.
  Entry* Find(const Key& key, std::size_t hash) const {
    const auto slot = slots_.find(Probe{hash, &key});
    return slot == slots_.end() ? nullptr : slot->entry;
  }
  // The key must not be there. The entry's hash must be set.
  void Put(Entry* entry) { slots_.insert(Slot{entry->*By::kHash, entry}); }
  // Brings what Erase(entry) will look at into the processor's cache.
  void Prefetch(Entry* entry) const { slots_.prefetch(Slot{entry->*By::kHash, entry}); }
  // Without effect when the entry is not there.
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
