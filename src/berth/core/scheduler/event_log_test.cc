// SPDX-License-Identifier: Apache-2.0
// The log lines that --vmodule enables for kube-scheduler's source names.
#include "berth/core/scheduler/event_log.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log_settings.h"
#include "berth/core/scheduler/attempt_log.h"
#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;
using ::testing::Not;

using Modules = std::vector<std::pair<std::string, int>>;

// The log of a core with this --vmodule while pods and nodes come and go; `is_measured`: it has metrics.
std::string Said(Modules modules, bool is_measured = true, int minor = framework::kOldestRelease) {
  MetricRegistry registry;
  instruments::SchedulerMetrics metrics(registry, framework::ReleaseOf(minor));
  SchedulerOptions options = PatientOptions();
  if (is_measured) options.metrics = &metrics;
  Harness h(DefaultProfiles(), options);
  log::Settings settings;
  settings.modules = std::move(modules);
  log::Configure(settings);
  ::testing::internal::CaptureStderr();
  h.Set(MakeNode("n"));
  h.Set(MakeNode("n").Label("a", "b"));
  h.Set(MakePod("fits").Request("cpu", "1"));
  h.Set(MakePod("fits").Request("cpu", "1").Label("a", "b"));
  h.Set(MakePod("large").Request("cpu", "1000"));
  h.Set(MakePod("gated").Gate("wait"));
  h.Run();
  h.Set(MakePod("large").Request("cpu", "900"));
  if (is_measured) LogDecision(h.core.decisions().Newest());
  h.Set(MakePod("there").Node("n"));
  h.Set(MakePod("there").Node("n").Label("a", "b"));
  h.Remove(MakePod("there").Node("n"));
  h.Remove(MakePod("large"));
  h.RemoveNode("n");
  log::Configure({});
  return ::testing::internal::GetCapturedStderr();
}

TEST(EventLog, UpstreamsSourcesReachTheLinesThatMeanTheSame) {
  const std::string additions = Said({{"eventhandlers", 3}});
  EXPECT_THAT(additions, AllOf(HasSubstr(R"("Add event for node" node="n")"),
                               HasSubstr(R"("Add event for unscheduled pod" pod="default/fits")"),
                               HasSubstr(R"("Add event for scheduled pod" pod="default/there")"),
                               HasSubstr(R"("Delete event for scheduled pod" pod="default/there")"),
                               HasSubstr(R"("Delete event for unscheduled pod" pod="default/large")"),
                               HasSubstr(R"("Delete event for node" node="n")"), Not(HasSubstr("Update event"))));
  EXPECT_THAT(Said({{"eventhandlers", 4}}),
              AllOf(HasSubstr(R"("Update event for node" node="n")"),
                    HasSubstr(R"("Update event for unscheduled pod" pod="default/fits")"),
                    HasSubstr(R"("Update event for scheduled pod" pod="default/there")")));
  EXPECT_THAT(Said({{"schedule_one", 3}}), HasSubstr(R"("Attempting to schedule pod" pod="default/fits")"));
  EXPECT_THAT(Said({{"schedule_one", 4}}), HasSubstr("laced\" pod="));
  EXPECT_THAT(Said({{"scheduling_queue", 3}}),
              HasSubstr(R"("Pod moved to an internal scheduling queue" pod="default/large" )"
                        R"(event="ScheduleAttemptFailure" queue="Unschedulable" schedulingCycle=)"));
  EXPECT_THAT(Said({{"scheduling_queue", 3}}), HasSubstr(R"( hint=0 unschedulable plugins="NodeResourcesFit")"));
  EXPECT_THAT(Said({{"active_queue", 5}}),
              HasSubstr(R"(pod="default/fits" event="UnschedulablePodAdd" queue="Active")"));
}

TEST(EventLog, APodThatEntersAQueueIsAnEntitySince137) {
  const Modules modules = {{"active_queue", 5}, {"backoff_queue", 5}, {"scheduling_queue", 5}};
  EXPECT_THAT(
      Said(modules),
      AllOf(HasSubstr(R"("Pod moved to an internal scheduling queue" pod="default/fits" event="UnschedulablePodAdd" )"
                      R"(queue="Active")"),
            HasSubstr(R"("Pod moved to an internal scheduling queue, because the pod is gated" pod="default/gated" )"
                      R"(event="UnschedulablePodAdd" queue="Unschedulable")"),
            HasSubstr(R"("Pod moved to an internal scheduling queue because the Pod is updated" pod="default/large" )"
                      R"(event="UnschedulablePodUpdatePodScaleDown" queue="Backoff")"),
            Not(HasSubstr("Entity"))));
  EXPECT_THAT(
      Said(modules, true, 37),
      AllOf(HasSubstr(R"("Entity moved to an internal scheduling queue" type="pod" entity="default/fits" )"
                      R"(event="UnscheduledPodAdd" queue="Active")"),
            HasSubstr(R"("Entity moved to an internal scheduling queue, because it is gated" type="pod" )"
                      R"(entity="default/gated" event="UnscheduledPodAdd" queue="Unschedulable")"),
            HasSubstr(
                R"("Entity moved to an internal scheduling queue because the Pod is updated" type="pod" )"
                R"(entity="default/large" pod="default/large" event="TargetPodUpdatePodScaleDown" queue="Backoff")"),
            // After an attempt that failed 1.37 goes on to say what 1.36 said.
            HasSubstr(R"("Pod moved to an internal scheduling queue" pod="default/large" )"
                      R"(event="ScheduleAttemptFailure" queue="Unschedulable" schedulingCycle=)"),
            Not(HasSubstr(R"(Pod moved to an internal scheduling queue" pod="default/fits")")),
            Not(HasSubstr(R"(Pod moved to an internal scheduling queue" pod="default/gated")"))));
}

// A gang that fits nowhere, as its members arrive and after its cycle.
std::string SaidOfGang(int minor) {
  MetricRegistry registry;
  instruments::SchedulerMetrics metrics(registry, framework::ReleaseOf(minor));
  SchedulerOptions options = PatientOptions();
  options.metrics = &metrics;
  GroupHarness h(std::vector<std::string>(), options);
  log::Settings settings;
  settings.modules = Modules{{"active_queue", 5}, {"backoff_queue", 5}, {"scheduling_queue", 5}};
  log::Configure(settings);
  ::testing::internal::CaptureStderr();
  h.Set(MakeNode("n"));
  h.Set(Gang("g", 2));
  h.AddMembers("g", 2, "1000");
  h.Cycle();
  log::Configure({});
  return ::testing::internal::GetCapturedStderr();
}

TEST(EventLog, AGroupIsAnEntityToo) {
  EXPECT_THAT(SaidOfGang(36), IsEmpty()) << "1.36 has no line for groups";
  EXPECT_THAT(
      SaidOfGang(37),
      AllOf(HasSubstr(R"("Entity moved to an internal scheduling queue" type="podgroup" entity="default/g" )"
                      R"(event="UnscheduledPodAdd" queue="Active")"),
            HasSubstr(R"("Entity moved to an internal scheduling queue" type="podgroup" entity="default/g" )"
                      R"(event="ScheduleAttemptFailure" queue="Backoff")"),
            HasSubstr(R"("Pod group moved to an internal scheduling queue" podGroup="default/g" )"
                      R"(event="ScheduleAttemptFailure" queue="Backoff" schedulingCycle=1 unschedulable plugins="")")));
}

TEST(EventLog, SoDoFoldersAndOurOwnSources) {
  EXPECT_THAT(Said({{"scheduler", 4}}), AllOf(HasSubstr("Attempting to schedule pod"), HasSubstr("laced\" pod="),
                                              HasSubstr("Update event for node")));
  EXPECT_THAT(Said({{"queue", 5}}), HasSubstr("queue=\"Active\""));
  EXPECT_THAT(Said({{"event_log", 3}}), HasSubstr("Add event for node"));
}

TEST(EventLog, NothingIsLoggedWhereNobodyAsksOrMeasures) {
  EXPECT_THAT(Said({}), IsEmpty());
  EXPECT_THAT(Said({{"preemption", 9}}), IsEmpty());
  EXPECT_THAT(Said({{"*", 9}}, false), IsEmpty()) << "a core that answers questions";
}

}  // namespace
}  // namespace berth::scheduler
