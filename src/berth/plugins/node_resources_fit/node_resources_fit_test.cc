// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_resources_fit/node_resources_fit.h"

#include <gtest/gtest.h>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::EventResource;
using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

using Shape = std::vector<config::UtilizationShapePoint>;

TestedPlugin Fit(const config::NodeResourcesFitArgs& args = {}) {
  static testing::FakeHandle handle;
  return CreateNodeResourcesFit(args, handle);
}
TestedPlugin FitWith(const config::ScoringStrategy& strategy) {
  config::NodeResourcesFitArgs args;
  args.scoring_strategy = strategy;
  return Fit(args);
}
config::ScoringStrategy Strategy(config::ScoringStrategyType type, std::optional<Shape> shape = {}) {
  config::ScoringStrategy strategy;
  strategy.type = type;
  strategy.shape = std::move(shape);
  return strategy;
}
config::ScoringStrategy By(std::vector<config::ResourceSpec> resources) {
  config::ScoringStrategy strategy;
  strategy.resources = std::move(resources);
  return strategy;
}

std::string FilterOf(const TestedPlugin& plugin, TestCluster& cluster, const testing::PodBuilder& pod) {
  const auto info = pod.Info();
  EXPECT_TRUE(plugin.PreFilter(cluster.cycle(), *info).status.IsSuccess());
  return cluster.Filter(plugin, *info, "n");
}

TEST(NodeResourcesFit, Filter) {
  const auto node =
      MakeNode("n").Allocatable("pods", "2").Allocatable("example.com/gpu", "2").Allocatable("ephemeral-storage", "10");
  const struct {
    const char* name;
    testing::PodBuilder pod;
    testing::PodBuilder running;
    const char* want;
  } cases[] = {
      {"fits", MakePod("p").Request("cpu", "1"), MakePod("q").Request("cpu", "3"), "ok"},
      {"one millicore too many", MakePod("p").Request("cpu", "1001m"), MakePod("q").Request("cpu", "3"),
       "Unschedulable: Insufficient cpu"},
      {"more than the node has", MakePod("p").Request("memory", "33Gi"), MakePod("q"),
       "UnschedulableAndUnresolvable: Insufficient memory"},
      {"all shortages are told",
       MakePod("p").Request("cpu", "2").Request("memory", "20Gi").Request("ephemeral-storage", "6"),
       MakePod("q").Request("cpu", "3").Request("memory", "20Gi").Request("ephemeral-storage", "6"),
       "Unschedulable: Insufficient cpu, Insufficient memory, Insufficient ephemeral-storage"},
      {"scalar", MakePod("p").Request("example.com/gpu", "2"), MakePod("q").Request("example.com/gpu", "1"),
       "Unschedulable: Insufficient example.com/gpu"},
      {"scalar that the node lacks", MakePod("p").Request("example.com/tpu", "1"), MakePod("q"),
       "UnschedulableAndUnresolvable: Insufficient example.com/tpu"},
      {"nothing requested fits an overcommitted node", MakePod("p").Request("cpu", "0"),
       MakePod("q").Request("cpu", "9"), "ok"},
      {"overhead counts", MakePod("p").Request("cpu", "1").Overhead({{"cpu", "1m"}}), MakePod("q").Request("cpu", "3"),
       "Unschedulable: Insufficient cpu"},
  };
  for (auto test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({node});
    cluster.Add(test.running.Node("n"));
    EXPECT_EQ(FilterOf(Fit(), cluster, test.pod), test.want);
  }
}

TEST(NodeResourcesFit, TooManyPodsIsNeverUnresolvable) {
  TestCluster cluster({MakeNode("n").Allocatable("pods", "0")});
  EXPECT_EQ(FilterOf(Fit(), cluster, MakePod("p")), "Unschedulable: Too many pods");
  TestCluster bare({MakeNode("n").WithoutAllocatable()});
  EXPECT_EQ(FilterOf(Fit(), bare, MakePod("p").Request("cpu", "1")),
            "UnschedulableAndUnresolvable: Too many pods, Insufficient cpu");
}

TEST(NodeResourcesFit, IgnoredExtendedResources) {
  TestCluster cluster({MakeNode("n")});
  const auto pod =
      MakePod("p").Request("example.com/gpu", "1").Request("vendor.example/x", "1").Request("hugepages-2Mi", "2Mi");
  EXPECT_EQ(FilterOf(Fit({{"example.com/gpu", "hugepages-2Mi"}, {"vendor.example"}, {}}), cluster, pod),
            "UnschedulableAndUnresolvable: Insufficient hugepages-2Mi");
  EXPECT_EQ(FilterOf(Fit({{}, {"example.com"}, {}}), cluster, pod),
            "UnschedulableAndUnresolvable: Insufficient hugepages-2Mi, Insufficient vendor.example/x");
}

TEST(NodeResourcesFit, Score) {
  const Shape rising{{0, 0}, {100, 10}};
  const Shape falling{{0, 10}, {100, 0}};
  using enum config::ScoringStrategyType;
  const struct {
    const char* name;
    config::ScoringStrategy strategy;
    testing::PodBuilder pod;
    std::int64_t want;
  } cases[] = {
      {"least allocated", {}, MakePod("p").Request("cpu", "1").Request("memory", "8Gi"), 75},
      {"defaults where nothing is requested: 100m of 4, 200Mi of 32Gi", {}, MakePod("p"), (97 + 99) / 2},
      {"too much is worth nothing", {}, MakePod("p").Request("cpu", "5").Request("memory", "8Gi"), (0 + 75) / 2},
      {"weights", By({{"cpu", 3}, {"memory", 1}}), MakePod("p").Request("cpu", "2").Request("memory", "0"),
       (3 * 50 + 100) / 4},
      {"most allocated", Strategy(kMostAllocated), MakePod("p").Request("cpu", "1").Request("memory", "16Gi"),
       (25 + 50) / 2},
      {"most allocated is capped", Strategy(kMostAllocated), MakePod("p").Request("cpu", "9").Request("memory", "16Gi"),
       75},
      {"ratio rounds half away from zero", Strategy(kRequestedToCapacityRatio, rising),
       MakePod("p").Request("cpu", "1").Request("memory", "16Gi"), 38},
      {"ratio leaves out what scores 0", Strategy(kRequestedToCapacityRatio, falling),
       MakePod("p").Request("cpu", "4").Request("memory", "8Gi"), 75},
      {"scalars count when requested", By({{"cpu", 1}, {"example.com/gpu", 1}}),
       MakePod("p").Request("cpu", "0").Request("example.com/gpu", "1"), (100 + 50) / 2},
      {"and not otherwise", By({{"cpu", 1}, {"example.com/gpu", 1}}), MakePod("p").Request("cpu", "0"), 100},
      {"resources that the node lacks do not count", By({{"example.com/tpu", 1}}),
       MakePod("p").Request("example.com/tpu", "1"), 0},
      {"pod-level requests are not seen",
       {},
       MakePod("p").Request("cpu", "1").Request("memory", "8Gi").PodLevelRequests({{"cpu", "4"}}),
       75},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({MakeNode("n").Allocatable("example.com/gpu", "2")});
    const TestedPlugin plugin = FitWith(test.strategy);
    const auto pod = test.pod.Info();
    EXPECT_EQ(cluster.Score(plugin, *pod, "n"), test.want) << "without PreScore";
    EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *pod, {}).IsSuccess());
    EXPECT_EQ(cluster.Score(plugin, *pod, "n"), test.want);
  }
}

TEST(NodeResourcesFit, RunningPodsWithoutRequestsCountAsTheDefaults) {
  TestCluster cluster({MakeNode("n").Allocatable("memory", "400Mi")});
  cluster.Add(MakePod("q").Node("n"));
  EXPECT_EQ(cluster.Score(FitWith(By({{"memory", 1}})), *MakePod("p").Request("memory", "0").Info(), "n"), 50);
}

// What 1.38 does otherwise, switch by switch (docs/reference/versions.md).
TEST(NodeResourcesFit, ReleasesDiffer) {
  const auto score = [](int minor, const config::ScoringStrategy& strategy, TestCluster& cluster,
                        const testing::PodBuilder& builder) {
    testing::FakeHandle handle;
    handle.SetRelease(framework::ReleaseOf(minor));
    config::NodeResourcesFitArgs args;
    args.scoring_strategy = strategy;
    const TestedPlugin plugin = CreateNodeResourcesFit(args, handle);
    const auto pod = builder.Info();
    cluster.Forget();
    const std::int64_t unprepared = cluster.Score(plugin, *pod, "n");
    EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *pod, {}).IsSuccess());
    EXPECT_EQ(cluster.Score(plugin, *pod, "n"), unprepared);
    return unprepared;
  };
  TestCluster cluster({MakeNode("n")});
  const auto whole =
      MakePod("p").Request("cpu", "1").Request("memory", "8Gi").PodLevelRequests({{"cpu", "4"}, {"memory", "16Gi"}});
  EXPECT_EQ(score(37, {}, cluster, whole), 75);
  EXPECT_EQ(score(38, {}, cluster, whole), (0 + 50) / 2);

  TestCluster full({MakeNode("n").Allocatable("example.com/gpu", "9223372036854775807")});
  full.Add(MakePod("q").Node("n").Request("example.com/gpu", "9223372036854775807"));
  config::ScoringStrategy most = By({{"example.com/gpu", 1}});
  most.type = config::ScoringStrategyType::kMostAllocated;
  const auto one_more = MakePod("p").Request("example.com/gpu", "1");
  EXPECT_EQ(score(37, most, full, one_more), 0) << "the sum wraps around";
  EXPECT_EQ(score(38, most, full, one_more), 100);
}

TEST(NodeResourcesFit, AbsurdAmountsDoNoHarm) {
  TestCluster cluster({MakeNode("n").Allocatable("memory", "9E").Allocatable("cpu", "-1m")});
  cluster.Add(MakePod("q").Node("n").Request("memory", "9E").Request("cpu", "9E"));
  cluster.Add(MakePod("r").Node("n").Request("memory", "9E").Request("cpu", "9E"));
  const auto pod = MakePod("p").Request("memory", "9E").Request("cpu", "9E").Info();
  for (const auto type : {config::ScoringStrategyType::kLeastAllocated, config::ScoringStrategyType::kMostAllocated}) {
    cluster.Score(FitWith(Strategy(type)), *pod, "n");
  }
  cluster.Score(FitWith(Strategy(config::ScoringStrategyType::kRequestedToCapacityRatio, Shape{{0, 0}, {100, 10}})),
                *pod, "n");
  EXPECT_NE(FilterOf(Fit(), cluster, MakePod("p").Request("cpu", "1")), "ok");
}

TEST(NodeResourcesFit, PodHints) {
  const TestedPlugin plugin = Fit();
  const auto pod = MakePod("p").Request("cpu", "1").Info();
  const auto running = MakePod("q").Node("n").Request("cpu", "2").Request("memory", "2").Info();
  const auto less_cpu = MakePod("q").Node("n").Request("cpu", "1").Request("memory", "2").Info();
  const auto less_memory = MakePod("q").Node("n").Request("cpu", "2").Request("memory", "1").Info();
  const auto pending = MakePod("q").Request("cpu", "2").Info();
  const framework::ClusterEvent gone{EventResource::kAssignedPod, framework::action::kDelete};
  const framework::ClusterEvent scaled{EventResource::kAssignedPod, framework::action::kUpdatePodScaleDown};
  EXPECT_EQ(HintFor(plugin, gone, *pod, {.old_pod = running.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, gone, *pod, {.old_pod = pending.get()}), QueueingHint::kSkip);
  EXPECT_EQ(HintFor(plugin, scaled, *pod, {.old_pod = running.get(), .new_pod = less_cpu.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, scaled, *pod, {.old_pod = running.get(), .new_pod = less_memory.get()}),
            QueueingHint::kSkip);
  EXPECT_EQ(HintFor(plugin, scaled, *pod, {.old_pod = pod.get(), .new_pod = pod.get()}), QueueingHint::kQueue);
}

// Where the pod would not fit anyway, another attempt is in vain.
TEST(NodeResourcesFit, PodHintsLookAtTheNode) {
  using enum QueueingHint;
  const auto cpu = [](const char* name, const char* amount) { return MakePod(name).Request("cpu", amount).Node("n"); };
  const struct {
    const char* name;
    testing::PodBuilder pod;
    std::vector<testing::PodBuilder> left;       // on the node of 4 CPUs
    std::vector<testing::PodBuilder> nominated;  // for it
    testing::PodBuilder gone;
    QueueingHint want;
  } cases[] = {
      {"it fits now", MakePod("p").Request("cpu", "2"), {cpu("q", "2")}, {}, cpu("gone", "1"), kQueue},
      {"it does not", MakePod("p").Request("cpu", "3"), {cpu("q", "2")}, {}, cpu("gone", "1"), kSkip},
      {"another one is nominated", MakePod("p").Request("cpu", "3"), {}, {cpu("o", "2")}, cpu("gone", "1"), kSkip},
      {"it is nominated itself",
       MakePod("p").Request("cpu", "3"),
       {},
       {MakePod("p").Request("cpu", "3")},
       cpu("gone", "1"),
       kQueue},
      {"one of lower priority is nominated",
       MakePod("p").Request("cpu", "3").Priority(5),
       {},
       {cpu("o", "2")},
       cpu("gone", "1").Priority(5),
       kQueue},
      {"it fits when it evicts others, and could not before",
       MakePod("p").Request("cpu", "3").Priority(5),
       {cpu("q", "2")},
       {},
       cpu("gone", "2").Priority(5),
       kQueue},
      {"it could before", MakePod("p").Request("cpu", "3").Priority(5), {cpu("q", "2")}, {}, cpu("gone", "2"), kSkip},
      {"it evicts nobody",
       MakePod("p").Request("cpu", "3").Priority(5).NeverPreempts(),
       {cpu("q", "2")},
       {},
       cpu("gone", "2").Priority(5),
       kSkip},
      {"others are as important",
       MakePod("p").Request("cpu", "3").Priority(5),
       {cpu("q", "2").Priority(5)},
       {},
       cpu("gone", "2").Priority(5),
       kSkip},
      {"a nomination has ended",
       MakePod("p").Request("cpu", "3"),
       {},
       {},
       MakePod("gone").Request("cpu", "2").Nominated("n"),
       kQueue},
      {"pods of a group make room together",
       MakePod("p").Request("cpu", "3").InGroup("g"),
       {cpu("q", "2")},
       {},
       cpu("gone", "1"),
       kQueue},
      {"the node is gone", MakePod("p").Request("cpu", "1"), {}, {}, MakePod("gone").Node("other"), kSkip},
  };
  const framework::ClusterEvent gone{EventResource::kAssignedPod, framework::action::kDelete};
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    testing::FakeHandle handle;
    TestCluster cluster({MakeNode("n").Allocatable("cpu", "4")});
    for (const auto& pod : test.left) cluster.Add(pod);
    for (const auto& pod : test.nominated) handle.nominated["n"].push_back(pod.Info());
    handle.table = &cluster.table();
    const TestedPlugin plugin = CreateNodeResourcesFit({}, handle);
    EXPECT_EQ(HintFor(plugin, gone, *test.pod.Info(), {.old_pod = test.gone.Info().get()}), test.want);
  }
}

TEST(NodeResourcesFit, NodeHints) {
  const TestedPlugin plugin = Fit();
  const auto pod = MakePod("p").Request("cpu", "2").Info();
  const auto small = MakeNode("n").Allocatable("cpu", "1").Build();
  const auto large = MakeNode("n").Allocatable("cpu", "2").Build();
  const auto more_memory = MakeNode("n").Allocatable("cpu", "2").Allocatable("memory", "64Gi").Build();
  const auto more_pods = MakeNode("n").Allocatable("cpu", "2").Allocatable("pods", "111").Build();
  const framework::ClusterEvent add{EventResource::kNode, framework::action::kAdd};
  const framework::ClusterEvent update{EventResource::kNode, framework::action::kUpdateNodeAllocatable};
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = large.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = small.get()}), QueueingHint::kSkip);
  EXPECT_EQ(HintFor(plugin, update, *pod, {.old_node = small.get(), .new_node = large.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, update, *pod, {.old_node = large.get(), .new_node = more_memory.get()}),
            QueueingHint::kSkip);
  EXPECT_EQ(HintFor(plugin, update, *pod, {.old_node = large.get(), .new_node = more_pods.get()}),
            QueueingHint::kQueue);
}

// From 1.38 on a pod does not wait for a nominated node that has become too small.
TEST(NodeResourcesFit, ANominatedNodeShrinks) {
  using enum QueueingHint;
  const auto large = MakeNode("n").Allocatable("cpu", "2").Build();
  const auto small = MakeNode("n").Allocatable("cpu", "1").Build();
  const framework::ClusterEvent update{EventResource::kNode, framework::action::kUpdateNodeAllocatable};
  const struct {
    const char* name;
    testing::PodBuilder pod;
    std::shared_ptr<const api::Node> before, after;
    QueueingHint want_in_38;
  } cases[] = {
      {"it fitted, and does not now", MakePod("p").Request("cpu", "2").Nominated("n"), large, small, kQueue},
      {"it has no nomination", MakePod("p").Request("cpu", "2"), large, small, kSkip},
      {"it is nominated elsewhere", MakePod("p").Request("cpu", "2").Nominated("m"), large, small, kSkip},
      {"it still fits", MakePod("p").Request("cpu", "1").Nominated("n"), large, small, kSkip},
      {"it did not fit before", MakePod("p").Request("cpu", "3").Nominated("n"), large, small, kSkip},
      {"it belongs to a group", MakePod("p").Request("cpu", "2").Nominated("n").InGroup("g"), large, small, kSkip},
  };
  // Whether one of the plugin's hints for the event wakes the pod.
  const auto hint = [&](int minor, const framework::PodInfo& pod, const framework::EventObjects& objects) {
    testing::FakeHandle handle;
    handle.SetRelease(framework::ReleaseOf(minor));
    const TestedPlugin plugin = CreateNodeResourcesFit({}, handle);
    for (const framework::ClusterEventWithHint& registered : plugin.EventsToRegister()) {
      if (!framework::ClusterEvent::Matches(registered.event, update) || !registered.hint) continue;
      if (registered.hint(pod, objects) == kQueue) return kQueue;
    }
    return kSkip;
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto pod = test.pod.Info();
    const framework::EventObjects objects{.old_node = test.before.get(), .new_node = test.after.get()};
    EXPECT_EQ(hint(37, *pod, objects), kSkip);
    EXPECT_EQ(hint(38, *pod, objects), test.want_in_38);
  }
}

}  // namespace
}  // namespace berth::plugins
