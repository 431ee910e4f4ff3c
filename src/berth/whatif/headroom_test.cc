// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/headroom.h"
#include "berth/core/cache/cache.h"

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/headroom_answer.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::HeadroomLines, answers::HeadroomJson;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;

Headroom Measured(const ClusterState& state, HeadroomOptions options = {}) {
  const auto cluster = ClusterOf(state);
  const std::size_t before = cluster->core().cache().pod_count();
  Headroom headroom = MeasureHeadroom(*cluster, state, options);
  EXPECT_EQ(cluster->core().cache().pod_count(), before) << "all is taken back";
  EXPECT_EQ(cluster->nodes().node_count(), state.nodes.size());
  return headroom;
}

// "Deployment/web 2: a 3 1" for two losses survived, and one pod without a place after three that began with a.
std::vector<std::string> Said(const Headroom& headroom) {
  std::vector<std::string> said;
  for (const WorkloadHeadroom& workload : headroom.workloads) {
    std::string text = workload.kind + "/" + workload.name + " " + std::to_string(workload.survives);
    if (!workload.why_unknown.empty()) text = workload.kind + "/" + workload.name + " " + workload.why_unknown;
    if (!workload.lost_nodes.empty()) {
      text += ": " + workload.lost_nodes.front() + " " + std::to_string(workload.lost_nodes.size()) + " " +
              std::to_string(workload.homeless_count);
    }
    said.push_back(std::move(text));
  }
  return said;
}

std::vector<testing::NodeBuilder> Nodes(int count, const std::string& cpu) {
  std::vector<testing::NodeBuilder> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back(MakeNode(std::string(1, static_cast<char>('a' + i))).Allocatable("cpu", cpu));
  return nodes;
}

struct Case {
  const char* name;
  ClusterState state;
  std::vector<std::string> want;
  HeadroomOptions options = {};
};

TEST(HeadroomTest, EachWorkload) {
  const std::vector<Case> cases = {
      {"room for all",
       StateOf(Nodes(5, "4"), {RunningPod("web", "w1", "a").Request("cpu", "1")}),
       {"Deployment/web 3"}},
      {"more losses",
       StateOf(Nodes(5, "4"), {RunningPod("web", "w1", "a").Request("cpu", "1")}),
       {"Deployment/web 4: a 5 1"},
       {.losses_max = 9}},
      {"none", StateOf(Nodes(1, "4"), {RunningPod("web", "w1", "a")}), {"Deployment/web 0: a 1 1"}},
      {"the node with the most of its pods goes first",
       StateOf(Nodes(3, "2"),
               {RunningPod("web", "w1", "b").Request("cpu", "1"), RunningPod("web", "w2", "b").Request("cpu", "1"),
                RunningPod("web", "w3", "c").Request("cpu", "1")}),
       {"Deployment/web 1: b 2 1"}},
      {"the pods of others take room too, those of a higher priority first",
       StateOf(Nodes(2, "2"),
               {RunningPod("high", "h1", "a").Request("cpu", "1").Priority(9),
                RunningPod("web", "w1", "a").Request("cpu", "1"), RunningPod("other", "o1", "b").Request("cpu", "1")}),
       {"Deployment/other 0: b 1 1", "Deployment/web 0: a 1 1", "Deployment/high 1: a 2 1"}},
      {"of a StatefulSet that must not meet itself",
       StateOf(Nodes(3, "4"),
               {MakePod("db-0")
                    .Label("app", "db")
                    .Controller("apps/v1", "StatefulSet", "db")
                    .Node("a")
                    .AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "db"}}))),
                MakePod("db-1")
                    .Label("app", "db")
                    .Controller("apps/v1", "StatefulSet", "db")
                    .Node("b")
                    .AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "db"}})))}),
       {"StatefulSet/db 1: a 2 1"}},
      {"daemons, static and bare pods are no workloads; they go with their node",
       StateOf(Nodes(2, "2"), {MakePod("agent").Controller("apps/v1", "DaemonSet", "agent").Node("a"),
                               MakePod("lone").Node("a"), RunningPod("web", "w1", "a").Request("cpu", "2")}),
       {"Deployment/web 1: a 2 1"}},
      {"pending ones and those of other schedulers",
       StateOf(Nodes(2, "2"), {RunningPod("web", "w1", "").NodeSelector("disk", "ssd"),
                               RunningPod("batch", "b1", "a").SchedulerName("volcano")}),
       {"Deployment/batch no profile is called \"volcano\" (--config gives a configuration that has it)",
        "Deployment/web 0"}},
      {"of one namespace, with all others taking room",
       StateOf(Nodes(2, "2"), {RunningPod("high", "h1", "a").Request("cpu", "2").Priority(9),
                               RunningPod("web", "w1", "a").Namespace("shop").Request("cpu", "1")}),
       {"Deployment/web 0: a 1 1"},
       {.namespace_name = "shop"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Said(Measured(c.state, c.options)), c.want) << c.name;
}

TEST(HeadroomTest, ANamespaceThatIsNotThere) {
  ClusterState state = StateOf({MakeNode("a")}, {MakePod("web").Namespace("shop")});
  const auto said = [&](const std::string& name) {
    const auto known = CheckNamespace(state, name);
    return known.ok() ? "" : known.error().message;
  };
  EXPECT_EQ(said("shop"), "");
  EXPECT_EQ(said(""), "");
  EXPECT_EQ(said("shopp"), R"(the cluster has no namespace "shopp"; did you mean "shop"?)");
  EXPECT_EQ(said("nothing-like-it"), R"(the cluster has no namespace "nothing-like-it")");
  state.left_out.push_back("namespaces: forbidden");
  EXPECT_EQ(said("shopp"), "") << "it may be there";
}

TEST(HeadroomTest, Interrupted) {
  int asked = 0;
  const Headroom headroom = Measured(StateOf(Nodes(3, "4"), {RunningPod("web", "w1", "a")}),
                                     {.is_interrupted = [&asked] { return ++asked > 1; }});
  EXPECT_TRUE(headroom.is_interrupted);
  EXPECT_EQ(headroom.workloads.front().survives, 1U);
}

TEST(HeadroomTest, Lines) {
  const Headroom headroom = Measured(
      StateOf(Nodes(2, "2"), {RunningPod("web", "w1", "a").Request("cpu", "2"),
                              RunningPod("web", "w2", "b").Request("cpu", "1"), RunningPod("tiny", "t1", "b")}),
      {.losses_max = 1});
  EXPECT_THAT(HeadroomLines(headroom, false, {}),
              ElementsAre("NAMESPACE   WORKLOAD          PODS   NODES   SURVIVES   NO PLACE   WITHOUT",
                          "default     Deployment/web       2       2          0          1   a",
                          "default     Deployment/tiny      1       1         1+", "",
                          "2 workloads; 1 survives no node loss; 1 survives at least one node loss."));
  EXPECT_THAT(HeadroomLines(headroom, true, {}), Contains(HasSubstr("1   a         1 Insufficient cpu")));
  for (const std::string& line : HeadroomLines(headroom, true, {.width = 100}))
    EXPECT_LE(cli::DisplayWidth(line), 100U);
  EXPECT_THAT(
      codec::WriteJson(HeadroomJson(headroom)),
      HasSubstr(R"("survives":0,"isAtLimit":false,"failsWithout":{"nodes":["a"],"podsWithoutPlace":1,"refusal":{)"));
}

// A measurement: BERTH_MEASURE=1 whatif_test --gtest_filter='*Measure*'
TEST(HeadroomTest, MeasureALargeCluster) {
  const bool is_large = std::getenv("BERTH_MEASURE") != nullptr;
  const int node_count = is_large ? 5000 : 50;
  std::vector<testing::NodeBuilder> nodes;
  std::vector<testing::PodBuilder> pods;
  for (int n = 0; n < node_count; ++n) {
    const std::string name = "node-" + std::to_string(n);
    nodes.push_back(MakeNode(name).Allocatable("cpu", "16").Allocatable("memory", "64Gi"));
    for (int p = 0; p < 10; ++p) {
      const std::string app = "app-" + std::to_string((n * 7 + p * 31) % (node_count / 2));
      pods.push_back(RunningPod(app, app + "-" + std::to_string(n) + "-" + std::to_string(p), name)
                         .Request("cpu", "1")
                         .Request("memory", "2Gi"));
    }
  }
  const ClusterState state = StateOf(nodes, pods);
  const auto cluster = ClusterOf(state);
  const std::clock_t begin = std::clock();  // of the processor
  const Headroom headroom = MeasureHeadroom(*cluster, state, {});
  const double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  for (const WorkloadHeadroom& workload : headroom.workloads) ASSERT_EQ(workload.survives, 3U) << workload.name;
  if (is_large) std::cout << headroom.workloads.size() << " workloads: " << spent << " s\n";
}

}  // namespace
}  // namespace berth::whatif
