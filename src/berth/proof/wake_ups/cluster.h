// SPDX-License-Identifier: Apache-2.0
// The cluster of a case: the core with the case's items as objects, in memory, and its own clock. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/objects.h"
#include "berth/proof/wake_ups/case.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::wake_ups {

class Cluster {
 public:
  Cluster(Family family, int release_minor, std::uint64_t seed = 1);

  // Adds or changes the item's object. A pod keeps the node that it got, and its deletion once that has begun.
  void Set(const Item& item);
  void Remove(const Item& item);
  // Adds the item's object as it is in the other cluster, whose scheduler may have written to it.
  void Copy(const Item& item, const Cluster& other);
  void CopyResourceClaims(const Cluster& other);
  // Adds a pod that waits in the other cluster under that name; `with_room`: with the room that is kept for it.
  void CopyWaiting(const Item& pod, const std::string& name, const Cluster& other, bool with_room);

  // Schedules for a minute of simulated time. Returns the number of scheduling attempts since the cluster was made.
  std::uint64_t Run();
  // Lets groups that were refused try again, though nothing has changed.
  void RetryGroups();
  // Schedules until the flush has tried all pods again that wait for events.
  void WaitForFlush();

  std::uint64_t tries() const { return cluster_->core().counts().cycles; }
  // The number of pods that only the flush has got bound.
  std::uint64_t rescued_by_flush() const { return cluster_->core().counts().rescued_by_flush; }
  std::string NodeOf(const Item& pod) const;
  std::string WhyNot(const Item& pod) const;
  // Whether the pod, or its group, is held back before it can be tried.
  bool IsGated(const Item& pod) const;
  std::string NominatedNodeOf(const Item& pod) const;
  // Puts members of one group into the order in which their group's next cycle tries them: those with more attempts
  // first, then those that failed earlier.
  void SortAsTried(std::vector<Item>& members) const;
  // Uids of pods that the scheduler has begun to delete since the last call.
  std::vector<std::string> TakeEvicted();

 private:
  static framework::ObjectKind ObjectKindOf(const Item& item);
  static bool IsPod(Kind kind) { return kind == Kind::kPod || kind == Kind::kWaitingPod || kind == Kind::kMember; }
  api::Pod PodOf(const Item& item) const;
  framework::AnyObject ObjectOf(const Item& item) const;
  void SetPod(api::Pod&& pod);

  const Family family_;
  std::unique_ptr<whatif::OfflineCluster> cluster_;
  std::size_t evictions_taken_ = 0;
};

}  // namespace berth::wake_ups
