// SPDX-License-Identifier: Apache-2.0
// FleetInbox: changes of nodes and pods on their way into a Fleet. The loop of a scheduler puts them in, which takes a
// small part of a microsecond whatever else goes on; whoever wants to look at the fleet applies them first. Of each
// object that there was in between the newest change alone is kept, and an old state of a pod is freed when a newer one
// comes. As informers tell it, a pod has gone before another of its name comes. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_set.h>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/text_hash.h"
#include "berth/base/time.h"
#include "berth/page/fleet.h"

namespace berth::page {

class FleetInbox {
 public:
  // Both must outlive it.
  FleetInbox(Fleet& fleet, const Clock& clock) : fleet_(fleet), clock_(clock) {}

  void SetNode(std::shared_ptr<const api::Node> node);
  void RemoveNode(std::string_view name);
  void SetPod(std::shared_ptr<const api::Pod> pod);
  void RemovePod(std::string_view namespace_name, std::string_view name, std::string_view uid);

  // Returns when the fleet has all that was put in before. Not on a thread that must not wait.
  void Apply();

  std::size_t waiting_count() const;

 private:
  struct NodeChange {
    std::shared_ptr<const api::Node> node;  // null: the one of that name has gone
    std::string name;                       // set where `node` is null
    std::string_view Key() const { return node == nullptr ? std::string_view(name) : node->metadata.name; }
  };
  struct Gone {
    std::string namespace_name, name, uid;
  };
  struct PodChange {
    std::shared_ptr<const api::Pod> pod;  // null: it has gone
    std::unique_ptr<Gone> gone;           // set where `pod` is null
    PodTimes times;
    std::string_view Key() const { return pod == nullptr ? std::string_view(gone->uid) : pod->metadata.uid; }
  };

  // The newest change of each key, in the order in which the keys came.
  template <typename Change>
  class Newest {
   public:
    // An empty one where there was none: its key must be `key` before the next call.
    Change& Of(std::string_view key) {
      return **by_key_.lazy_emplace(key, [&](const auto& construct) { construct(&changes_.emplace_back()); });
    }
    std::size_t size() const { return changes_.size(); }
    // Changes come in much the same number again and again.
    void Reserve(std::size_t count) { by_key_.reserve(std::min(count, kReservedMax)); }
    auto begin() { return changes_.begin(); }
    auto end() { return changes_.end(); }

   private:
    static constexpr std::size_t kReservedMax = 4'096;
    struct Hash {
      using is_transparent = void;
      std::size_t operator()(std::string_view key) const { return HashText(key); }
      std::size_t operator()(const Change* change) const { return HashText(change->Key()); }
    };
    struct Equal {
      using is_transparent = void;
      bool operator()(const Change* a, const Change* b) const { return a == b; }
      bool operator()(const Change* change, std::string_view key) const { return change->Key() == key; }
    };

    std::deque<Change> changes_;  // which keeps each at its address
    absl::flat_hash_set<Change*, Hash, Equal> by_key_;
  };
  struct Changes {
    Newest<NodeChange> nodes;
    Newest<PodChange> pods;
  };

  Fleet& fleet_;
  const Clock& clock_;
  std::mutex apply_mutex_;  // one applies at a time, in order; locked before mutex_
  mutable std::mutex mutex_;
  Changes waiting_;  // guarded by mutex_
};

}  // namespace berth::page
