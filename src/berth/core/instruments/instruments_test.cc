// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/instruments/metric_list.h"
#include "berth/core/instruments/plugin_metrics.h"
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

TEST(SchedulerMetricsTest, EachListedMetricOfTheReleaseIsRead) {
  for (const int minor : {34, 35, 36, 37, 38}) {
    SCOPED_TRACE(minor);
    MetricRegistry registry;
    const SchedulerMetrics metrics(registry, framework::ReleaseOf(minor));
    std::map<std::string, std::string> help;
    for (const MetricFamily* family : registry.Read()) help[family->description().name] = family->description().help;
    std::size_t listed = 0;
    for (const ListedMetric& metric : SchedulerMetricList()) {
      if (!metric.in.Have(framework::ReleaseOf(minor))) continue;
      ++listed;
      EXPECT_EQ(help[std::string(metric.name)], DescriptionOf(metric).help);
    }
    EXPECT_EQ(help.size(), listed);
  }
}

TEST(SchedulerMetricsTest, TheListIsSortedAndAReleaseHasEachNameOnce) {
  const std::span<const ListedMetric> list = SchedulerMetricList();
  for (std::size_t i = 1; i < list.size(); ++i) {
    EXPECT_LE(list[i - 1].name, list[i].name);
    if (list[i - 1].name == list[i].name) {
      EXPECT_EQ(list[i - 1].in.last + 1, list[i].in.first) << list[i].name;
    }
  }
}

TEST(SchedulerMetricsTest, CountsEntitiesWhereTheReleaseDoes) {
  for (const int minor : {35, 36, 37, 38}) {
    SCOPED_TRACE(minor);
    MetricRegistry registry;
    SchedulerMetrics metrics(registry, framework::ReleaseOf(minor));
    metrics.sizes.SetQueued({.entities = {4, 3, 2, 1}});
    EXPECT_EQ(registry.AddGauge(DescriptionOf("scheduler_pending_pods")).With({"backoff"}).value(), 3);
    std::set<std::string> names;
    for (const MetricFamily* family : registry.Read()) names.insert(family->description().name);
    EXPECT_EQ(names.contains("scheduler_queued_entities"), minor >= 37);
    if (minor < 37) continue;
    GaugeFamily& entities = registry.AddGauge(DescriptionOf("scheduler_queued_entities", framework::ReleaseOf(minor)));
    EXPECT_EQ(entities.With({"active", "pod"}).value(), 4);
    EXPECT_EQ(entities.With({"gated", "pod"}).value(), 1);
  }
}

framework::Release WithGroups() {
  framework::Release release = framework::ReleaseOf(37);
  release.has_pod_groups = true;
  return release;
}

TEST(SchedulerMetricsTest, GroupsHaveMetricsWhereTheyAreOn) {
  const auto names_of = [](const framework::Release& release) {
    MetricRegistry registry;
    const SchedulerMetrics metrics(registry, release);
    std::set<std::string> names;
    for (const MetricFamily* family : registry.Read()) names.insert(family->description().name);
    return names;
  };
  const char* const of_groups = "scheduler_workload_preemption_attempts_total";
  const char* const of_placements = "scheduler_generated_placements_total";
  EXPECT_FALSE(names_of(framework::ReleaseOf(37)).contains(of_groups));
  EXPECT_TRUE(names_of(WithGroups()).contains(of_groups));
  EXPECT_FALSE(names_of(WithGroups()).contains(of_placements));
  framework::Release release = WithGroups();
  release.places_pod_groups_by_topology = true;
  EXPECT_TRUE(names_of(release).contains(of_placements));
}

TEST(SchedulerMetricsTest, WhatWaitsIsPodsAndGroups) {
  MetricRegistry registry;
  SchedulerMetrics metrics(registry, WithGroups());
  metrics.sizes.SetQueued({.entities = {5, 3, 0, 0},
                           .composite_groups = {1, 0, 0, 0},
                           .groups = {2, 3, 0, 0},
                           .members = {11, 6, 0, 0},
                           .incomplete = 4,
                           .pending = 2});
  GaugeFamily& pods = registry.AddGauge(DescriptionOf("scheduler_pending_pods"));
  GaugeFamily& entities = registry.AddGauge(DescriptionOf("scheduler_queued_entities"));
  EXPECT_EQ(pods.With({"active"}).value(), 2 + 11);
  EXPECT_EQ(pods.With({"backoff"}).value(), 6);
  EXPECT_EQ(pods.With({"incomplete"}).value(), 4);
  EXPECT_EQ(pods.With({"pending"}).value(), 2);
  EXPECT_EQ(entities.With({"active", "pod"}).value(), 2);
  EXPECT_EQ(entities.With({"active", "podgroup"}).value(), 2);
  EXPECT_EQ(entities.With({"backoff", "podgroup"}).value(), 3);
}

TEST(SchedulerMetricsTest, CompositeGroupsHaveTheirOwnLabelSince138) {
  for (const int minor : {37, 38}) {
    SCOPED_TRACE(minor);
    MetricRegistry registry;
    framework::Release release = framework::ReleaseOf(minor);
    release.has_pod_groups = release.has_composite_pod_groups = true;
    SchedulerMetrics metrics(registry, release);
    metrics.sizes.SetQueued(
        {.entities = {5, 0, 0, 0}, .composite_groups = {1, 0, 0, 0}, .groups = {2, 0, 0, 0}, .members = {11, 0, 0, 0}});
    GaugeFamily& entities = registry.AddGauge(DescriptionOf("scheduler_queued_entities", release));
    EXPECT_EQ(entities.With({"active", "podgroup"}).value(), 2);
    EXPECT_EQ(entities.With({"active", "compositepodgroup"}).value(), minor >= 38 ? 1 : 0);
    EXPECT_EQ(DescriptionOf("scheduler_podgroup_schedule_attempts_total", release).labels.size(),
              minor >= 38 ? 3U : 2U);
  }
}

TEST(SchedulerMetricsTest, EventsAreNamedAsTheReleaseNamesThem) {
  for (const auto& [minor, label] :
       {std::pair{36, "UnschedulablePodAdd"}, std::pair{37, "UnscheduledPodAdd"}, std::pair{38, "UnscheduledPodAdd"}}) {
    MetricRegistry registry;
    SchedulerMetrics metrics(registry, framework::ReleaseOf(minor));
    metrics.ObserveEvent({framework::EventResource::kUnschedulablePod, framework::action::kAdd}, Duration{1});
    EXPECT_EQ(registry.AddHistogram(DescriptionOf("scheduler_event_handling_duration_seconds")).With({label}).count(),
              1U);
  }
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

// Records the counter's name and the names of its labels.
class NotedMetrics final : public framework::Metrics {
 public:
  framework::Counter& GetCounter(std::string_view name, std::string_view help, const Labels& labels) override {
    Note(name, help, labels);
    return None().GetCounter(name, help, labels);
  }
  framework::Gauge& GetGauge(std::string_view name, std::string_view help, const Labels& labels) override {
    return None().GetGauge(name, help, labels);
  }
  framework::Histogram& GetHistogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                                     const Labels& labels) override {
    Note(name, help, labels);
    noted += " " + std::to_string(bounds.size()) + " buckets from " + std::to_string(bounds.front());
    return None().GetHistogram(name, help, bounds, labels);
  }
  std::string noted;

 private:
  void Note(std::string_view name, std::string_view help, const Labels& labels) {
    noted = std::string(name) + ": " + std::string(help);
    for (const auto& [label, value] : labels) noted += " " + label + "=" + value;
  }
};

TEST(PluginMetricsTest, AreDescribedAsTheyAreListed) {
  NotedMetrics metrics;
  CounterOf(metrics, "scheduler_resourceclaim_creates_total", {"success"}).Add();
  EXPECT_EQ(metrics.noted,
            "scheduler_resourceclaim_creates_total: [ALPHA] Number of ResourceClaims creation requests within "
            "scheduler status=success");
  HistogramOf(metrics, "scheduler_dra_bindingconditions_wait_duration_seconds", {"p", "d", "timeout"}).Observe(1);
  EXPECT_EQ(metrics.noted,
            "scheduler_dra_bindingconditions_wait_duration_seconds: [ALPHA] Time in seconds spent waiting for "
            "BindingConditions to be satisfied during PreBind. profile=p driver=d status=timeout 14 buckets from "
            "0.100000");
}

TEST(SchedulerMetricsTest, FifteenAttemptsAndMoreAreOne) {
  MetricRegistry registry;
  SchedulerMetrics metrics(registry);
  metrics.cycles.ObserveBound(14, std::chrono::seconds(1));
  metrics.cycles.ObserveBound(15, std::chrono::seconds(1));
  metrics.cycles.ObserveBound(99, std::chrono::seconds(1));
  EXPECT_EQ(metrics.cycles.sli_duration.With({"14"}).count(), 1U);
  EXPECT_EQ(metrics.cycles.sli_duration.With({"15+"}).count(), 2U);
  EXPECT_EQ(metrics.cycles.attempts.count(), 3U);
}

TEST(ProfileMetricsTest, CountsByResultAndStatus) {
  MetricRegistry registry;
  SchedulerMetrics all(registry);
  ProfileMetrics metrics(all, "mine", {.filter = {"A", "B"}});
  metrics.ObserveAttempt(AttemptResult::kUnschedulable, std::chrono::milliseconds(3));
  metrics.ObservePoint(Point::kFilter, Code::kSuccess, std::chrono::microseconds(250));
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
