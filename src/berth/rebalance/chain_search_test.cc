// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/chain_search.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/plan_answer.h"
#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

using answers::PlanLines, answers::PlanJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using ::testing::SizeIs;
using whatif::Budget;
using whatif::RunningPod;

testing::NodeBuilder Gpu(const std::string& name) {
  return MakeNode(name).Taint("gpu", "yes", api::TaintEffect::kNoSchedule);
}

// A pod that may be on two nodes alone.
testing::PodBuilder Between(const std::string& app, const std::string& node, const std::string& other) {
  return RunningPod(app, app + "-1", node)
      .RequiredTerms({testing::Term({testing::In("kubernetes.io/hostname", {node, other})})});
}

Policy TaintPolicy(const std::string& args = "{}", const std::string& more = "", const std::string& evictor = "{}") {
  return PolicyOf(
      "[{name: RemovePodsViolatingNodeTaints, args: " + args + "}, {name: DefaultEvictor, args: " + evictor + "}]",
      "deschedule: {enabled: [RemovePodsViolatingNodeTaints]}", more);
}

// "web-1: n1 to n2".
std::vector<std::string> MovesOf(const RebalancePlan& plan) {
  std::vector<std::string> moves;
  for (const PlannedMove& move : plan.moves)
    moves.push_back(move.pod->metadata.name + ": " + move.from + " to " + move.to);
  return moves;
}

std::vector<std::string> StayingOf(const RebalancePlan& plan) {
  std::vector<std::string> staying;
  for (const StayingPod& pod : plan.staying) staying.push_back(pod.key.substr(pod.key.find('/') + 1) + ": " + pod.why);
  return staying;
}

// web-1 has to leave n1, and is as large as what is in its way: db-1 on n2, which can go to n3 alone; there is cache-1,
// which can go to n4.
std::vector<testing::NodeBuilder> RowNodes() { return {Gpu("n1"), MakeNode("n2"), MakeNode("n3"), MakeNode("n4")}; }
std::vector<testing::PodBuilder> Row() {
  return {Between("web", "n1", "n2").Request("cpu", "3"), Between("db", "n2", "n3").Request("cpu", "3"),
          Between("cache", "n3", "n4").Request("cpu", "3")};
}
std::vector<std::string> RowMoves() { return {"cache-1: n3 to n4", "db-1: n2 to n3", "web-1: n1 to n2"}; }

TEST(ChainSearchTest, AnotherPodMakesRoomWhereASingleMoveDoesNotDo) {
  // web-1 has to leave n1 and fits only on n2, which is full; db-1 fits on n3 as well.
  const auto plan = ChosenPlanOf(StateOf({Gpu("n1"), MakeNode("n2"), MakeNode("n3").Allocatable("cpu", "2")},
                                         {RunningPod("web", "web-1", "n1").Request("cpu", "3"),
                                          RunningPod("db", "db-1", "n2").Request("cpu", "2")}),
                                 TaintPolicy());
  ASSERT_THAT(MovesOf(plan), ElementsAre("db-1: n2 to n3", "web-1: n1 to n2"));
  EXPECT_EQ(plan.moves[0].reason, "it makes room for default/web-1");
  EXPECT_EQ(plan.moves[0].makes_room_for, "default/web-1");
  EXPECT_EQ(plan.moves[0].chain, 1u);
  EXPECT_EQ(plan.moves[1].makes_room_for, "");
  EXPECT_EQ(plan.moves[1].chain, 1u);
  EXPECT_THAT(plan.staying, IsEmpty());
}

TEST(ChainSearchTest, WhatMakesRoomMayNeedRoomItself) {
  const auto plan = ChosenPlanOf(StateOf(RowNodes(), Row()), TaintPolicy());
  ASSERT_EQ(MovesOf(plan), RowMoves());
  EXPECT_EQ(plan.moves[0].makes_room_for, "default/db-1");
  EXPECT_EQ(plan.moves[1].makes_room_for, "default/web-1");
  for (const PlannedMove& move : plan.moves) EXPECT_EQ(move.chain, 1u);
  EXPECT_THAT(plan.staying, IsEmpty());
}

TEST(ChainSearchTest, TwoPodsLeaveOneNodeWhereOneIsNotEnough) {
  const auto plan = ChosenPlanOf(
      StateOf(
          {Gpu("n1"), MakeNode("n2"), MakeNode("n3").Allocatable("cpu", "2"), MakeNode("n4").Allocatable("cpu", "2")},
          {RunningPod("web", "web-1", "n1").Request("cpu", "3"), RunningPod("db", "db-1", "n2").Request("cpu", "1500m"),
           RunningPod("db", "db-2", "n2").Request("cpu", "1500m")}),
      TaintPolicy());
  ASSERT_THAT(plan.moves, SizeIs(3));
  EXPECT_EQ(MovesOf(plan)[2], "web-1: n1 to n2");
  EXPECT_EQ(plan.moves[0].makes_room_for, "default/web-1");
  EXPECT_EQ(plan.moves[1].makes_room_for, "default/web-1");
  EXPECT_NE(plan.moves[0].to, plan.moves[1].to);
}

TEST(ChainSearchTest, RoomThatIsBeingMadeIsKeptFree) {
  // cache-1, which leaves n3 for db-1, would have room on n2 and on n4. On n2, which the scheduler likes better, it
  // would take what web-1 needs.
  auto cache = RunningPod("cache", "cache-1", "n3")
                   .Request("cpu", "1")
                   .RequiredTerms({testing::Term({testing::In("kubernetes.io/hostname", {"n2", "n3", "n4"})})})
                   .Preferred(100, testing::Term({testing::In("kubernetes.io/hostname", {"n2"})}));
  const auto plan = ChosenPlanOf(StateOf(RowNodes(), {Between("web", "n1", "n2").Request("cpu", "3"),
                                                      Between("db", "n2", "n3").Request("cpu", "3"),
                                                      Between("full", "n3", "n3").Request("cpu", "1"), cache,
                                                      RunningPod("more", "more-1", "n4").Request("cpu", "3")}),
                                 TaintPolicy());
  EXPECT_THAT(MovesOf(plan), ElementsAre("cache-1: n3 to n4", "db-1: n2 to n3", "web-1: n1 to n2"));
}

TEST(ChainSearchTest, AShortChainComesFirst) {
  // n2 would need two pods to move, n3 one.
  const auto plan =
      ChosenPlanOf(StateOf({Gpu("n1"), MakeNode("n2"), MakeNode("n3"), MakeNode("n4").Allocatable("cpu", "2")},
                           {RunningPod("web", "web-1", "n1").Request("cpu", "3"),
                            RunningPod("db", "db-1", "n2").Request("cpu", "1500m"),
                            RunningPod("db", "db-2", "n2").Request("cpu", "1500m"),
                            RunningPod("job", "job-1", "n3").Request("cpu", "2")}),
                   TaintPolicy());
  EXPECT_THAT(MovesOf(plan), ElementsAre("job-1: n3 to n4", "web-1: n1 to n3"));
}

TEST(ChainSearchTest, ChainsHaveThreeMovesAtMost) {
  auto pods = Row();
  pods.push_back(Between("last", "n4", "n5").Request("cpu", "3"));
  auto nodes = RowNodes();
  nodes.push_back(MakeNode("n5"));
  const auto plan = ChosenPlanOf(StateOf(nodes, pods), TaintPolicy());
  EXPECT_THAT(MovesOf(plan), IsEmpty());
  EXPECT_THAT(StayingOf(plan), ElementsAre(HasSubstr("web-1: it fits nowhere else")));
  EXPECT_FALSE(plan.are_chains_cut);
}

TEST(ChainSearchTest, AChainIsMadeAsAWholeOrNotAtAll) {
  const auto moves_of = [](const std::string& limits) {
    return MovesOf(ChosenPlanOf(StateOf(RowNodes(), Row()), TaintPolicy("{}", limits)));
  };
  EXPECT_THAT(moves_of("maxNoOfPodsToEvictTotal: 2\n"), IsEmpty());
  EXPECT_EQ(moves_of("maxNoOfPodsToEvictTotal: 3\n"), RowMoves());
  EXPECT_THAT(moves_of("maxNoOfPodsToEvictPerNamespace: 2\n"), IsEmpty());
  EXPECT_EQ(moves_of("maxNoOfPodsToEvictPerNode: 1\n"), RowMoves());
}

TEST(ChainSearchTest, WhatAChainThatIsNotMadeWouldHaveUsedIsLeftForOthers) {
  // Two moves are allowed. The chain for web-1 has three, that for zoo-1 has two.
  auto nodes = RowNodes();
  nodes[0].Allocatable("cpu", "8");
  nodes.push_back(MakeNode("n5"));
  nodes.push_back(MakeNode("n6"));
  auto pods = Row();
  pods.push_back(Between("zoo", "n1", "n5").Request("cpu", "3"));
  pods.push_back(Between("ape", "n5", "n6").Request("cpu", "3"));
  EXPECT_THAT(MovesOf(ChosenPlanOf(StateOf(nodes, pods), TaintPolicy("{}", "maxNoOfPodsToEvictTotal: 2\n"))),
              ElementsAre("ape-1: n5 to n6", "zoo-1: n1 to n5"));
}

TEST(ChainSearchTest, BudgetsHoldForAllOfAChain) {
  // db-1 and cache-1 are of one budget.
  auto pods = Row();
  for (std::size_t i = 1; i < pods.size(); ++i) pods[i].Label("app", "store");
  const auto moves_of = [&](std::int32_t allowed) {
    return MovesOf(ChosenPlanOf(StateOf(RowNodes(), pods, {Budget("pdb", "store", allowed)}), TaintPolicy()));
  };
  EXPECT_THAT(moves_of(0), IsEmpty());
  EXPECT_THAT(moves_of(1), IsEmpty());
  EXPECT_EQ(moves_of(2), RowMoves());
}

TEST(ChainSearchTest, TheAllowanceHoldsForAllOfAChain) {
  const auto moves_of = [](const whatif::ClusterState& state, std::size_t per_hour) {
    AllowanceLimits limits;
    limits.per_hour = per_hour;
    const MoveAllowance allowance(state, MoveLedger(), limits, {}, kTestNow);
    return MovesOf(ChosenPlanOf(state, TaintPolicy(), nullptr, &allowance));
  };
  const auto state = StateOf(RowNodes(), Row());
  EXPECT_THAT(moves_of(state, 2), IsEmpty());
  EXPECT_EQ(moves_of(state, 3), RowMoves());
  // The last pod of the chain is of an owner that is being rolled out.
  auto pods = Row();
  pods.push_back(RunningPod("cache", "cache-2", "n4")
                     .Label("pod-template-hash", "9d2")
                     .Controller("apps/v1", "ReplicaSet", "cache-9d2"));
  EXPECT_THAT(moves_of(StateOf(RowNodes(), pods), 3), IsEmpty());
  // Two pods of one owner do not move at once.
  pods = Row();
  for (std::size_t i = 1; i < pods.size(); ++i) pods[i].Controller("apps/v1", "ReplicaSet", "store-5c7");
  EXPECT_THAT(moves_of(StateOf(RowNodes(), pods), 3), IsEmpty());
}

TEST(ChainSearchTest, WhatTheEvictorProtectsMakesNoRoom) {
  const auto moves_of = [](const whatif::ClusterState& state, const Policy& policy) {
    return MovesOf(ChosenPlanOf(state, policy));
  };
  const auto state = StateOf(RowNodes(), Row());
  for (const std::size_t protected_pod : {std::size_t{1}, std::size_t{2}}) {
    auto with_storage = state;
    auto details = *state.pod_details[protected_pod];
    details.spec.has_local_storage = true;
    with_storage.pod_details[protected_pod] = std::make_shared<const api::PodDetails>(details);
    EXPECT_THAT(moves_of(with_storage, TaintPolicy()), IsEmpty());
    EXPECT_EQ(moves_of(with_storage, TaintPolicy("{}", "", "{evictLocalStoragePods: true}")), RowMoves());
  }
  auto pods = Row();
  pods[2].Priority(kSystemCriticalPriority);
  EXPECT_THAT(moves_of(StateOf(RowNodes(), pods), TaintPolicy()), IsEmpty());
  // The strategy looks at some pods alone; or pods of other namespaces are left alone.
  EXPECT_THAT(moves_of(state, TaintPolicy("{labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: "
                                          "[cache]}]}}")),
              IsEmpty());
  pods = Row();
  pods[2].Namespace("kube-system");
  EXPECT_THAT(moves_of(StateOf(RowNodes(), pods), TaintPolicy("{namespaces: {exclude: [kube-system]}}")), IsEmpty());
  EXPECT_EQ(moves_of(StateOf(RowNodes(), pods), TaintPolicy()), RowMoves());
}

TEST(ChainSearchTest, WhatHasAPortOfTheHostMakesWay) {
  // There is room on n2; the port is taken.
  const auto plan =
      ChosenPlanOf(StateOf({Gpu("n1"), MakeNode("n2"), MakeNode("n3").Taint("db", "", api::TaintEffect::kNoSchedule)},
                           {RunningPod("web", "web-1", "n1").HostPort(80),
                            RunningPod("db", "db-1", "n2").HostPort(80).Toleration("db", "Exists")}),
                   TaintPolicy());
  EXPECT_THAT(MovesOf(plan), ElementsAre("db-1: n2 to n3", "web-1: n1 to n2"));
}

// 15 large pods have got to leave their nodes for those of a pool. There small pods have taken the memory, one of which
// would have to go for each. The other nodes are full of small pods as well; these alone tolerate the taint, so that
// they can go where the large ones were.
whatif::ClusterState CrowdedPool() {
  constexpr int kLarge = 15, kPoolNodes = 8, kOtherNodes = 8, kSmallOnNode = 8;
  std::vector<testing::NodeBuilder> nodes;
  std::vector<testing::PodBuilder> pods;
  const auto name = [](const std::string& of, int i) { return of + (i < 10 ? "-0" : "-") + std::to_string(i); };
  for (int i = 0; i < kLarge; ++i) {
    nodes.push_back(
        MakeNode(name("old", i)).Allocatable("memory", "8Gi").Taint("old", "", api::TaintEffect::kNoSchedule));
    pods.push_back(RunningPod("large", name("large", i), name("old", i))
                       .Request("cpu", "1500m")
                       .Request("memory", "1Gi")
                       .NodeSelector("pool", "new"));
  }
  const auto add_full = [&](const std::string& of, int count, bool is_pool) {
    for (int i = 0; i < count; ++i) {
      nodes.push_back(MakeNode(name(of, i)).Allocatable("memory", "8Gi").Label("pool", is_pool ? "new" : "other"));
      for (int j = 0; j < kSmallOnNode; ++j) {
        auto pod = RunningPod(is_pool ? "small" : "tolerant", name(of, i) + "-" + std::to_string(j), name(of, i));
        pod.Request("cpu", "100m").Request("memory", "1Gi");
        if (!is_pool) pod.Toleration("old", "Exists");
        pods.push_back(pod);
      }
    }
  };
  add_full("new", kPoolNodes, true);
  add_full("other", kOtherNodes, false);
  return StateOf(nodes, pods);
}

TEST(ChainSearchTest, AllLargePodsOfACrowdedPoolGetAPlace) {
  const auto state = CrowdedPool();
  const auto plan = ChosenPlanOf(state, TaintPolicy());
  EXPECT_THAT(StayingOf(plan), IsEmpty());
  EXPECT_THAT(plan.moves, SizeIs(45));
  std::map<std::string, int> moves_of_app;
  for (const PlannedMove& move : plan.moves) ++moves_of_app[*move.pod->metadata.labels.Find("app")];
  EXPECT_EQ(moves_of_app, (std::map<std::string, int>{{"large", 15}, {"small", 15}, {"tolerant", 15}}));
  // Carried out, it leaves nothing to do.
  EXPECT_THAT(ChosenPlanOf(Applied(state, plan, kTestNow), TaintPolicy()).moves, IsEmpty());
}

TEST(ChainSearchTest, TheSearchEndsAtABound) {
  // By size each small pod could go to other nodes, but all of these have a pod with the same port of the host.
  std::vector<testing::NodeBuilder> nodes = {Gpu("n-gpu")};
  std::vector<testing::PodBuilder> pods = {RunningPod("web", "web-1", "n-gpu").Request("cpu", "4")};
  for (std::size_t i = 0; i < ChainSearch::kProofsOfPodMax + 1; ++i) {
    const std::string node = "n-" + std::to_string(i);
    nodes.push_back(MakeNode(node));
    pods.push_back(RunningPod("small", "small-" + std::to_string(i), node).Request("cpu", "1").HostPort(80));
  }
  const auto plan = ChosenPlanOf(StateOf(nodes, pods), TaintPolicy());
  EXPECT_THAT(MovesOf(plan), IsEmpty());
  EXPECT_TRUE(plan.are_chains_cut);
  EXPECT_TRUE(PlanJson(plan).at("chainsCut").as_bool());
}

TEST(ChainSearchTest, ThePlanReportsWhichMovesBelongTogether) {
  const Policy policy = TaintPolicy();
  const auto plan = ChosenPlanOf(StateOf(RowNodes(), Row()), policy);
  std::string text;
  for (const std::string& line : PlanLines(plan, false, {false, 200})) text += line + "\n";
  EXPECT_THAT(text, HasSubstr("POD               FROM   TO   WHY                             GAIN\n"
                              "default/cache-1   n3     n4   RemovePodsViolatingNodeTaints   room for default/db-1\n"
                              "default/db-1      n2     n3   RemovePodsViolatingNodeTaints   room for default/web-1\n"
                              "default/web-1     n1     n2   RemovePodsViolatingNodeTaints   1 violation fewer\n"));
  EXPECT_THAT(text, HasSubstr("2 of these make room for another, in 1 chain: the moves of a chain belong together, in "
                              "this order."));
  const auto json = PlanJson(plan);
  const auto& move = json.at("moves").as_array()[0].as_object();
  EXPECT_EQ(move.at("chain").to_number<int>(), 1);
  EXPECT_EQ(move.at("makesRoomFor"), "default/db-1");
  EXPECT_EQ(json.at("moves").as_array()[2].as_object().at("makesRoomFor"), "");
  EXPECT_FALSE(json.at("chainsCut").as_bool());
}

}  // namespace
}  // namespace berth::rebalance
