// SPDX-License-Identifier: Apache-2.0
// DeploymentController: the ReplicaSets of each Deployment, its rollouts and its status. On the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/controllers/rollout.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class DeploymentController {
 public:
  // `context` owns what uses it and outlives it.
  explicit DeploymentController(Context& context);

  // Until the lists are complete nothing is done.
  void OnSynced();
  void OnDeployment(const WorkloadView& deployment);
  void OnDeploymentGone(const WorkloadView& deployment);
  void OnReplicaSet(const WorkloadView& set);
  void OnReplicaSetGone(const WorkloadView& set);
  // A pod that ended or went: what Recreate waits for.
  void OnPodEnded(const PodView& pod);

 private:
  using SetPtr = std::shared_ptr<const WorkloadView>;
  // One synchronisation of a Deployment.
  struct Round {
    SetPtr deployment;
    std::vector<SetPtr> sets;  // oldest first
    SetPtr newest;             // of the current template; null when there is none
    RolloutPlan plan;
    client::WorkQueue::Done done;
    std::size_t left = 0;
    bool has_failed = false;
  };
  using RoundPtr = std::shared_ptr<Round>;

  void Sync(const std::string& key, client::WorkQueue::Done done);
  // True: our own writes to ReplicaSets are not all visible yet.
  bool IsBehind(const std::vector<SetPtr>& sets, const WorkloadView& deployment);
  // Adopts ReplicaSets without a controller that the selector matches. False: there are none.
  bool Adopt(const RoundPtr& round);
  void CreateSet(const RoundPtr& round);
  void OnNameTaken(const RoundPtr& round, const std::string& name);
  // The revision and the other annotations of the newest set and the Deployment. False: they are right.
  bool WriteRevision(const RoundPtr& round);
  void Scale(const RoundPtr& round);
  void ScaleSet(const RoundPtr& round, const SetPtr& set, std::int64_t replicas);
  void RemoveOldSets(const RoundPtr& round);
  void WriteStatus(const RoundPtr& round);
  // Ends the round; a write of it is looked at again when the watch shows it.
  void Finish(const RoundPtr& round, bool succeeded);

  bool HasOldPods(const Round& round) const;
  std::int64_t NewRevision(const Round& round) const;
  json::object SetAnnotations(const Round& round) const;

  Context& context_;
  std::shared_ptr<client::WorkQueue> queue_;
  bool is_synced_ = false;
  // What we have written, until the watch shows it or it is taken for lost.
  struct Scaled {
    std::int64_t generation = 0;
    Time at;
  };
  struct Created {
    std::string key;
    Time at;
  };
  StringHashMap<Scaled> scaled_;               // by a ReplicaSet's uid
  StringHashMap<Created> created_;             // by a Deployment's uid
  StringHashMap<std::string> status_written_;  // by uid, the last status patch with the version it was made for
};

}  // namespace berth::controllers
