// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's metrics about pod groups, as the core counts them.
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/instruments/metric_list.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using Labels = std::initializer_list<std::string_view>;

class PodGroupMetricsTest : public ::testing::Test {
 protected:
  double Counter(std::string_view name, Labels labels) {
    return registry_.AddCounter(instruments::DescriptionOf(name, metrics_->release)).With(labels).value();
  }
  double Gauge(std::string_view name, Labels labels) {
    return registry_.AddGauge(instruments::DescriptionOf(name, metrics_->release)).With(labels).value();
  }
  // The number of observations, and their sum.
  std::uint64_t Count(std::string_view name, Labels labels) {
    return registry_.AddHistogram(instruments::DescriptionOf(name, metrics_->release)).With(labels).count();
  }
  double Sum(std::string_view name, Labels labels) {
    return registry_.AddHistogram(instruments::DescriptionOf(name, metrics_->release)).With(labels).sum();
  }
  double Attempts(std::string_view result) {
    const double attempts = Counter("scheduler_podgroup_schedule_attempts_total", {result, "default-scheduler"});
    EXPECT_EQ(attempts, Count("scheduler_podgroup_scheduling_attempt_duration_seconds", {result, "default-scheduler"}));
    return attempts;
  }
  std::uint64_t Points(std::string_view point, std::string_view status) {
    return Count("scheduler_framework_extension_point_duration_seconds", {point, status, "default-scheduler"});
  }
  double Pods(std::string_view queue) {
    BringUpToDate();
    return Gauge("scheduler_pending_pods", {queue});
  }
  double Groups(std::string_view queue) {
    BringUpToDate();
    return Gauge("scheduler_queued_entities", {queue, "podgroup"});
  }
  // Size metrics may be up to a second old.
  void BringUpToDate() {
    h_->now += 2s;
    h_->core.Tick(h_->now);
    h_->Collect();
  }

  void Start(const std::vector<std::string>& gates = {}) { Start(37, gates); }
  void Start(int minor, std::vector<std::string> gates, config::Plugins sets = {},
             std::optional<std::int32_t> placements = std::nullopt) {
    gates.emplace_back("GenericWorkload=true");
    const config::FeatureGateSettings settings{.release_minor = minor, .gates = gates};
    h_.reset();
    metrics_ = std::make_unique<instruments::SchedulerMetrics>(
        registry_, config::FeatureGates::Parse(settings).value().FollowedRelease());
    SchedulerOptions options = PatientOptions();
    options.metrics = metrics_.get();
    h_ = std::make_unique<GroupHarness>(ProfilesOf(settings, std::move(sets), {}, placements), std::move(options));
  }
  // A gang of `size` members, each of which fills a node of 4 CPUs.
  void AddGang(int size) {
    api::PodGroup group = Gang("g", size);
    group.priority = 10;
    h_->Set(group);
    h_->priority = 10;
    h_->AddMembers("g", size, "4");
  }

  MetricRegistry registry_;
  std::unique_ptr<instruments::SchedulerMetrics> metrics_;
  std::unique_ptr<GroupHarness> h_;
};

TEST_F(PodGroupMetricsTest, AGroupThatPreemptsAndIsThenPlaced) {
  Start();
  for (const char* node : {"n0", "n1", "n2"}) h_->Set(MakeNode(node));
  api::PodGroup running = Gang("r", 1);
  running.is_disrupted_whole = true;
  h_->Set(running);
  h_->Set(MakePod("r-0").Node("n0").Request("cpu", "3").InGroup("r"));
  h_->Set(MakePod("r-1").Node("n1").Request("cpu", "3").InGroup("r"));
  h_->Set(MakePod("x").Node("n2").Request("cpu", "3"));
  AddGang(3);
  h_->Cycle();
  EXPECT_EQ(Attempts("waiting_on_preemption"), 1);
  EXPECT_EQ(Count("scheduler_podgroup_scheduling_algorithm_duration_seconds", {}), 1U);
  EXPECT_EQ(Counter("scheduler_workload_preemption_attempts_total", {"Success"}), 1);
  EXPECT_EQ(Count("scheduler_workload_preemption_victims", {}), 1U);
  EXPECT_EQ(Sum("scheduler_workload_preemption_victims", {}), 3);
  EXPECT_EQ(Sum("scheduler_preemption_workload_disruptions", {"podgroup"}), 1) << "a group, and a pod of none";
  EXPECT_EQ(Counter("scheduler_preemption_pdb_violations_total", {"podgroup"}), 0);
  EXPECT_EQ(Count("scheduler_preemption_evaluation_duration_seconds", {"podgroup", "Success"}), 1U);
  EXPECT_EQ(Points("PodGroupPostFilter", "Success"), 1U);
  EXPECT_EQ(Points("PlacementFeasible", "Wait"), 1U + 3U) << "in the cycle, and in the trial without the victims";
  EXPECT_EQ(Points("PlacementFeasible", "Unschedulable"), 1U);
  h_->now += 1s;
  h_->Cycle();
  for (const char* gone : {"r-0", "r-1"}) h_->Remove(MakePod(gone).Node("n0").InGroup("r"));
  h_->Remove(MakePod("x").Node("n2"));
  h_->now += 5s;
  EXPECT_EQ(h_->Cycle().bound.size(), 3U);
  EXPECT_EQ(Attempts("scheduled"), 1);
  EXPECT_EQ(Attempts("unschedulable") + Attempts("error"), 0);
}

TEST_F(PodGroupMetricsTest, AGroupThatFitsNowhere) {
  Start();
  h_->Set(MakeNode("n0"));
  AddGang(2);
  h_->Cycle();
  EXPECT_EQ(Attempts("unschedulable"), 1);
  EXPECT_EQ(Counter("scheduler_workload_preemption_attempts_total", {"UnschedulableAndUnresolvable"}), 1);
  EXPECT_EQ(Count("scheduler_preemption_evaluation_duration_seconds", {"podgroup", "UnschedulableAndUnresolvable"}),
            1U);
  EXPECT_EQ(Count("scheduler_workload_preemption_victims", {}), 0U);
}

TEST_F(PodGroupMetricsTest, AVictimWithABudget) {
  Start();
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->metadata.name = "b";
  budget->metadata.namespace_name = "default";
  budget->selector = testing::Labels({{"app", "a"}});
  h_->core.Handle(ObjectSet{std::shared_ptr<const api::PodDisruptionBudget>(budget)}, h_->now);
  h_->Set(MakeNode("n0"));
  h_->Set(MakePod("x").Node("n0").Request("cpu", "3").Label("app", "a"));
  h_->Set(MakePod("single").Request("cpu", "4").Priority(5));
  h_->Cycle();
  EXPECT_EQ(Counter("scheduler_preemption_pdb_violations_total", {"pod"}), 1);
  EXPECT_EQ(Count("scheduler_preemption_evaluation_duration_seconds", {"pod", "Success"}), 1U);
  AddGang(1);
  h_->Cycle();
  EXPECT_EQ(Counter("scheduler_preemption_pdb_violations_total", {"podgroup"}), 1);
  EXPECT_EQ(Count("scheduler_preemption_workload_disruptions", {"podgroup"}), 0U);
}

TEST_F(PodGroupMetricsTest, Placements) {
  Start({"TopologyAwareWorkloadScheduling=true"});
  for (const char* node : {"a0", "a1", "b0", "b1", "c0"})
    h_->Set(MakeNode(node).Label("zone", std::string(1, node[0])));
  api::PodGroup group = Gang("g", 2);
  group.topology_keys = {"zone"};
  h_->Set(group);
  h_->AddMembers("g", 2, "4");
  EXPECT_EQ(h_->Cycle().bound.size(), 2U);
  const std::string_view profile = "default-scheduler";
  EXPECT_EQ(Counter("scheduler_generated_placements_total", {profile}), 3);
  EXPECT_EQ(Counter("scheduler_placement_evaluations_total", {"feasible", profile}), 2);
  EXPECT_EQ(Counter("scheduler_placement_evaluations_total", {"infeasible", profile}), 1);
  EXPECT_EQ(Count("scheduler_placement_evaluation_duration_seconds", {"feasible", profile}), 2U);
  EXPECT_EQ(Points("PlacementGenerate", "Success"), 1U);
  EXPECT_EQ(Points("PlacementScore", "Success"), 1U);
}

// Since 1.38.
TEST_F(PodGroupMetricsTest, TheKindOfTheGroupIsALabel) {
  Start(38, kCompositeGates);
  const std::string_view profile = "default-scheduler";
  h_->Set(MakeNode("n0").Label("zone", "a"));
  h_->Set(MakeNode("n1").Label("zone", "a"));
  api::CompositePodGroup pair = Composite("pair", 2);
  pair.topology_keys = {"zone"};
  h_->Set(pair);
  h_->Set(Within("pair", Gang("g", 1)));
  h_->AddMembers("g", 1, "4");
  BringUpToDate();
  EXPECT_EQ(Gauge("scheduler_queued_entities", {"gated", "compositepodgroup"}), 1);
  EXPECT_EQ(Gauge("scheduler_queued_entities", {"gated", "podgroup"}), 0);
  h_->Set(Within("pair", Gang("k", 1)));
  h_->AddMembers("k", 1, "4");
  EXPECT_EQ(h_->Cycle().bound.size(), 2U);
  EXPECT_EQ(Counter("scheduler_queue_incoming_entities_total", {"active", "UnscheduledPodAdd", "compositepodgroup"}),
            1);
  EXPECT_EQ(Counter("scheduler_podgroup_schedule_attempts_total", {"scheduled", profile, "compositepodgroup"}), 1);
  EXPECT_EQ(
      Count("scheduler_podgroup_scheduling_attempt_duration_seconds", {"scheduled", profile, "compositepodgroup"}), 1U);
  EXPECT_EQ(Count("scheduler_podgroup_scheduling_algorithm_duration_seconds", {profile, "compositepodgroup"}), 1U);
  EXPECT_EQ(Counter("scheduler_generated_placements_total", {profile, "compositepodgroup"}), 1);
  EXPECT_EQ(Counter("scheduler_generated_placements_total", {profile, "podgroup"}), 2) << "those within count, too";
  EXPECT_EQ(Counter("scheduler_placement_evaluations_total", {"feasible", profile, "compositepodgroup"}), 1);
  EXPECT_EQ(Count("scheduler_placement_evaluation_duration_seconds", {"feasible", profile, "podgroup"}), 2U);
}

TEST_F(PodGroupMetricsTest, VictimsByTheirKind) {
  Start(38, {});
  for (const char* node : {"n0", "n1", "n2", "n3"}) h_->Set(MakeNode(node));
  api::PodGroup whole = Gang("r", 1);
  whole.is_disrupted_whole = true;
  h_->Set(whole);
  h_->Set(Gang("s", 1));
  h_->Set(MakePod("r-0").Node("n0").Request("cpu", "3").InGroup("r"));
  h_->Set(MakePod("r-1").Node("n1").Request("cpu", "3").InGroup("r"));
  h_->Set(MakePod("s-0").Node("n2").Request("cpu", "3").InGroup("s"));
  h_->Set(MakePod("x").Node("n3").Request("cpu", "3"));
  AddGang(4);
  h_->Cycle();
  EXPECT_EQ(Counter("scheduler_workload_preemption_attempts_total", {"podgroup", "Success"}), 1);
  EXPECT_EQ(Sum("scheduler_workload_preemption_victims", {"podgroup"}), 4);
  EXPECT_EQ(Sum("scheduler_preemption_workload_disruptions", {"podgroup", "podgroup"}), 1);
  EXPECT_EQ(Sum("scheduler_preemption_workload_disruptions", {"podgroup", "pod"}), 2) << "one of a group among them";
  EXPECT_EQ(Count("scheduler_preemption_workload_disruptions", {"podgroup", "compositepodgroup"}), 0U);
  EXPECT_EQ(Count("scheduler_preemption_evaluation_duration_seconds", {"podgroup", "Success"}), 1U);
  EXPECT_EQ(Points("RankNodes", "Success"), 4U) << "for each member";
}

// Since 1.38 not all placements are tried.
TEST_F(PodGroupMetricsTest, EnoughPlacements) {
  config::Plugins no_scores;
  no_scores.points[config::ExtensionPoint::kPlacementScore].disabled = {"*"};
  struct Case {
    const char* name;
    int minor;
    int racks;
    int nodes;        // of each
    int small_racks;  // further ones, in which the group does not fit
    std::optional<std::int32_t> percentage;
    config::Plugins sets;
    double want;  // placements on which it fits
  };
  const Case cases[] = {
      {"1.37 tries all", 37, 10, 1, 0, std::nullopt, {}, 10},
      {"a third", 38, 10, 1, 0, 30, {}, 3},
      {"rounded down", 38, 10, 1, 0, 39, {}, 3},
      {"of all, also of those on which it does not fit", 38, 10, 1, 10, 30, {}, 6},
      {"no more than there are", 38, 2, 1, 8, 30, {}, 2},
      {"at least one", 38, 10, 1, 0, 1, {}, 1},
      {"all", 38, 10, 1, 0, 100, {}, 10},
      {"with few nodes all by default", 38, 2, 27, 0, std::nullopt, {}, 2},
      {"with more nodes fewer: 99% of two", 38, 2, 28, 0, std::nullopt, {}, 1},
      {"0 is the default", 38, 2, 28, 0, 0, {}, 1},
      {"without scores one is as good as another", 38, 10, 1, 0, 100, no_scores, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    MetricRegistry registry;
    const std::vector<std::string> gates = {"TopologyAwareWorkloadScheduling=true", "GenericWorkload=true"};
    const config::FeatureGateSettings settings{.release_minor = c.minor, .gates = gates};
    instruments::SchedulerMetrics metrics(registry, config::FeatureGates::Parse(settings).value().FollowedRelease());
    SchedulerOptions options = PatientOptions();
    options.metrics = &metrics;
    GroupHarness h(ProfilesOf(settings, c.sets, {}, c.percentage), std::move(options));
    for (int rack = 0; rack < c.racks + c.small_racks; ++rack) {
      for (int node = 0; node < c.nodes; ++node) {
        h.Set(MakeNode("n" + std::to_string(rack) + "-" + std::to_string(node))
                  .Label("zone", std::to_string(rack))
                  .Allocatable("cpu", rack < c.racks ? "4" : "1"));
      }
    }
    api::PodGroup group = Gang("g", 1);
    group.topology_keys = {"zone"};
    h.Set(group);
    h.AddMembers("g", 1, "2");
    EXPECT_EQ(h.Cycle().bound.size(), 1U);
    const std::vector<std::string_view> labels =
        c.minor < 38 ? std::vector<std::string_view>{"feasible", "default-scheduler"}
                     : std::vector<std::string_view>{"feasible", "default-scheduler", "podgroup"};
    EXPECT_EQ(registry.AddCounter(instruments::DescriptionOf("scheduler_placement_evaluations_total", metrics.release))
                  .With(std::span(labels))
                  .value(),
              c.want);
  }
}

// Which ones are tried is up to chance, and not to the names of racks.
TEST_F(PodGroupMetricsTest, FewPlacementsAreAnyOfThem) {
  Start(38, {"TopologyAwareWorkloadScheduling=true"}, {}, 1);
  for (int rack = 0; rack < 8; ++rack)
    h_->Set(MakeNode("n" + std::to_string(rack)).Label("zone", std::to_string(rack)).Allocatable("cpu", "100"));
  std::set<std::string> nodes;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "g" + std::to_string(i);
    api::PodGroup group = Gang(name, 1);
    group.topology_keys = {"zone"};
    h_->Set(group);
    h_->AddMembers(name, 1, "1");
    for (const auto& [pod, node] : h_->Cycle().bound) nodes.insert(node);
  }
  EXPECT_GT(nodes.size(), 2U);
}

TEST_F(PodGroupMetricsTest, WhatWaits) {
  Start();
  h_->Set(MakeNode("n0"));
  h_->AddMembers("g", 2);
  EXPECT_EQ(Pods("incomplete"), 2);
  EXPECT_EQ(Pods("active"), 0);
  h_->Set(Gang("g", 4));
  EXPECT_EQ(Pods("incomplete"), 0);
  EXPECT_EQ(Pods("gated"), 2);
  EXPECT_EQ(Groups("gated"), 1);
  h_->AddMembers("g", 2, "1", 2);
  EXPECT_EQ(Pods("active"), 4);
  EXPECT_EQ(Groups("active"), 1);
  EXPECT_EQ(Gauge("scheduler_queued_entities", {"active", "pod"}), 0);
  h_->Set(MakePod("single"));
  EXPECT_EQ(Pods("active"), 5);
  EXPECT_EQ(Gauge("scheduler_queued_entities", {"active", "pod"}), 1);
  EXPECT_EQ(Counter("scheduler_queue_incoming_entities_total", {"active", "UnscheduledPodAdd", "podgroup"}), 1);
  EXPECT_EQ(Counter("scheduler_queue_incoming_pods_total", {"active", "UnscheduledPodAdd"}), 4 + 1);
}

}  // namespace
}  // namespace berth::scheduler
