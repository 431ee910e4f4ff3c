// SPDX-License-Identifier: Apache-2.0
// ReplicaSetController: as many pods of each ReplicaSet as it asks for. On the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/random.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class ReplicaSetController {
 public:
  // `context` owns what uses it and outlives it.
  explicit ReplicaSetController(Context& context);

  // Until both lists are complete nothing is done: pods that are not listed yet would be made again.
  void OnSynced();
  void OnReplicaSet(const WorkloadView& set);
  void OnReplicaSetGone(const WorkloadView& set);
  void OnPod(const PodView* before, const PodView& pod);
  void OnPodGone(const PodView& pod);

 private:
  // Writes that the watch has not shown yet. Until it has, the pods that we count are not those that there are.
  struct Expectations {
    StringHashSet created;      // keys
    StringHashSet deleted;      // uids
    std::optional<Time> since;  // of the newest; nobody waits for them for ever
    bool IsEmpty() const { return created.empty() && deleted.empty(); }
  };
  // A round of creations or deletions of one ReplicaSet.
  struct Round {
    std::shared_ptr<const WorkloadView> set;
    client::WorkQueue::Done done;
    std::size_t left = 0;
    bool has_failed = false;
    std::string problem;
  };
  using RoundPtr = std::shared_ptr<Round>;
  using PodPtr = std::shared_ptr<const PodView>;

  void Sync(const std::string& key, client::WorkQueue::Done done);
  // Adopts pods without a controller that the selector matches, and lets go those that it does not match any more.
  // False when there is nothing to do.
  bool Claim(const WorkloadView& set, const ObjectIndex<PodView>::Group& owned, const client::WorkQueue::Done& done);
  void CreatePods(const RoundPtr& round, std::int64_t count);
  void CreatePod(const RoundPtr& round, const std::string& name);
  // A creation without an answer: whether the pod exists is known only after reading it.
  void Settle(const RoundPtr& round, const std::string& name, const Error& error);
  void DeletePods(const RoundPtr& round, std::vector<PodPtr> surplus);
  void DeletePod(const RoundPtr& round, const PodPtr& pod);
  void EndStep(const RoundPtr& round);
  void FailCreation(const RoundPtr& round, const std::string& name, const Error& error);
  void WriteStatus(const std::shared_ptr<const WorkloadView>& set, bool succeeded, const client::WorkQueue::Done& done);
  bool HasExpectations(const std::string& uid);
  void AddSoon(const std::string& key);

  Context& context_;
  std::shared_ptr<client::WorkQueue> queue_;
  Random random_;
  bool is_synced_ = false;
  StringHashMap<Expectations> expectations_;   // by the ReplicaSet's uid
  StringHashMap<std::string> status_written_;  // by uid, the last status patch with the version it was made for
  StringHashMap<std::string> problems_;        // by uid, why pods could not be made
};

// The pods to remove first: without a node, not running, not ready, of low deletion cost, on nodes with many of them,
// ready for a short time, restarted often, young. As upstream's order, but without its logarithmic age classes.
void SortForRemoval(std::vector<std::shared_ptr<const PodView>>& pods);

}  // namespace berth::controllers
