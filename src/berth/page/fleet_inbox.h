// SPDX-License-Identifier: Apache-2.0
// FleetInbox: changes of nodes and pods on their way into a Fleet. The loop of a scheduler puts them in, which takes a
// small part of a microsecond whatever else goes on; whoever wants to look at the fleet applies them first. What
// changes several times in between is applied once. As informers tell it, a pod has gone before another of its name
// comes. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/page/fleet.h"

namespace berth::page {

class FleetInbox {
 public:
  // From so many changes on only the newest of each object is kept, so that there are never more than this, or twice as
  // many as there are objects.
  static constexpr std::size_t kFoldedFrom = 20'000;

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
  struct Changes {
    std::vector<NodeChange> nodes;
    std::vector<PodChange> pods;
  };

  static void Fold(Changes& changes);
  void FoldIfMany();

  Fleet& fleet_;
  const Clock& clock_;
  std::mutex apply_mutex_;  // one applies at a time, in order; locked before mutex_
  mutable std::mutex mutex_;
  Changes waiting_;                      // guarded by mutex_
  std::size_t folded_at_ = kFoldedFrom;  // guarded by mutex_; so many changes are folded next
};

}  // namespace berth::page
