// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's metrics as the core records them, read in the way that a scrape does.
#include "berth/core/instruments/scheduler_metrics.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using framework::PermitResult;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;

using LabelValues = std::map<std::string, std::string>;

// A clock that moves 10 microseconds with each reading.
class CostlyClock final : public Clock {
 public:
  Time Now() const override { return time += std::chrono::microseconds(10); }
  mutable Time time{std::chrono::seconds(1'000'000'020)};
};

class SchedulerMetricsTest : public ::testing::Test {
 protected:
  void Start(Profiles profiles = DefaultProfiles(), SchedulerOptions options = PatientOptions()) {
    options.metrics = &metrics_;
    options.stopwatch = &clock_;
    harness_ = std::make_unique<Harness>(std::move(profiles), std::move(options));
  }
  Harness& h() {
    if (!harness_) Start();
    return *harness_;
  }

  // The series of the family with these labels. Take() ends the turn first.
  std::vector<MetricSeries> Find(const std::string& name, const LabelValues& labels) {
    h().Take();
    std::vector<MetricSeries> found;
    for (const MetricFamily* family : registry_.Read()) {
      if (family->description().name != "scheduler_" + name) continue;
      const std::vector<std::string>& names = family->description().labels;
      for (MetricSeries& series : family->Collect()) {
        const bool has_all = std::ranges::all_of(labels, [&](const auto& label) {
          const auto at = static_cast<std::size_t>(std::ranges::find(names, label.first) - names.begin());
          return at < names.size() && series.label_values[at] == label.second;
        });
        if (has_all) found.push_back(std::move(series));
      }
    }
    return found;
  }
  // The sum of all matching counters or gauges.
  double Value(const std::string& name, const LabelValues& labels = {}) {
    double sum = 0;
    for (const MetricSeries& series : Find(name, labels)) sum += series.value;
    return sum;
  }
  // The number of observations of all matching series.
  std::uint64_t Count(const std::string& name, const LabelValues& labels = {}) {
    std::uint64_t count = 0;
    for (const MetricSeries& series : Find(name, labels))
      count = std::accumulate(series.counts.begin(), series.counts.end(), count);
    return count;
  }
  double Sum(const std::string& name, const LabelValues& labels = {}) {
    double sum = 0;
    for (const MetricSeries& series : Find(name, labels)) sum += series.sum;
    return sum;
  }
  std::uint64_t Points(const std::string& point, const std::string& status) {
    return Count("framework_extension_point_duration_seconds",
                 {{"extension_point", point}, {"status", status}, {"profile", "default-scheduler"}});
  }
  double Incoming(const std::string& queue, const std::string& event) {
    return Value("queue_incoming_pods_total", {{"queue", queue}, {"event", event}});
  }
  void BindAll() {
    h().Run();
    h().Take();
    h().Answer();
  }

  CostlyClock clock_;
  MetricRegistry registry_;
  instruments::SchedulerMetrics metrics_{registry_};
  Lines calls_;

 private:
  std::unique_ptr<Harness> harness_;
};

TEST_F(SchedulerMetricsTest, APodThatIsBound) {
  h().Set(MakeNode("a"));
  h().Set(MakePod("p"));
  h().Run();
  EXPECT_EQ(Value("goroutines", {{"operation", "binding"}}), 1);
  EXPECT_EQ(Value("cache_size", {{"type", "assumed_pods"}}), 1);
  EXPECT_EQ(Value("schedule_attempts_total"), 0);
  h().now += 2s;
  h().Answer();
  const LabelValues scheduled = {{"result", "scheduled"}, {"profile", "default-scheduler"}};
  EXPECT_EQ(Value("schedule_attempts_total", scheduled), 1);
  EXPECT_EQ(Value("schedule_attempts_total"), 1);
  EXPECT_EQ(Count("scheduling_attempt_duration_seconds", scheduled), 1U);
  EXPECT_NEAR(Sum("scheduling_attempt_duration_seconds", scheduled), 2, 0.01);
  EXPECT_EQ(Count("scheduling_algorithm_duration_seconds"), 1U);
  EXPECT_LT(Sum("scheduling_algorithm_duration_seconds"), 0.001);
  EXPECT_EQ(Count("pod_scheduling_attempts"), 1U);
  EXPECT_EQ(Sum("pod_scheduling_attempts"), 1);
  EXPECT_NEAR(Sum("pod_scheduling_sli_duration_seconds", {{"attempts", "1"}}), 2, 0.01);
  EXPECT_EQ(Value("goroutines", {{"operation", "binding"}}), 0);
  EXPECT_EQ(Value("cache_size", {{"type", "nodes"}}), 1);
  EXPECT_EQ(Value("cache_size", {{"type", "pods"}}), 1);
  EXPECT_EQ(Value("pod_scheduled_after_flush_total"), 0);
}

TEST_F(SchedulerMetricsTest, APodThatTheFlushSaves) {
  Profiles profiles = DefaultProfiles();
  bool refuses = true;
  Enable(*profiles.front(), std::make_shared<Actor>("Moody", calls_)).reserve = [&refuses](const framework::PodInfo&) {
    return refuses ? Status::Unschedulable("not now") : Status();
  };
  Start(std::move(profiles));
  h().Set(MakeNode("a"));
  h().Set(MakePod("p"));
  h().Run();
  refuses = false;
  h().Run(6min);
  h().Take();
  EXPECT_EQ(h().core.counts().rescued_by_flush, 0U) << "not bound yet";
  ::testing::internal::CaptureStderr();
  h().Answer();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr(R"("Pod fits, and waited for the flush after five minutes: no event had woken it" )"
                                   R"(pod="default/p" refusedBy="Moody: )"));
  EXPECT_EQ(h().core.counts().rescued_by_flush, 1U);
  EXPECT_EQ(Value("pod_scheduled_after_flush_total"), 1);
}

TEST(SchedulerWithoutMetricsTest, APodThatTheFlushSavesIsNotTold) {
  Lines calls;
  Profiles profiles = DefaultProfiles();
  bool refuses = true;
  Enable(*profiles.front(), std::make_shared<Actor>("Moody", calls)).reserve = [&refuses](const framework::PodInfo&) {
    return refuses ? Status::Unschedulable("not now") : Status();
  };
  Harness h(std::move(profiles));
  h.Set(MakeNode("a"));
  h.Set(MakePod("p"));
  h.Run();
  refuses = false;
  h.Run(6min);
  h.Take();
  ::testing::internal::CaptureStderr();
  h.Answer();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "a core that answers questions";
  EXPECT_EQ(h.core.counts().rescued_by_flush, 1U);
}

TEST_F(SchedulerMetricsTest, EachExtensionPointOfACycle) {
  h().Set(MakeNode("a"));
  h().Set(MakeNode("b"));
  h().Set(MakePod("p"));
  BindAll();
  for (const char* point :
       {"PreEnqueue", "PreFilter", "Filter", "PreScore", "Score", "Reserve", "Permit", "PreBind", "Bind", "PostBind"}) {
    EXPECT_EQ(Points(point, "Success"), 1U) << point;
  }
  EXPECT_EQ(Points("PreBindPreFlight", "Skip"), 1U);
  EXPECT_EQ(Points("PostFilter", "Success") + Points("Unreserve", "Success"), 0U);
  EXPECT_GT(Sum("framework_extension_point_duration_seconds", {{"extension_point", "PreFilter"}}), 0);
  EXPECT_GT(Sum("framework_extension_point_duration_seconds", {{"extension_point", "Filter"}}), 0);
}

TEST_F(SchedulerMetricsTest, APodThatFitsNowhereAndThenDoes) {
  h().Set(MakeNode("a"));
  h().Set(MakePod("p").Request("cpu", "8"));
  h().Run();
  const LabelValues unschedulable = {{"result", "unschedulable"}, {"profile", "default-scheduler"}};
  EXPECT_EQ(Value("schedule_attempts_total", unschedulable), 1);
  EXPECT_EQ(Count("scheduling_attempt_duration_seconds", unschedulable), 1U);
  EXPECT_EQ(Value("pending_pods", {{"queue", "unschedulable"}}), 1);
  const LabelValues refused_by_fit = {{"plugin", "NodeResourcesFit"}, {"profile", "default-scheduler"}};
  EXPECT_EQ(Value("unschedulable_pods", refused_by_fit), 1);
  EXPECT_EQ(Incoming("active", "UnschedulablePodAdd"), 1);
  EXPECT_EQ(Incoming("unschedulable", "ScheduleAttemptFailure"), 1);
  EXPECT_EQ(Points("PostFilter", "Unschedulable"), 1U);
  EXPECT_EQ(Value("preemption_attempts_total"), 1);
  EXPECT_EQ(Count("preemption_victims"), 0U);
  EXPECT_EQ(Count("pod_scheduling_attempts"), 0U);

  h().now += 1min;
  h().Set(MakeNode("b").Allocatable("cpu", "16"));
  EXPECT_EQ(Incoming("active", "NodeAdd"), 1);
  // Once for all pods of the class, and once for this pod.
  EXPECT_EQ(Count("queueing_hint_execution_duration_seconds",
                  {{"plugin", "NodeResourcesFit"}, {"event", "NodeAdd"}, {"hint", "Queue"}}),
            2U);
  EXPECT_EQ(Value("unschedulable_pods", refused_by_fit), 1) << "until it is tried again";
  BindAll();
  EXPECT_EQ(Value("unschedulable_pods", refused_by_fit), 0);
  EXPECT_EQ(Value("pending_pods", {{"queue", "unschedulable"}}), 0);
  EXPECT_EQ(Sum("pod_scheduling_attempts"), 2);
  EXPECT_EQ(Count("pod_scheduling_sli_duration_seconds", {{"attempts", "2"}}), 1U);
}

TEST_F(SchedulerMetricsTest, ADeletedPodIsNobodysRefusal) {
  h().Set(MakeNode("a"));
  h().Set(MakePod("p").Request("cpu", "8"));
  h().Run();
  h().Remove(MakePod("p"));
  EXPECT_EQ(Value("unschedulable_pods"), 0);
  EXPECT_EQ(Value("pending_pods"), 0);
}

TEST_F(SchedulerMetricsTest, AGatedPod) {
  h().Set(MakeNode("a"));
  h().Set(MakePod("p").Gate("wait"));
  h().Run();
  EXPECT_EQ(Value("pending_pods", {{"queue", "gated"}}), 1);
  EXPECT_EQ(Value("unschedulable_pods", {{"plugin", "SchedulingGates"}}), 1);
  EXPECT_EQ(Incoming("unschedulable", "UnschedulablePodAdd"), 1);
  EXPECT_EQ(Points("PreEnqueue", "UnschedulableAndUnresolvable"), 1U);
  EXPECT_EQ(Value("schedule_attempts_total"), 0);
}

TEST_F(SchedulerMetricsTest, AnErrorBacksOff) {
  Profiles profiles = DefaultProfiles();
  Actor& actor = Enable(*profiles.front(), std::make_shared<Actor>("Actor", calls_));
  actor.reserve = [](const framework::PodInfo&) { return Status::Error("broken"); };
  Start(std::move(profiles));
  h().Set(MakeNode("a"));
  h().Set(MakePod("p"));
  h().Run();
  EXPECT_EQ(Value("schedule_attempts_total", {{"result", "error"}}), 1);
  EXPECT_EQ(Points("Reserve", "Error"), 1U);
  EXPECT_EQ(Points("Unreserve", "Success"), 1U);
  EXPECT_EQ(Incoming("backoff", "ScheduleAttemptFailure"), 1);
  EXPECT_EQ(Value("pending_pods", {{"queue", "backoff"}}), 1);
  actor.reserve = nullptr;
  h().Run(10s);
  EXPECT_EQ(Incoming("active", "BackoffComplete"), 1);
}

TEST_F(SchedulerMetricsTest, AWaitAtPermit) {
  Profiles profiles = DefaultProfiles();
  Actor& actor = Enable(*profiles.front(), std::make_shared<Actor>("Actor", calls_));
  actor.permit = [](const framework::PodInfo&) { return PermitResult{Status::Wait(), 10s}; };
  Start(std::move(profiles));
  h().Set(MakeNode("a"));
  h().Set(MakePod("p"));
  h().Run();
  EXPECT_EQ(Points("Permit", "Wait"), 1U);
  EXPECT_EQ(Count("permit_wait_duration_seconds"), 0U);
  h().now += 3s;
  h().Decide(MakePod("p"), "Actor", true);
  EXPECT_EQ(Count("permit_wait_duration_seconds", {{"result", "Success"}}), 1U);
  EXPECT_NEAR(Sum("permit_wait_duration_seconds"), 3, 0.01);

  h().Set(MakePod("q"));
  h().Run();
  h().Decide(MakePod("q"), "Actor", false, "no");
  EXPECT_EQ(Count("permit_wait_duration_seconds", {{"result", "Unschedulable"}}), 1U);
  EXPECT_EQ(Value("schedule_attempts_total", {{"result", "unschedulable"}}), 1);
}

TEST_F(SchedulerMetricsTest, ABindingThatFails) {
  h().Set(MakeNode("a"));
  h().Set(MakePod("p"));
  h().Run();
  h().Take();
  h().Answer(Error{ErrorCode::kInvalid, "no"});
  EXPECT_EQ(Points("Bind", "Error"), 1U);
  EXPECT_EQ(Value("schedule_attempts_total", {{"result", "error"}}), 1);
}

// An author's own preemption plugin, which finds no victims.
class OwnPreemption final : public framework::PostFilterPlugin {
 public:
  std::string_view Name() const override { return "OwnPreemption"; }
  framework::PostFilterResult PostFilter(const framework::Cycle&, const framework::PodInfo&,
                                         const framework::NodeStatuses&, framework::FilterRunner&) const override {
    framework::PostFilterResult result;
    result.status = Status::Unschedulable("nobody to evict");
    return result;
  }
  bool IsPreemption() const override { return true; }
};

TEST_F(SchedulerMetricsTest, AnOwnPreemptionIsCountedAndTimed) {
  Profiles profiles = DefaultProfiles();
  const auto own = std::make_shared<OwnPreemption>();
  profiles.front()->owned.push_back(own);
  profiles.front()->post_filter = {own.get()};
  Start(std::move(profiles));
  h().Set(MakeNode("a").Allocatable("cpu", "1"));
  h().Set(MakePod("large").Request("cpu", "2"));
  h().Run();
  EXPECT_EQ(Value("preemption_attempts_total"), 1);
}

// PostFilter runs again after the extenders' answer.
TEST_F(SchedulerMetricsTest, APreemptionThatComesBeforeOneThatExtendersReviewIsCountedOnce) {
  Profiles profiles = DefaultProfiles();
  const auto own = std::make_shared<OwnPreemption>();
  profiles.front()->owned.push_back(own);
  profiles.front()->post_filter.insert(profiles.front()->post_filter.begin(), own.get());
  config::Extender extender;
  extender.url_prefix = "http://x";
  extender.preempt_verb = "preempt";
  SchedulerOptions options = PatientOptions();
  options.extenders = config::InCallOrder({extender});
  Start(std::move(profiles), std::move(options));
  h().Set(MakeNode("a"));
  h().Set(MakePod("low").Request("cpu", "4").Node("a"));
  h().Set(MakePod("high").Request("cpu", "4").Priority(10));
  h().Run();
  EXPECT_EQ(Value("preemption_attempts_total"), 1) << "the one that has not waited";
  ASSERT_EQ(h().asked.size(), 1U);
  h().core.Handle(ExtenderDone{h().asked.front(), ExtenderAnswer{.victims = {{"a", {"uid-default-low"}}}}}, h().now);
  h().Run();
  EXPECT_EQ(Value("preemption_attempts_total"), 2);
}

TEST_F(SchedulerMetricsTest, VictimsOfAPreemption) {
  h().Set(MakeNode("a"));
  h().Set(MakePod("low-1").Request("cpu", "2").Node("a"));
  h().Set(MakePod("low-2").Request("cpu", "2").Node("a"));
  h().Set(MakePod("high").Request("cpu", "4").Priority(10));
  h().Run();
  EXPECT_EQ(Value("preemption_attempts_total"), 1);
  EXPECT_EQ(Count("preemption_victims"), 0U) << "the plugin counts them when they are evicted";
  EXPECT_EQ(Points("PostFilter", "Success"), 1U);
}

TEST_F(SchedulerMetricsTest, EachPluginThatIsAskedCountsOnceACycle) {
  h().Set(MakeNode("a"));
  h().Set(MakeNode("b"));
  const auto evaluations = [&](const char* plugin, const char* point) {
    return Value("plugin_evaluation_total",
                 {{"plugin", plugin}, {"extension_point", point}, {"profile", "default-scheduler"}});
  };
  for (int i = 0; i < 3; ++i) h().Set(MakePod("p" + std::to_string(i)).Request("cpu", "100m"));
  h().Run();
  EXPECT_EQ(evaluations("NodeResourcesFit", "PreFilter"), 3);
  EXPECT_EQ(evaluations("NodeResourcesFit", "Filter"), 3);
  EXPECT_EQ(evaluations("NodeResourcesFit", "Score"), 3);
  EXPECT_EQ(evaluations("NodeName", "Filter"), 3);
  EXPECT_EQ(evaluations("NodePorts", "PreFilter"), 0) << "it skips a pod without host ports";
  EXPECT_EQ(evaluations("NodePorts", "Filter"), 0);
  EXPECT_EQ(evaluations("InterPodAffinity", "Score"), 0);
  h().Set(MakePod("big").Request("cpu", "64"));
  h().Run();
  EXPECT_EQ(evaluations("NodeResourcesFit", "Filter"), 4);
  EXPECT_EQ(evaluations("NodeResourcesFit", "Score"), 3);
}

TEST_F(SchedulerMetricsTest, PodsOfManyKindsInTurnCountForThePluginsOfEachKind) {
  for (int i = 0; i < 90; ++i) {
    const std::string name = "n" + std::to_string(i);
    h().Set(MakeNode(name).Label("disk", "ssd").Label("zone", "a").Label("host", name));
  }
  const auto evaluations = [&](const char* plugin, const char* point) {
    return Value("plugin_evaluation_total", {{"plugin", plugin}, {"extension_point", point}});
  };
  // 32 classes without and 32 with pods on nodes that InterPodAffinity looks at, with plain pods between them.
  constexpr int kKinds = 32;
  int pods = 0;
  for (const bool has_affinity : {false, true}) {
    if (has_affinity) {
      const api::PodAffinityTerm all = testing::AffinityTerm("host", api::LabelSelector{});
      h().Set(MakePod("carrier").AntiAffinity(all).PreferredAffinity(1, all));
      h().Run();
    }
    for (int i = 0; i < kKinds; ++i, ++pods) {
      auto pod = MakePod("p" + std::to_string(pods)).Request("cpu", "1m");
      if ((i & 1) != 0) pod.HostPort(8000 + pods);
      if ((i & 2) != 0) pod.NodeSelector("disk", "ssd");
      if ((i & 4) != 0) pod.Spread(testing::SpreadConstraint(50, "zone", api::LabelSelector{}));
      if ((i & 8) != 0) pod.Preferred(1, testing::Term({testing::Exists("disk")}));
      if ((i & 16) != 0) {
        pod.Spread(testing::SpreadConstraint(1, "zone", api::LabelSelector{},
                                             api::UnsatisfiableConstraintAction::kScheduleAnyway));
      }
      h().Set(pod);
      h().Set(MakePod("plain" + std::to_string(pods)).Request("cpu", "2m"));
    }
    h().Set(MakePod("big" + std::to_string(pods)).Request("cpu", "64"));
    h().Run();
  }
  EXPECT_EQ(evaluations("NodeName", "Filter"), 4 * kKinds + 3);
  EXPECT_EQ(evaluations("NodePorts", "Filter"), kKinds);
  EXPECT_EQ(evaluations("NodeAffinity", "Filter"), kKinds);
  EXPECT_EQ(evaluations("PodTopologySpread", "Filter"), kKinds);
  EXPECT_EQ(evaluations("InterPodAffinity", "Filter"), 2 * kKinds + 2)
      << "of the carrier and the second that is too big";
  EXPECT_EQ(evaluations("NodeAffinity", "Score"), kKinds);
  EXPECT_EQ(evaluations("PodTopologySpread", "Score"), kKinds);
  EXPECT_EQ(evaluations("InterPodAffinity", "Score"), 2 * kKinds + 1);
  EXPECT_EQ(evaluations("NodeResourcesFit", "Score"), 4 * kKinds + 1);
}

TEST_F(SchedulerMetricsTest, OneCycleOfTenTimesItsPlugins) {
  h().Set(MakeNode("a").Allocatable("cpu", "100").Allocatable("pods", "1000"));
  constexpr int kPods = 400;
  for (int i = 0; i < kPods; ++i) h().Set(MakePod("p" + std::to_string(i)).Request("cpu", "1m"));
  h().Run();
  // VolumeBinding is called in each cycle, because it keeps no results.
  const std::uint64_t sampled =
      Count("plugin_execution_duration_seconds", {{"plugin", "VolumeBinding"}, {"extension_point", "Reserve"}});
  EXPECT_GT(sampled, kPods / 25U);
  EXPECT_LT(sampled, kPods / 5U);
  EXPECT_NEAR(Sum("plugin_execution_duration_seconds", {{"plugin", "VolumeBinding"}, {"extension_point", "Reserve"}}),
              10e-6 * static_cast<double>(sampled), 1e-6);
  EXPECT_EQ(Points("Reserve", "Success"), static_cast<std::uint64_t>(kPods));
}

TEST_F(SchedulerMetricsTest, PodsAlikeUseWhatTheFirstFound) {
  h().Set(MakeNode("a"));
  h().Set(MakeNode("b"));
  for (int i = 0; i < 5; ++i) h().Set(MakePod("p" + std::to_string(i)).Request("cpu", "1m"));
  h().Run();
  const double used = Value("batch_attempts_total", {{"result", "hint_used"}});
  EXPECT_GE(used, 3);
  EXPECT_EQ(used + Value("batch_attempts_total", {{"result", "no_hint"}}), 5);
}

TEST_F(SchedulerMetricsTest, EventsThatAreHandledAndKept) {
  const auto handled = [&](const char* event) { return Count("event_handling_duration_seconds", {{"event", event}}); };
  h().Set(MakeNode("a"));
  h().Set(MakeNode("a").Label("zone", "x"));
  h().Set(MakePod("p"));
  h().Set(MakePod("other").Node("a"));
  EXPECT_EQ(handled("NodeAdd"), 1U);
  EXPECT_EQ(handled("NodeUpdateNodeLabel"), 1U);
  EXPECT_EQ(handled("UnschedulablePodAdd"), 1U);
  EXPECT_EQ(handled("AssignedPodAdd"), 1U);
  EXPECT_GT(Sum("event_handling_duration_seconds"), 0);
  h().Remove(MakePod("other"));
  EXPECT_EQ(handled("AssignedPodDelete"), 1U);
  h().RemoveNode("a");
  EXPECT_EQ(handled("NodeDelete"), 1U);
}

TEST_F(SchedulerMetricsTest, EventsForPodsInFlight) {
  Profiles profiles = DefaultProfiles();
  Actor& actor = Enable(*profiles.front(), std::make_shared<Actor>("Actor", calls_));
  actor.permit = [](const framework::PodInfo&) { return PermitResult{Status::Wait(), 10s}; };
  Start(std::move(profiles));
  h().Set(MakeNode("a"));
  h().Set(MakePod("p"));
  h().Run();
  EXPECT_EQ(Value("inflight_events", {{"event", "PodPopped"}}), 1);
  h().Set(MakeNode("b"));
  EXPECT_EQ(Value("inflight_events", {{"event", "NodeAdd"}}), 1);
  h().Decide(MakePod("p"), "Actor", true);
  EXPECT_EQ(Value("inflight_events"), 0);
}

TEST_F(SchedulerMetricsTest, APodThatWaitedTooLongIsTriedAgain) {
  h().Set(MakeNode("a"));
  h().Set(MakePod("p").Request("cpu", "8"));
  h().Run();
  h().Run(6min);
  EXPECT_EQ(Incoming("active", "UnschedulableTimeout"), 1);
  EXPECT_EQ(Value("schedule_attempts_total", {{"result", "unschedulable"}}), 2);
}

// The stopwatch influences metrics only.
TEST_F(SchedulerMetricsTest, DecisionsAreTheSameWithoutAStopwatch) {
  Harness plain;
  const auto feed = [](Harness& harness) {
    for (int i = 0; i < 20; ++i) harness.Set(MakeNode("n" + std::to_string(i)));
    for (int i = 0; i < 60; ++i) harness.Set(MakePod("p" + std::to_string(i)).Request("cpu", "500m"));
    harness.Run();
    return harness.Take();
  };
  EXPECT_EQ(feed(h()), feed(plain));
}

}  // namespace
}  // namespace berth::scheduler
