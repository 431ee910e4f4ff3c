// SPDX-License-Identifier: Apache-2.0
// GarbageCollector: removes pods and ReplicaSets whose controlling owner is gone, and pods whose node is. It asks the
// API server before it takes an owner for gone, unless the watch has shown its end; and it deletes no version but the
// one it has seen, since what changed meanwhile may have been released. On the loop's thread.
#pragma once

#include <memory>
#include <string>

#include "berth/base/hash_map.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class GarbageCollector {
 public:
  // Owners that are known to be gone; beyond it the knowledge is dropped and asked for again.
  static constexpr std::size_t kGoneMax = 100'000;

  // `context` owns what uses it and outlives it.
  explicit GarbageCollector(Context& context);

  // Until the lists are complete nothing is done.
  void OnSynced();
  void OnPod(const PodView& pod);
  void OnReplicaSet(const WorkloadView& set);
  void OnPodOwnerGone(const WorkloadView& owner);
  void OnDeploymentGone(const WorkloadView& deployment);
  void OnNodeGone(const std::string& name);

 private:
  void Sync(const std::string& key, client::WorkQueue::Done done);
  void Collect(const std::string& key, const ObjectView& object, const std::string& path, client::WorkQueue::Done done);
  // A pod bound to a node that there is not: nobody else ends it.
  void SyncStranded(const std::string& key, const std::string& pod_key, client::WorkQueue::Done done);
  Context::Answer AfterDelete(const std::string& key, client::WorkQueue::Done done);
  bool IsStranded(const PodView& pod) const;
  bool HasOwner(const ObjectView& object, bool is_pod) const;
  void RememberGone(const std::string& uid);

  Context& context_;
  std::shared_ptr<client::WorkQueue> queue_;
  bool is_synced_ = false;
  StringHashSet gone_;  // uids
};

}  // namespace berth::controllers
