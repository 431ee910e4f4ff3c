// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/drain.h"
#include "berth/core/cache/cache.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/drain_answer.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::DrainLines, answers::DrainJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;

DrainPlan Planned(const ClusterState& state, const std::vector<std::string>& nodes, DrainOptions options = {}) {
  const auto cluster = ClusterOf(state);
  const std::size_t before = cluster->core().cache().pod_count();
  DrainPlan plan = PlanDrain(*cluster, state, nodes, options);
  EXPECT_EQ(cluster->core().cache().pod_count(), before) << "all is taken back";
  for (const framework::NodeIndex row : cluster->nodes().rows()) {
    const api::Node& node = cluster->nodes().Info(row).node();
    for (const auto& was : state.nodes) {
      if (was->metadata.name == node.metadata.name) {
        EXPECT_EQ(was->unschedulable, node.unschedulable);
      }
    }
  }
  return plan;
}

// "web-1 moves none -> b", and the obstacle.
std::vector<std::string> Said(const DrainPlan& plan) {
  std::vector<std::string> said;
  for (const DrainedPod& pod : plan.pods) {
    std::string text = pod.key.substr(pod.key.find('/') + 1);
    text.append(" ").append(ToString(pod.outcome)).append(" ").append(ToString(pod.budget));
    if (!pod.place.empty()) text.append(" -> ").append(pod.place);
    if (!pod.obstacle.empty()) text.append(": ").append(pod.obstacle);
    said.push_back(std::move(text));
  }
  return said;
}

api::PodStatus Phase(api::PodPhase phase) {
  api::PodStatus status;
  status.phase = phase;
  return status;
}

ClusterState WithPhase(ClusterState state, api::PodPhase phase) {
  for (auto& pod : state.pods) {
    api::Pod changed = *pod;
    changed.status = Phase(phase);
    pod = std::make_shared<const api::Pod>(std::move(changed));
  }
  return state;
}

struct Case {
  const char* name;
  ClusterState state;
  std::vector<std::string> nodes;
  std::vector<std::string> want;
  DrainOptions options = {};
};

TEST(DrainTest, EachPod) {
  const auto two = [] {
    return std::vector<testing::NodeBuilder>{MakeNode("a").Allocatable("cpu", "2"),
                                             MakeNode("b").Allocatable("cpu", "2")};
  };
  const std::vector<Case> cases = {
      {"an empty node", StateOf(two(), {}), {"a"}, {}},
      {"a replacement goes elsewhere, in the order of names",
       StateOf(two(), {RunningPod("web", "web-2", "a").Request("cpu", "1"),
                       RunningPod("web", "web-1", "a").Request("cpu", "1")}),
       {"a"},
       {"web-1 moves none -> b", "web-2 moves none -> b"}},
      {"what is placed first takes the room",
       StateOf(two(), {RunningPod("web", "web-1", "a").Request("cpu", "2"),
                       RunningPod("web", "web-2", "a").Request("cpu", "1")}),
       {"a"},
       {"web-1 moves none -> b",
        "web-2 moves none: fits nowhere: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. "
        "no new claims to deallocate, preemption: 0/2 nodes are available: 1 No preemption victims found for incoming "
        "pod, 1 Preemption is not "
        "helpful "
        "for scheduling."}},
      {"daemons, static pods, and those of nobody",
       StateOf(two(),
               {MakePod("agent").Controller("apps/v1", "DaemonSet", "agent").Node("a"),
                MakePod("etcd").Annotation("kubernetes.io/config.mirror", "x").Controller("v1", "Node", "a").Node("a"),
                MakePod("lone").Node("a")}),
       {"a"},
       {"agent ignored none", "etcd stays none", "lone lost none: has no controller: needs --force, and is lost"}},
      {"by force", StateOf(two(), {MakePod("lone").Node("a")}), {"a"}, {"lone lost none"}, {.is_forced = true}},
      {"a budget that allows one of two",
       StateOf(two(), {RunningPod("web", "web-1", "a"), RunningPod("web", "web-2", "a")}, {Budget("web", "web", 1)}),
       {"a"},
       {"web-1 moves allows -> b", "web-2 moves waits -> b"}},
      {"a budget that allows none",
       StateOf(two(), {RunningPod("web", "web-1", "a")}, {Budget("web", "web", 0), Budget("db", "db", 0)}),
       {"a"},
       {"web-1 moves forbids -> b: PodDisruptionBudget web allows no eviction now"}},
      {"a budget does not keep a pod that never ran",
       WithPhase(StateOf(two(), {RunningPod("web", "web-1", "a")}, {Budget("web", "web", 0)}), api::PodPhase::kPending),
       {"a"},
       {"web-1 moves none -> b"}},
      {"several budgets",
       StateOf(two(), {RunningPod("web", "web-1", "a")}, {Budget("one", "web", 5), Budget("two", "web", 5)}),
       {"a"},
       {"web-1 moves several -> b: has several PodDisruptionBudgets: the API evicts no such pod"}},
      {"a pod that is being deleted",
       StateOf(two(),
               {RunningPod("web", "web-1", "a").Deleted(Time{}),
                MakePod("db-0").Controller("apps/v1", "StatefulSet", "db").Node("a").Deleted(Time{})},
               {Budget("web", "web", 0)}),
       {"a"},
       {"db-0 moves none -> b", "web-1 ending none"}},
      {"all nodes are cordoned before the first pod goes",
       StateOf(two(), {RunningPod("web", "web-1", "a"), RunningPod("web", "web-2", "b")}),
       {"b", "a", "b"},
       {"web-2 moves none: fits nowhere: 0/2 nodes are available: 2 node(s) were unschedulable. no new claims to "
        "deallocate, preemption: 0/2 nodes "
        "are "
        "available: 2 Preemption is not helpful for scheduling.",
        "web-1 moves none: fits nowhere: 0/2 nodes are available: 2 node(s) were unschedulable. no new claims to "
        "deallocate, preemption: 0/2 nodes "
        "are "
        "available: 2 Preemption is not helpful for scheduling."}},
      {"one that tolerates the cordon",
       StateOf({MakeNode("a")}, {RunningPod("web", "web-1", "a").Toleration("", "Exists")}),
       {"a"},
       {"web-1 moves none -> a: tolerates the cordon and comes back to a"}},
      {"one that would push another out",
       StateOf(two(), {RunningPod("web", "web-1", "a").Request("cpu", "2").Priority(5),
                       RunningPod("job", "job-1", "b").Request("cpu", "2")}),
       {"a"},
       {"web-1 moves none: fits only by evicting 1 on b"}},
      {"of another scheduler",
       StateOf(two(), {RunningPod("web", "web-1", "a").SchedulerName("volcano")}),
       {"a"},
       {"web-1 moves none: where it would go is not known: no profile is called \"volcano\" (--config gives a "
        "configuration that has it)"}},
  };
  for (const Case& c : cases) {
    const DrainPlan plan = Planned(c.state, c.nodes, c.options);
    EXPECT_EQ(Said(plan), c.want) << c.name;
    const bool has_obstacle =
        std::ranges::any_of(c.want, [](const std::string& line) { return line.find(": ") != std::string::npos; });
    EXPECT_EQ(plan.CanDrain(), !has_obstacle) << c.name;
  }
}

TEST(DrainTest, UnknownNodes) {
  const ClusterState state = StateOf({MakeNode("node-1"), MakeNode("node-20")}, {});
  EXPECT_THAT(UnknownNodes(state, {"node-1", "node-2O", "x"}),
              ElementsAre("node-2O: no such node; the nearest name is node-20", HasSubstr("x: no such node")));
  EXPECT_THAT(UnknownNodes(StateOf({}, {}), {"x"}), ElementsAre("x: no such node"));
}

TEST(DrainTest, Lines) {
  const DrainPlan plan = Planned(StateOf({MakeNode("a"), MakeNode("b")},
                                         {RunningPod("web", "web-1", "a"), MakePod("lone").Node("a"),
                                          MakePod("agent").Controller("apps/v1", "DaemonSet", "agent").Node("a")},
                                         {Budget("web", "web", 1)}),
                                 {"a"});
  EXPECT_THAT(
      DrainLines(plan, false, {}),
      ElementsAre("POD             NODE   DRAIN   BUDGET       GOES TO",
                  "default/lone    a      lost    -            -", "default/web-1   a      moves   web allows   b", "",
                  "a cannot be drained (pods: 1 to move, 1 to be lost, 1 of DaemonSets ignored):",
                  "  default/lone: has no controller: needs --force, and is lost"));
  EXPECT_EQ(DrainLines(plan, true, {}).size(), 7U);
  const std::string text = codec::WriteJson(DrainJson(plan));
  EXPECT_THAT(text, HasSubstr(R"("canDrain":false)"));
  EXPECT_THAT(
      text,
      HasSubstr(R"({"namespace":"default","name":"web-1","node":"a","owner":"ReplicaSet web-5c7","drain":"moves",)"
                R"("budget":"allows","budgets":["web"],"goesTo":"b","comesBack":false,"obstacle":""})"));
}

// As the Eviction API has it: a pod that is not ready counts for no budget, if the budget is met by others or lets such
// pods go at all.
TEST(DrainTest, PodsThatAreNotReady) {
  struct UnreadyCase {
    const char* name;
    api::BudgetDetails details;
    bool is_ready;
    std::vector<std::string> said;
  };
  const std::string forbids = ": PodDisruptionBudget web allows no eviction now";
  const std::vector<UnreadyCase> cases = {
      {"the budget is met by others", {"", 2, 2}, false, {"web-1 moves allows -> b"}},
      {"the same by name", {"IfHealthyBudget", 2, 2}, false, {"web-1 moves allows -> b"}},
      {"it is not met", {"IfHealthyBudget", 1, 2}, false, {"web-1 moves forbids -> b" + forbids}},
      {"there are none that it wants", {"", 0, 0}, false, {"web-1 moves forbids -> b" + forbids}},
      {"whatever the others do", {"AlwaysAllow", 0, 2}, false, {"web-1 moves allows -> b"}},
      {"a ready pod is guarded", {"AlwaysAllow", 2, 2}, true, {"web-1 moves forbids -> b" + forbids}},
  };
  for (const UnreadyCase& c : cases) {
    ClusterState state =
        StateOf({MakeNode("a"), MakeNode("b")}, {RunningPod("web", "web-1", "a")}, {Budget("web", "web", 0)});
    auto details = std::make_shared<api::PodDetails>();
    details->status.conditions.push_back({"Ready", c.is_ready ? "True" : "False", "", {}});
    state.pod_details.push_back(std::move(details));
    state.budget_details["default/web"] = std::make_shared<const api::BudgetDetails>(c.details);
    EXPECT_EQ(Said(Planned(state, {"a"})), c.said) << c.name;
  }
}

}  // namespace
}  // namespace berth::whatif
