// SPDX-License-Identifier: Apache-2.0
// DisruptionController: keeps the status of PodDisruptionBudgets (disruption_decision.h), by which the API server
// allows evictions. On the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/disruption_decision.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class DisruptionController {
 public:
  // `context` owns what uses it and outlives it.
  explicit DisruptionController(Context& context);

  // Until all lists are complete nothing is done.
  void OnSynced();
  void OnBudget(const std::shared_ptr<const WorkloadView>& budget);
  void OnBudgetGone(const WorkloadView& budget);
  // A pod that came, changed or went: as it is now, or was.
  void OnPod(const PodView& pod);
  // A Deployment, ReplicaSet or StatefulSet whose number of replicas may be another one.
  void OnScale(const WorkloadView& workload);

 private:
  void Sync(const std::string& key, client::WorkQueue::Done done);
  std::optional<std::int64_t> ReplicasOf(const api::OwnerReference& controller) const;

  Context& context_;
  ObjectIndex<WorkloadView> budgets_;
  std::shared_ptr<client::WorkQueue> queue_;
  bool is_synced_ = false;
};

}  // namespace berth::controllers
