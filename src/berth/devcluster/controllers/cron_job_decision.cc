// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/cron_job_decision.h"

#include <algorithm>
#include <utility>

#include "berth/devcluster/controllers/cron_schedule.h"

namespace berth::controllers {
namespace {

using Jobs = std::vector<std::shared_ptr<const WorkloadView>>;

constexpr int kMissedMax = 100;  // as upstream: more and something is wrong with the clock
constexpr std::int64_t kSecondsMax = 1'000'000'000;
constexpr std::size_t kNameMax = 52;  // room for the time behind it

const json::object* Finished(const WorkloadView& job) {
  const json::value* conditions = Member(job.status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const json::value& each : conditions->get_array()) {
    const json::object* condition = each.if_object();
    if (condition == nullptr || StringOf(*condition, "status") != "True") continue;
    const std::string_view type = StringOf(*condition, "type");
    if (type == "Complete" || type == "Failed") return condition;
  }
  return nullptr;
}

bool IsUtc(std::string_view zone) {
  return zone.empty() || zone == "UTC" || zone == "Etc/UTC" || zone == "GMT" || zone == "Etc/GMT";
}

std::optional<std::int64_t> Seconds(const json::object& spec, const char* name) {
  const json::value* value = Member(spec, name);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return std::clamp<std::int64_t>(value->get_int64(), 0, kSecondsMax);
}

json::object ReferenceTo(const WorkloadView& job) {
  json::object reference;
  reference["kind"] = "Job";
  reference["namespace"] = job.namespace_name;
  reference["name"] = job.name;
  reference["uid"] = job.uid;
  reference["apiVersion"] = "batch/v1";
  reference["resourceVersion"] = job.resource_version;
  return reference;
}

std::string JobName(const WorkloadView& cron_job, Time due) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(due.time_since_epoch()).count();
  return cron_job.name.substr(0, kNameMax) + '-' + std::to_string(minutes);
}

json::object NewJob(const WorkloadView& cron_job, Time due) {
  const json::object* job_template = ObjectOf(cron_job.spec, "jobTemplate");
  const json::object* own = job_template == nullptr ? nullptr : ObjectOf(*job_template, "metadata");
  json::object metadata;
  for (const char* map : {"labels", "annotations"}) {
    const json::object* entries = own == nullptr ? nullptr : ObjectOf(*own, map);
    if (entries != nullptr) metadata[map] = *entries;
  }
  json::value& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations.emplace_object();
  annotations.get_object()["batch.kubernetes.io/cronjob-scheduled-timestamp"] = FormatRfc3339(due);
  metadata["name"] = JobName(cron_job, due);
  metadata["namespace"] = cron_job.namespace_name;
  metadata["ownerReferences"] = json::array{OwnerReferenceTo(cron_job, "CronJob")};
  const json::object* spec = job_template == nullptr ? nullptr : ObjectOf(*job_template, "spec");
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", std::move(metadata)},
          {"spec", spec == nullptr ? json::object() : *spec}};
}

// The oldest finished Jobs of one result beyond the limit.
void TrimHistory(Jobs finished, std::int64_t limit, CronJobDecision& decision) {
  std::sort(finished.begin(), finished.end(), [](const auto& a, const auto& b) {
    return a->creation_time != b->creation_time ? a->creation_time < b->creation_time : a->name < b->name;
  });
  const auto surplus = static_cast<std::int64_t>(finished.size()) - std::max<std::int64_t>(limit, 0);
  for (std::int64_t i = 0; i < surplus; ++i) decision.surplus.push_back(finished[static_cast<std::size_t>(i)]);
}

// Sorts the Jobs into those that run and those that have ended, and says so in the status.
Jobs TakeStock(const WorkloadView& cron_job, const Jobs& jobs, CronJobDecision& decision) {
  Jobs active;
  Jobs succeeded;
  Jobs failed;
  std::string last_success(StringOf(cron_job.status, "lastSuccessfulTime"));
  json::array references;
  for (const auto& job : jobs) {
    const json::object* condition = Finished(*job);
    if (condition == nullptr) {
      active.push_back(job);
      references.push_back(ReferenceTo(*job));
      continue;
    }
    const bool has_succeeded = StringOf(*condition, "type") == "Complete";
    (has_succeeded ? succeeded : failed).push_back(job);
    // Times in this form sort as texts.
    if (has_succeeded) last_success = std::max(last_success, std::string(StringOf(job->status, "completionTime")));
  }
  TrimHistory(std::move(succeeded), IntegerOf(cron_job.spec, "successfulJobsHistoryLimit", 3), decision);
  TrimHistory(std::move(failed), IntegerOf(cron_job.spec, "failedJobsHistoryLimit", 1), decision);
  decision.status["active"] = references.empty() ? json::value(nullptr) : json::value(std::move(references));
  if (!last_success.empty()) decision.status["lastSuccessfulTime"] = last_success;
  return active;
}

}  // namespace

CronJobDecision DecideCronJob(const WorkloadView& cron_job, const Jobs& jobs, Time now) {
  CronJobDecision decision;
  const Jobs active = TakeStock(cron_job, jobs, decision);
  const json::value* suspend = Member(cron_job.spec, "suspend");
  if (suspend != nullptr && suspend->is_bool() && suspend->get_bool()) return decision;
  const std::string_view zone = StringOf(cron_job.spec, "timeZone");
  const auto schedule = CronSchedule::Parse(StringOf(cron_job.spec, "schedule"));
  if (!IsUtc(zone) || !schedule.ok()) {
    decision.notes.push_back(
        schedule.ok()
            ? CronJobDecision::Note{true, "UnknownTimeZone",
                                    "invalid timeZone: \"" + std::string(zone) + "\": berth's cluster knows UTC alone"}
            : CronJobDecision::Note{true, "UnparseableSchedule", "unparseable schedule: " + schedule.error().message});
    return decision;
  }
  if (const auto next = schedule->Next(now)) decision.again_after = *next - now;

  const auto last = ParseRfc3339(StringOf(cron_job.status, "lastScheduleTime"));
  Time from = last.value_or(cron_job.creation_time.value_or(now));
  const auto deadline = Seconds(cron_job.spec, "startingDeadlineSeconds");
  if (deadline) from = std::max(from, now - std::chrono::seconds(*deadline));
  const auto due = schedule->Last(from, now);
  if (!due) return decision;
  int missed = 0;
  for (auto next = schedule->Next(from); next && *next <= now && missed <= kMissedMax; next = schedule->Next(*next)) {
    ++missed;
  }
  if (missed > kMissedMax) {
    decision.notes.push_back({true, "TooManyMissedTimes",
                              "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
                              "clock skew"});
  }
  const std::string name = JobName(cron_job, *due);
  const bool is_made = std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) { return job->name == name; });
  const std::string_view policy = StringOf(cron_job.spec, "concurrencyPolicy");
  if (!is_made && policy == "Forbid" && !active.empty()) {
    decision.notes.push_back({false, "JobAlreadyActive",
                              "Not starting job because prior execution is running and "
                              "concurrency policy is Forbid"});
    return decision;
  }
  if (!is_made) {
    if (policy == "Replace") decision.surplus.insert(decision.surplus.end(), active.begin(), active.end());
    decision.job = NewJob(cron_job, *due);
  }
  decision.status["lastScheduleTime"] = FormatRfc3339(*due);
  return decision;
}

}  // namespace berth::controllers
