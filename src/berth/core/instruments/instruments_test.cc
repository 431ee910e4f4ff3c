// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "berth/core/instruments/metric_list.h"
#include "berth/core/instruments/profile_metrics.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/testing/source_path.h"

namespace berth::instruments {
namespace {

using framework::Code;

class HandClock final : public Clock {
 public:
  Time Now() const override { return time; }
  Time time{std::chrono::seconds(100)};
};

TEST(StopwatchTest, StandsStillWithoutAClock) {
  Stopwatch stopwatch(nullptr);
  stopwatch.BeginTurn(Time(std::chrono::seconds(5)));
  EXPECT_EQ(stopwatch.Read(), Time(std::chrono::seconds(5)));
}

TEST(StopwatchTest, NeverGoesBack) {
  HandClock clock;
  Stopwatch stopwatch(&clock);
  stopwatch.BeginTurn(Time(std::chrono::seconds(101)));
  EXPECT_EQ(stopwatch.Read(), Time(std::chrono::seconds(101)));
  clock.time = Time(std::chrono::seconds(102));
  EXPECT_EQ(stopwatch.latest(), Time(std::chrono::seconds(101)));
  EXPECT_EQ(stopwatch.Read(), Time(std::chrono::seconds(102)));
  EXPECT_EQ(stopwatch.latest(), Time(std::chrono::seconds(102)));
}

TEST(SchedulerMetricsTest, EachListedMetricIsRead) {
  MetricRegistry registry;
  const SchedulerMetrics metrics(registry);
  std::set<std::string> names;
  for (const MetricFamily* family : registry.Read()) names.insert(family->description().name);
  for (const ListedMetric& metric : SchedulerMetricList()) EXPECT_TRUE(names.contains(std::string(metric.name)));
  EXPECT_EQ(names.size(), SchedulerMetricList().size());
}

TEST(SchedulerMetricsTest, ThePageNamesEachListedMetric) {
  std::ifstream file(testing::SourcePath("docs/metrics.md"));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const ListedMetric& metric : SchedulerMetricList())
    EXPECT_NE(page.find('`' + std::string(metric.name) + '`'), std::string::npos) << metric.name;
}

TEST(SchedulerMetricsTest, HelpBeginsWithTheStability) {
  EXPECT_EQ(DescriptionOf("scheduler_goroutines").help,
            "[BETA] Number of running goroutines split by the work they do such as binding.");
}

TEST(SchedulerMetricsTest, FifteenAttemptsAndMoreAreOne) {
  MetricRegistry registry;
  SchedulerMetrics metrics(registry);
  metrics.cycles.NoteBound(14, std::chrono::seconds(1));
  metrics.cycles.NoteBound(15, std::chrono::seconds(1));
  metrics.cycles.NoteBound(99, std::chrono::seconds(1));
  EXPECT_EQ(metrics.cycles.sli_duration.With({"14"}).count(), 1U);
  EXPECT_EQ(metrics.cycles.sli_duration.With({"15+"}).count(), 2U);
  EXPECT_EQ(metrics.cycles.attempts.count(), 3U);
}

TEST(ProfileMetricsTest, CountsByResultAndStatus) {
  MetricRegistry registry;
  SchedulerMetrics all(registry);
  ProfileMetrics metrics(all, "mine", {.filter = {"A", "B"}});
  metrics.NoteAttempt(AttemptResult::kUnschedulable, std::chrono::milliseconds(3));
  metrics.NotePoint(Point::kFilter, Code::kSuccess, std::chrono::microseconds(250));
  metrics.filter[1]->Add(2);
  EXPECT_EQ(
      registry.AddCounter(DescriptionOf("scheduler_schedule_attempts_total")).With({"unschedulable", "mine"}).value(),
      1);
  const HistogramCell& filter =
      registry.AddHistogram(DescriptionOf("scheduler_framework_extension_point_duration_seconds"))
          .With({"Filter", "Success", "mine"});
  EXPECT_EQ(filter.count(), 1U);
  EXPECT_DOUBLE_EQ(filter.sum(), 0.00025);
  EXPECT_EQ(
      registry.AddCounter(DescriptionOf("scheduler_plugin_evaluation_total")).With({"B", "Filter", "mine"}).value(), 2);
}

}  // namespace
}  // namespace berth::instruments
