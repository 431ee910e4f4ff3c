// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/cron_job_decision.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::controllers {
namespace {

constexpr Time kNow{std::chrono::seconds(1767225600 + 90)};  // 2026-01-01T00:01:30Z

WorkloadView CronJob(const std::string& more = "", const char* status = "{}") {
  WorkloadView cron_job;
  cron_job.namespace_name = "default";
  cron_job.name = "c";
  cron_job.uid = "u";
  cron_job.creation_time = kNow - std::chrono::seconds(40);
  cron_job.spec = json::parse(R"({"schedule":"* * * * *")" + more + R"(,"jobTemplate":{"metadata":{"labels":{"a":"b"}},
      "spec":{"template":{"spec":{}}}}})")
                      .as_object();
  cron_job.status = json::parse(status).as_object();
  return cron_job;
}

std::shared_ptr<const WorkloadView> Job(const std::string& name, int age, const char* ended = nullptr) {
  auto job = std::make_shared<WorkloadView>();
  job->name = name;
  job->uid = name;
  job->creation_time = kNow - std::chrono::seconds(age);
  if (ended != nullptr) {
    job->status = json::parse(R"({"completionTime":"2026-01-01T00:00:00Z","conditions":[{"type":")" +
                              std::string(ended) + R"(","status":"True"}]})")
                      .as_object();
  }
  return job;
}

std::string Surplus(const CronJobDecision& decision) {
  std::string names;
  for (const auto& job : decision.surplus) names += job->name + ' ';
  return names;
}

TEST(DecideCronJob, MakesAJobThatIsDue) {
  const CronJobDecision decision = DecideCronJob(CronJob(), {}, kNow);
  ASSERT_TRUE(decision.job);
  const json::object& metadata = decision.job->at("metadata").as_object();
  EXPECT_EQ(metadata.at("name"), "c-29453761");
  EXPECT_EQ(metadata.at("labels").at("a"), "b");
  EXPECT_EQ(metadata.at("annotations").at("batch.kubernetes.io/cronjob-scheduled-timestamp"), "2026-01-01T00:01:00Z");
  EXPECT_EQ(metadata.at("ownerReferences").at(0).at("kind"), "CronJob");
  EXPECT_EQ(decision.status.at("lastScheduleTime"), "2026-01-01T00:01:00Z");
  EXPECT_EQ(decision.again_after, std::chrono::seconds(30));
}

TEST(DecideCronJob, MakesItOnce) {
  EXPECT_FALSE(DecideCronJob(CronJob("", R"({"lastScheduleTime":"2026-01-01T00:01:00Z"})"), {}, kNow).job);
  const CronJobDecision again = DecideCronJob(CronJob(), {Job("c-29453761", 5)}, kNow);
  EXPECT_FALSE(again.job);
  EXPECT_EQ(again.status.at("lastScheduleTime"), "2026-01-01T00:01:00Z");
  EXPECT_EQ(again.status.at("active").at(0).at("name"), "c-29453761");
}

TEST(DecideCronJob, WhatIsNotDue) {
  EXPECT_FALSE(DecideCronJob(CronJob(R"(,"suspend":true)"), {}, kNow).job);
  EXPECT_FALSE(DecideCronJob(CronJob(R"(,"startingDeadlineSeconds":10)"), {}, kNow).job);
  EXPECT_TRUE(DecideCronJob(CronJob(R"(,"startingDeadlineSeconds":60)"), {}, kNow).job);
  const CronJobDecision elsewhere = DecideCronJob(CronJob(R"(,"timeZone":"Europe/Berlin")"), {}, kNow);
  EXPECT_FALSE(elsewhere.job);
  ASSERT_EQ(elsewhere.notes.size(), 1u);
  EXPECT_EQ(elsewhere.notes[0].reason, "UnknownTimeZone");
  EXPECT_TRUE(DecideCronJob(CronJob(R"(,"timeZone":"Etc/UTC")"), {}, kNow).job);
}

TEST(DecideCronJob, ConcurrencyPolicies) {
  const auto running = Job("c-29453760", 90);
  EXPECT_TRUE(DecideCronJob(CronJob(), {running}, kNow).job);
  const CronJobDecision forbid = DecideCronJob(CronJob(R"(,"concurrencyPolicy":"Forbid")"), {running}, kNow);
  EXPECT_FALSE(forbid.job);
  EXPECT_EQ(forbid.notes.at(0).reason, "JobAlreadyActive");
  EXPECT_FALSE(forbid.status.contains("lastScheduleTime"));
  const CronJobDecision replace = DecideCronJob(CronJob(R"(,"concurrencyPolicy":"Replace")"), {running}, kNow);
  EXPECT_TRUE(replace.job);
  EXPECT_EQ(Surplus(replace), "c-29453760 ");
}

TEST(DecideCronJob, KeepsSoMuchHistory) {
  const CronJobDecision decision =
      DecideCronJob(CronJob(R"(,"successfulJobsHistoryLimit":1,"failedJobsHistoryLimit":0)"),
                    {Job("old", 300, "Complete"), Job("older", 400, "Complete"), Job("bad", 200, "Failed"),
                     Job("new", 100, "Complete")},
                    kNow);
  EXPECT_EQ(Surplus(decision), "older old bad ");
  EXPECT_EQ(decision.status.at("lastSuccessfulTime"), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(decision.status.at("active").is_null());
}

TEST(DecideCronJob, ManyMissedTimesAreReported) {
  WorkloadView cron_job = CronJob();
  cron_job.creation_time = kNow - std::chrono::hours(24);
  const CronJobDecision decision = DecideCronJob(cron_job, {}, kNow);
  EXPECT_TRUE(decision.job);
  EXPECT_EQ(decision.notes.at(0).reason, "TooManyMissedTimes");
}

}  // namespace
}  // namespace berth::controllers
