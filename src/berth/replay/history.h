// SPDX-License-Identifier: Apache-2.0
// A recorded history under some configuration: nodes, pods and other objects come and go as they did, and a cluster in
// memory (whatif/offline_cluster.h) decides where the pods go. Writes succeed at once, deciding takes no time, and
// extenders are not asked; so the recorded configuration is run in the same way, to compare with. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/io.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::replay {

// What became of a pod of ours that had no node when it came.
struct FirstPlacement {
  std::string key;   // "namespace/name"
  std::string node;  // the first one that it was put on; empty: none
  Time came{};
  Time placed{};
};

// What became of each pod, by uid.
using FirstPlacements = std::map<std::string, FirstPlacement>;

class History {
 public:
  static Expected<std::unique_ptr<History>> Make(whatif::OfflineOptions options);

  // An input of the recorded core; what only it needs (outcomes of its writes and the like) is passed over. `now` never
  // goes back.
  void Take(const scheduler::Input& input, Time now);
  // Is called before the recorded core's decision that placed this pod: a later binding of the pod is its work.
  void AddRecorded(const std::string& uid) { placed_by_recorded_.insert(uid); }
  // Schedules the pods that wait.
  void AdvanceTo(Time now);

  const FirstPlacements& placements() const { return placements_; }
  std::size_t eviction_count() const { return cluster_->evictions().size(); }
  // With one pod at least.
  std::size_t NodesInUse() const;

 private:
  explicit History(std::unique_ptr<whatif::OfflineCluster> cluster) : cluster_(std::move(cluster)) {}

  void TakePod(const api::Pod& pod);
  void TakeObject(const framework::AnyObject& object);

  const std::unique_ptr<whatif::OfflineCluster> cluster_;
  std::map<std::string, std::shared_ptr<const api::Pod>> last_seen_;  // by uid, without what schedulers write
  std::set<std::string> placed_by_recorded_;                          // uids
  std::set<std::string> pending_;                                     // uids of placements_ without a node
  std::set<std::string> objects_seen_;                                // of the kinds that bindings change
  FirstPlacements placements_;
};

}  // namespace berth::replay
