// SPDX-License-Identifier: Apache-2.0
// A case's cluster: the core on items, in memory, with a clock of its own. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/framework/objects.h"
#include "berth/proof/wake_ups/case.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::wake_ups {

class Cluster {
 public:
  Cluster(Family family, int release_minor, std::uint64_t seed = 1);

  // A pod that has got a node keeps it, and one that is being deleted goes on to be.
  void Set(const Item& item);
  void Remove(const Item& item);
  // As it is in the other cluster, whose scheduler may have written to it.
  void Copy(const Item& item, const Cluster& other);
  void CopyResourceClaims(const Cluster& other);

  // Schedules for a minute. How often anything has been tried since the cluster was made.
  std::uint64_t Run();
  // Lets groups that were refused try again, though nothing has changed.
  void RetryGroups();
  // Whatever waits for events alone has been tried again then.
  void WaitForFlush();

  std::uint64_t tries() const { return cluster_->core().counts().cycles; }
  // Pods that were bound after WaitForFlush(), and not before.
  std::uint64_t rescued_by_flush() const { return cluster_->core().counts().rescued_by_flush; }
  std::string NodeOf(const Item& pod) const;
  std::string WhyNot(const Item& pod) const;
  // Whether the pod, or its group, is held back before it can be tried.
  bool IsGated(const Item& pod) const;
  std::string NominatedNodeOf(const Item& pod) const;
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
