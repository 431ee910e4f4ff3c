// SPDX-License-Identifier: Apache-2.0
// CronJobController: makes the Jobs of CronJobs when they are due (cron_job_decision.h), removes old ones and those
// whose CronJob is gone. A Job's name follows from the time that it is due, so that none is made twice. On the loop's
// thread.
#pragma once

#include <memory>
#include <string>

#include "berth/base/hash_map.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/cron_job_decision.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class CronJobController {
 public:
  // `context` owns what uses it and outlives it.
  explicit CronJobController(Context& context);

  // Until all lists are complete nothing is done.
  void OnSynced();
  void OnCronJob(const std::shared_ptr<const WorkloadView>& cron_job);
  void OnCronJobGone(const WorkloadView& cron_job);
  // A Job that came, changed or went.
  void OnJob(const WorkloadView& job);

 private:
  // A decision that is being carried out.
  struct Round {
    std::shared_ptr<const WorkloadView> cron_job;
    CronJobDecision decision;
    client::WorkQueue::Done done;
    std::size_t left = 0;
    bool has_failed = false;
  };
  using RoundPtr = std::shared_ptr<Round>;

  void Sync(const std::string& key, client::WorkQueue::Done done);
  // Removals first, then the new Job, then the status.
  void RemoveJobs(const RoundPtr& round);
  void MakeJob(const RoundPtr& round);
  void WriteStatus(const RoundPtr& round);
  void Remove(const WorkloadView& job, Context::Answer answer);
  void RecordEventOnce(const WorkloadView& cron_job, bool is_warning, const std::string& reason,
                       const std::string& text);

  Context& context_;
  ObjectIndex<WorkloadView> cron_jobs_;
  std::shared_ptr<client::WorkQueue> queue_;
  bool is_synced_ = false;
  StringHashMap<std::string> last_events_;  // the last event by uid: the same one is not sent again and again
};

}  // namespace berth::controllers
