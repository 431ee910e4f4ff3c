// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/cron_job_controller.h"

#include <utility>
#include <vector>

#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::string_view kPrefix = "/apis/batch/v1";
constexpr std::string_view kKind = "CronJob";
constexpr std::string_view kReporter = "cronjob-controller";
constexpr int kAtOnce = 4;
constexpr Duration kGather = std::chrono::milliseconds(20);

bool ChangesNothing(const json::object& status, const json::object& wanted) {
  for (const auto& [key, value] : wanted) {
    const json::value* own = status.if_contains(key);
    if (own == nullptr ? !value.is_null() : *own != value) return false;
  }
  return true;
}

}  // namespace

CronJobController::CronJobController(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop, client::WorkQueueOptions{.in_flight_max = kAtOnce, .seed = context.options.seed + 53},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })) {}

void CronJobController::OnSynced() { is_synced_ = true; }

void CronJobController::OnCronJob(const std::shared_ptr<const WorkloadView>& cron_job) {
  cron_jobs_.Put(cron_job);
  queue_->AddAfter(cron_job->Key(), kGather);
}

void CronJobController::OnCronJobGone(const WorkloadView& cron_job) {
  cron_jobs_.Erase(cron_job.Key());
  last_events_.erase(cron_job.uid);
  for (const auto& [key, job] : context_.jobs.Owned(cron_job.uid)) {
    Remove(*job, [this, job_key = key](Expected<net::Response> response) {
      if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
        context_.CountFailure("removing the Job", job_key, response.error());
      }
    });
  }
}

void CronJobController::OnJob(const WorkloadView& job) {
  if (!job.controller || job.controller->kind != kKind) return;
  if (const auto owner = cron_jobs_.FindUid(job.controller->uid)) queue_->AddAfter(owner->Key(), kGather);
}

void CronJobController::Sync(const std::string& key, WorkQueue::Done done) {
  if (!is_synced_) {
    queue_->AddAfter(key, kGather);
    return done(true);
  }
  const auto cron_job = cron_jobs_.Find(key);
  if (!cron_job || cron_job->is_deleted) return done(true);
  std::vector<std::shared_ptr<const WorkloadView>> jobs;
  for (const auto& [job_key, job] : context_.jobs.Owned(cron_job->uid)) {
    if (!job->is_deleted) jobs.push_back(job);
  }
  auto round = std::make_shared<Round>();
  round->cron_job = cron_job;
  round->decision = DecideCronJob(*cron_job, jobs, context_.loop.WallNow());
  round->done = std::move(done);
  // A moment later than it is due: not before it by a clock that is read in another way.
  if (round->decision.again_after) queue_->AddAfter(key, *round->decision.again_after + std::chrono::milliseconds(100));
  for (const CronJobDecision::Note& note : round->decision.notes) {
    RecordEventOnce(*cron_job, note.is_warning, note.reason, note.text);
  }
  RemoveJobs(round);
}

void CronJobController::RecordEventOnce(const WorkloadView& cron_job, bool is_warning, const std::string& reason,
                                        const std::string& text) {
  std::string& last = last_events_[cron_job.uid];
  if (last == reason + text) return;
  last = reason + text;
  context_.RecordEvent(cron_job, kKind, kReporter, is_warning, reason, text);
}

void CronJobController::Remove(const WorkloadView& job, Context::Answer answer) {
  context_.Delete(ObjectPath(kPrefix, job.namespace_name, "jobs", job.name), job, {}, std::move(answer));
}

void CronJobController::RemoveJobs(const RoundPtr& round) {
  round->left = round->decision.surplus.size();
  if (round->left == 0) return MakeJob(round);
  for (const auto& job : round->decision.surplus) {
    Remove(*job, [this, round, job](Expected<net::Response> response) {
      if (response.ok()) {
        RecordEventOnce(*round->cron_job, false, "SuccessfulDelete", "Deleted job " + job->name);
      } else if (response.error().code != ErrorCode::kNotFound) {
        context_.CountFailure("removing a Job of", round->cron_job->Key(), response.error());
        round->has_failed = true;
      }
      if (--round->left == 0) MakeJob(round);
    });
  }
}

void CronJobController::MakeJob(const RoundPtr& round) {
  if (round->has_failed) return round->done(false);
  if (!round->decision.job) return WriteStatus(round);
  const WorkloadView& cron_job = *round->cron_job;
  context_.Send("POST", ObjectPath(kPrefix, cron_job.namespace_name, "jobs"), *round->decision.job, {},
                [this, round](Expected<net::Response> response) {
                  const WorkloadView& of = *round->cron_job;
                  if (response.ok()) {
                    const json::object* metadata = ObjectOf(*round->decision.job, "metadata");
                    RecordEventOnce(of, false, "SuccessfulCreate",
                                    "Created job " + std::string(StringOf(*metadata, "name")));
                  } else if (response.error().code != ErrorCode::kAlreadyExists) {
                    context_.CountFailure("creating a Job of", of.Key(), response.error());
                    RecordEventOnce(of, true, "FailedCreate", "Error creating job: " + response.error().message);
                    return round->done(false);
                  }
                  WriteStatus(round);
                });
}

void CronJobController::WriteStatus(const RoundPtr& round) {
  const WorkloadView& cron_job = *round->cron_job;
  if (ChangesNothing(cron_job.status, round->decision.status)) return round->done(true);
  const json::object patch{{"metadata", json::object{{"uid", cron_job.uid}}}, {"status", round->decision.status}};
  context_.Send("PATCH", ObjectPath(kPrefix, cron_job.namespace_name, "cronjobs", cron_job.name, "status"), patch,
                kMergePatch, [this, round](Expected<net::Response> response) {
                  const bool is_written = response.ok() || response.error().code == ErrorCode::kNotFound;
                  if (!is_written) {
                    context_.CountFailure("writing the status of", round->cron_job->Key(), response.error());
                  }
                  round->done(is_written);
                });
}

}  // namespace berth::controllers
