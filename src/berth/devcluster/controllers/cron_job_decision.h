// SPDX-License-Identifier: Apache-2.0
// What a CronJob needs next: a Job to make, Jobs to remove, and its status. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/devcluster/controllers/objects.h"

namespace berth::controllers {

struct CronJobDecision {
  struct Note {  // an event
    bool is_warning = false;
    std::string reason;
    std::string text;
  };
  std::optional<json::object> job;                           // to make, once the surplus is gone
  std::vector<std::shared_ptr<const WorkloadView>> surplus;  // replaced, or more than the history is to hold
  json::object status;
  std::vector<Note> notes;
  std::optional<Duration> again_after;
};

// `jobs` are those that it controls. As upstream, in UTC: a spec.timeZone of another place is reported as a warning,
// and nothing is made.
CronJobDecision DecideCronJob(const WorkloadView& cron_job,
                              const std::vector<std::shared_ptr<const WorkloadView>>& jobs, Time now);

}  // namespace berth::controllers
