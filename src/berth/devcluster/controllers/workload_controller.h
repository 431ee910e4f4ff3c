// SPDX-License-Identifier: Apache-2.0
// WorkloadController: carries out, for each object of one kind, what a pure function decides about it and its pods
// (pod_decision.h): makes claims and pods, removes pods, writes the status, says so in events. Each look begins with
// what the watches show; since names follow from the owner, nothing has to be remembered of writes under way. On the
// loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/base/hash_map.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/pod_decision.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class WorkloadController {
 public:
  using Decide = std::function<PodDecision(const WorkloadView& owner, const Pods& pods, const Nodes& nodes, Time now)>;

  // `context` owns what uses it and outlives it; `owners` is the context's index of the kind, which this keeps.
  WorkloadController(Context& context, const OwnerKind& kind, ObjectIndex<WorkloadView>& owners, Decide decide);

  const OwnerKind& kind() const { return kind_; }

  // Until all lists are complete nothing is done.
  void OnSynced();
  void OnOwner(const std::shared_ptr<const WorkloadView>& owner);
  void OnOwnerGone(const WorkloadView& owner);
  // A pod that came, changed or went.
  void OnPod(const PodView& pod);
  void LookAtAll();

 private:
  // A decision that is being carried out.
  struct Round {
    std::shared_ptr<const WorkloadView> owner;
    PodDecision decision;
    client::WorkQueue::Done done;
    std::size_t left = 0;
    bool has_failed = false;
  };
  using RoundPtr = std::shared_ptr<Round>;

  void Sync(const std::string& key, client::WorkQueue::Done done);
  // Claims first, then all other writes, then the status.
  void WriteClaims(const RoundPtr& round);
  void WritePods(const RoundPtr& round);
  void Create(const RoundPtr& round, const char* plural, const PodDecision::New& made, std::function<void()> next);
  void Delete(const RoundPtr& round, const std::shared_ptr<const PodView>& pod);
  void EndStep(const RoundPtr& round, const std::function<void()>& next);
  void Finish(const RoundPtr& round);
  void WriteStatus(const RoundPtr& round);

  Context& context_;
  const OwnerKind kind_;
  ObjectIndex<WorkloadView>& owners_;
  const Decide decide_;
  std::shared_ptr<client::WorkQueue> queue_;
  bool is_synced_ = false;
  StringHashMap<std::string> status_written_;  // by uid, the last status patch with the version it was made for
};

}  // namespace berth::controllers
