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
#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;

using Modules = std::vector<std::pair<std::string, int>>;

// The log of a core with this --vmodule while pods and nodes come and go; `is_measured`: it has metrics.
std::string Said(Modules modules, bool is_measured = true) {
  MetricRegistry registry;
  instruments::SchedulerMetrics metrics(registry);
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
  h.Run();
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
  EXPECT_THAT(additions,
              AllOf(HasSubstr(R"("Add event for node" node="n")"),
                    HasSubstr(R"("Add event for unscheduled pod" pod="default/fits")"),
                    HasSubstr(R"("Add event for scheduled pod" pod="default/there")"),
                    HasSubstr(R"("Delete event for scheduled pod" pod="default/there")"),
                    HasSubstr(R"("Delete event for unscheduled pod" pod="default/large")"),
                    HasSubstr(R"("Delete event for node" node="n")"), ::testing::Not(HasSubstr("Update event"))));
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
