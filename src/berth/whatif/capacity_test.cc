// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/capacity.h"
#include "berth/core/cache/cache.h"

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/capacity_answer.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::CapacityLines, answers::CapacityJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;
using ::testing::MatchesRegex;
using ::testing::Pair;

Shape ShapeOf(const testing::PodBuilder& pod) { return {"default/" + pod.Build().metadata.name, "test", pod.Build()}; }

Capacity Measured(const ClusterState& state, const std::vector<testing::PodBuilder>& pods,
                  CapacityOptions options = {}) {
  const auto cluster = ClusterOf(state);
  std::vector<Shape> shapes;
  for (const auto& pod : pods) shapes.push_back(ShapeOf(pod));
  auto capacity = MeasureCapacity(*cluster, shapes, options);
  BERTH_CHECK(capacity.ok(), capacity.error().message);
  EXPECT_EQ(cluster->core().cache().pod_count(), capacity->pod_count) << "all is taken back";
  return std::move(*capacity);
}

struct Case {
  const char* name;
  ClusterState state;
  testing::PodBuilder pod;
  std::size_t fits;
  std::size_t nodes;
  std::string message;
};

TEST(CapacityTest, OneShape) {
  using api::TaintEffect;
  const std::vector<Case> cases = {
      {"by CPU",
       StateOf({MakeNode("a").Allocatable("cpu", "4"), MakeNode("b").Allocatable("cpu", "2")},
               {MakePod("p").Request("cpu", "500m").Node("b")}),
       MakePod("web").Request("cpu", "1"), 5, 2,
       "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: "
       "2 No preemption victims "
       "found "
       "for incoming pod."},
      {"the number of pods, which counts those that are there",
       StateOf({MakeNode("a").Allocatable("pods", "5")}, {MakePod("p").Node("a"), MakePod("q").Node("a")}),
       MakePod("web"), 3, 1,
       "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: 0/1 nodes are available: 1 "
       "No preemption victims found "
       "for "
       "incoming pod."},
      {"a port of the node",
       StateOf({MakeNode("a"), MakeNode("b"), MakeNode("c").Taint("gpu", "", TaintEffect::kNoSchedule)}, {}),
       MakePod("web").HostPort(80), 2, 2,
       "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't have free ports for the "
       "requested pod "
       "ports. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for "
       "scheduling, 2 No preemption "
       "victims "
       "found for incoming pod."},
      {"anti-affinity against its own kind", StateOf({MakeNode("a"), MakeNode("b")}, {}),
       MakePod("web")
           .Label("app", "web")
           .AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "web"}}))),
       2, 2,
       "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. no new claims to deallocate, "
       "preemption: 0/2 nodes are available: "
       "2 No "
       "preemption victims found for incoming pod."},
      {"nothing", StateOf({MakeNode("a")}, {}), MakePod("web").NodeSelector("disk", "ssd"), 0, 0,
       "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
       "preemption: 0/1 nodes are "
       "available: 1 "
       "Preemption is not helpful for scheduling."},
      {"no nodes at all", StateOf({}, {}), MakePod("web"), 0, 0, "no nodes available to schedule pods"},
      {"another pod that is pending takes no room",
       StateOf({MakeNode("a").Allocatable("cpu", "1")}, {MakePod("waits").Request("cpu", "1")}),
       MakePod("web").Request("cpu", "1"), 1, 1,
       "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: "
       "1 No preemption victims "
       "found for "
       "incoming pod."},
  };
  for (const Case& c : cases) {
    const Capacity capacity = Measured(c.state, {c.pod});
    ASSERT_EQ(capacity.shapes.size(), 1U) << c.name;
    const ShapeCapacity& shape = capacity.shapes.front();
    EXPECT_EQ(shape.fits, c.fits) << c.name;
    EXPECT_EQ(shape.nodes.size(), c.nodes) << c.name;
    ASSERT_TRUE(shape.refusal) << c.name;
    EXPECT_EQ(shape.refusal->message, c.message) << c.name;
  }
}

TEST(CapacityTest, HowManyOnWhichNodesAndWhy) {
  const Capacity capacity = Measured(StateOf({MakeNode("a").Allocatable("cpu", "1"),
                                              MakeNode("b").Allocatable("cpu", "3"), MakeNode("c").Unschedulable()},
                                             {}),
                                     {MakePod("web").Request("cpu", "1")});
  EXPECT_THAT(capacity.shapes[0].nodes, ElementsAre(Pair("b", 3), Pair("a", 1)));
  EXPECT_THAT(capacity.shapes[0].refusal->reasons,
              ElementsAre(RefusalReason{"Insufficient cpu", "NodeResourcesFit", 2},
                          RefusalReason{"node(s) were unschedulable", "NodeUnschedulable", 1}));
}

TEST(CapacityTest, SeveralShapes) {
  const ClusterState state = StateOf({MakeNode("a").Allocatable("cpu", "10")}, {});
  const std::vector<testing::PodBuilder> pods = {MakePod("small").Request("cpu", "1"),
                                                 MakePod("large").Request("cpu", "3")};
  const auto fits = [&](CapacityOptions options) {
    std::vector<std::size_t> counts;
    for (const ShapeCapacity& shape : Measured(state, pods, options).shapes) counts.push_back(shape.fits);
    return counts;
  };
  EXPECT_THAT(fits({}), ElementsAre(10, 3)) << "each alone";
  EXPECT_THAT(fits({.is_together = true}), ElementsAre(3, 2)) << "in turn until large does not fit";
  EXPECT_THAT(fits({.pods_max = 2}), ElementsAre(2, 2));
  EXPECT_THAT(fits({.pods_max = 1, .is_together = true}), ElementsAre(1, 1));
}

TEST(CapacityTest, PreemptionIsReportedAndDoesNotCount) {
  const Capacity capacity =
      Measured(StateOf({MakeNode("a").Allocatable("cpu", "1")}, {MakePod("low").Request("cpu", "1").Node("a")}),
               {MakePod("high").Request("cpu", "1").Priority(10)});
  EXPECT_EQ(capacity.shapes[0].fits, 0U);
  EXPECT_EQ(capacity.shapes[0].refusal->preemption_node, "a");
  EXPECT_THAT(capacity.shapes[0].refusal->preemption_victims, ElementsAre("default/low"));
}

TEST(CapacityTest, AShapeThatNoProfileSchedules) {
  const auto cluster = ClusterOf(StateOf({MakeNode("a")}, {}));
  const auto capacity = MeasureCapacity(*cluster, {ShapeOf(MakePod("web").SchedulerName("volcano"))}, {});
  ASSERT_FALSE(capacity.ok());
  EXPECT_EQ(capacity.error().message,
            "default/web: no profile is called \"volcano\" (--config gives a configuration that has it)");
}

TEST(CapacityTest, Lines) {
  const ClusterState state = StateOf({MakeNode("a").Allocatable("cpu", "2"), MakeNode("b").Allocatable("cpu", "1")},
                                     {MakePod("waits").NodeSelector("disk", "ssd")});
  const Capacity capacity =
      Measured(state, {MakePod("web").Request("cpu", "1").Request("memory", "1Gi"), MakePod("tiny")}, {.pods_max = 50});
  EXPECT_THAT(
      CapacityLines(capacity, false, {}),
      ElementsAre("SHAPE          FITS   NODES   PER NODE   STOPPED BY",
                  "default/web       3       2        1-2   2 Insufficient cpu",
                  MatchesRegex("default/tiny    50\\+       2      2.-2.   the limit, --max 50"), "",
                  "The next default/web: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate,",
                  "  preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
                  "1 pod of the cluster is pending and took no room in this."));
  EXPECT_THAT(CapacityLines(capacity, true, {}),
              ::testing::Contains("default/web    cpu 1, memory 1Gi      3       2        1-2   2 Insufficient cpu"));
  for (const std::string& line : CapacityLines(capacity, true, {.width = 100}))
    EXPECT_LE(cli::DisplayWidth(line), 100U) << line;
  const std::string text = codec::WriteJson(CapacityJson(capacity));
  EXPECT_THAT(text,
              HasSubstr(R"({"name":"default/web","from":"test","requests":{"cpu":"1","memory":"1Gi"},"fits":3,)"
                        R"("isAtLimit":false,"nodeCount":2,"nodes":[{"name":"a","pods":2},{"name":"b","pods":1}])"));
  EXPECT_THAT(text, HasSubstr(R"("fits":50,"isAtLimit":true)"));
}

// A measurement: BERTH_MEASURE=1 whatif_test --gtest_filter='*Measure*'
TEST(CapacityTest, MeasureALargeCluster) {
  const bool is_large = std::getenv("BERTH_MEASURE") != nullptr;
  const int node_count = is_large ? 5000 : 50;
  std::vector<testing::NodeBuilder> nodes;
  std::vector<testing::PodBuilder> pods;
  for (int n = 0; n < node_count; ++n) {
    const std::string name = "node-" + std::to_string(n);
    nodes.push_back(MakeNode(name)
                        .Allocatable("cpu", "16")
                        .Allocatable("memory", "64Gi")
                        .Label("topology.kubernetes.io/zone", "z" + std::to_string(n % 3)));
    for (int p = 0; p < 10; ++p) {
      const std::string app = "app-" + std::to_string((n * 10 + p) % (node_count / 2));
      pods.push_back(RunningPod(app, app + "-" + std::to_string(n) + "-" + std::to_string(p), name)
                         .Request("cpu", "500m")
                         .Request("memory", "2Gi"));
    }
  }
  const ClusterState state = StateOf(nodes, pods);
  // Of the processor: the same on a machine that does something else meanwhile.
  auto seconds = [begin = std::clock()]() mutable {
    const std::clock_t now = std::clock();
    return static_cast<double>(now - std::exchange(begin, now)) / CLOCKS_PER_SEC;
  };
  const auto cluster = ClusterOf(state);
  const double load = seconds();
  const auto spread = testing::SpreadConstraint(1, "topology.kubernetes.io/zone", testing::Labels({{"app", "web"}}));
  for (const auto& [name, pod] : std::vector<std::pair<const char*, testing::PodBuilder>>{
           {"plain", MakePod("web").Request("cpu", "1").Request("memory", "1Gi")},
           {"spread over zones", MakePod("web").Label("app", "web").Request("cpu", "1").Spread(spread)},
           {"anti-affinity by node",
            MakePod("web")
                .Label("app", "web")
                .Request("cpu", "1")
                .AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "web"}})))}}) {
    seconds();
    const auto capacity = MeasureCapacity(*cluster, {ShapeOf(pod)}, {.pods_max = 100'000});
    const double spent = seconds();
    ASSERT_TRUE(capacity.ok());
    // Eleven fit on each node; zones may differ by one pod, and the smallest has a third of the nodes.
    const std::size_t count = static_cast<std::size_t>(node_count);
    const std::string_view kind = name;
    const std::size_t want = kind == "plain"               ? count * 11
                             : kind == "spread over zones" ? count / 3 * 33 + count % 3
                                                           : count;
    EXPECT_EQ(capacity->shapes[0].fits, want) << name;
    if (is_large)
      std::cout << name << ": " << capacity->shapes[0].fits << " pods, " << spent << " s (load " << load << " s)\n";
  }
}

}  // namespace
}  // namespace berth::whatif
