// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/victims.h"

#include <functional>

#include <gtest/gtest.h>

#include "berth/core/cache/pod_classes.h"
#include "berth/core/cache/pod_group_states.h"
#include "berth/plugins/helper/fake_filters.h"
#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using framework::PodInfoPtr;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;

Time At(int seconds) { return Time{std::chrono::seconds(seconds)}; }

std::vector<std::string> Names(const std::vector<PodInfoPtr>& pods) {
  std::vector<std::string> names;
  for (const PodInfoPtr& pod : pods) names.push_back(pod->name);
  return names;
}

std::shared_ptr<const api::PodDisruptionBudget> Budget(std::string name, std::optional<api::LabelSelector> selector,
                                                       std::int32_t allowed, std::vector<std::string> disrupted = {},
                                                       std::string namespace_name = "default") {
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->metadata.name = std::move(name);
  budget->metadata.namespace_name = std::move(namespace_name);
  budget->selector = std::move(selector);
  budget->disruptions_allowed = allowed;
  budget->disrupted_pods = std::move(disrupted);
  return budget;
}

TEST(Victims, Importance) {
  const struct {
    const char* name;
    PodBuilder a, b;
    bool want, want_reversed;
  } cases[] = {
      {"priority", MakePod("a").Priority(2).Started(At(9)), MakePod("b").Priority(1).Started(At(1)), true, false},
      {"longer running", MakePod("a").Started(At(1)), MakePod("b").Started(At(2)), true, false},
      {"started before not started", MakePod("a").Started(At(1)), MakePod("b"), true, false},
      {"equal", MakePod("a").Started(At(1)), MakePod("b").Started(At(1)), false, false},
      {"both not started", MakePod("a"), MakePod("b"), false, false},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(IsMoreImportant(*test.a.Info(), *test.b.Info(), At(100)), test.want);
    EXPECT_EQ(IsMoreImportant(*test.b.Info(), *test.a.Info(), At(100)), test.want_reversed);
  }
}

TEST(Victims, EqualsInTheOrderOfTheirUids) {
  const auto older = MakePod("b").Started(At(1)).Info();
  const auto a = MakePod("a").Started(At(2)).Info();
  const auto b = MakePod("b").Started(At(2)).Info();
  const auto waiting_a = MakePod("a").Info();
  const auto waiting_b = MakePod("b").Info();
  const framework::Release older_release = framework::ReleaseOf(37);
  const framework::Release release = framework::ReleaseOf(38);
  EXPECT_TRUE(IsMoreImportant(*a, *b, At(100), release));
  EXPECT_FALSE(IsMoreImportant(*b, *a, At(100), release));
  EXPECT_FALSE(IsMoreImportant(*a, *b, At(100), older_release));
  EXPECT_TRUE(IsMoreImportant(*older, *a, At(100), release)) << "time comes first";
  EXPECT_FALSE(IsMoreImportant(*waiting_a, *waiting_b, At(100), release)) << "they keep their order";
  EXPECT_FALSE(IsMoreImportant(*waiting_b, *waiting_a, At(100), release));
  EXPECT_TRUE(IsMoreImportant(*b, *waiting_a, At(2), release));
}

TEST(Victims, Budgets) {
  const auto app = testing::Labels({{"app", "a"}});
  const auto invalid = [&](api::SelectorOperator op, std::vector<std::string> values) {
    api::LabelSelector selector;
    selector.requirements.push_back({"app", op, std::move(values), {}});
    return selector;
  };
  const struct {
    const char* name;
    std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets;
    std::string want;  // of three pods with app=a, one without labels and one of another namespace; x: violates
  } cases[] = {
      {"none", {}, "....."},
      {"the first may go", {Budget("b", app, 1)}, ".xx.."},
      {"two may go", {Budget("b", app, 2)}, "..x.."},
      {"overdrawn already", {Budget("b", app, -1)}, "xxx.."},
      {"empty selector matches nothing", {Budget("b", api::LabelSelector(), 0)}, "....."},
      {"absent selector matches nothing", {Budget("b", std::nullopt, 0)}, "....."},
      {"not for these pods", {Budget("b", testing::Labels({{"app", "z"}}), 0)}, "....."},
      {"a selector that upstream cannot parse", {Budget("b", invalid(api::SelectorOperator::kIn, {}), 0)}, "....."},
      {"an operator that label selectors do not have",
       {Budget("b", invalid(api::SelectorOperator::kGt, {"1"}), 0)},
       "....."},
      {"a pod without labels matches nothing, though the selector says so",
       {Budget("b", invalid(api::SelectorOperator::kDoesNotExist, {}), 0)},
       "....."},
      {"of its own namespace", {Budget("b", app, 0, {}, "other")}, "....x"},
      {"counted by the API server already", {Budget("b", app, 1, {"p0", "p2"})}, "....."},
      {"one of two is overdrawn", {Budget("b", app, 2), Budget("c", app, 1)}, ".xx.."},
      {"a violation counts for later pods", {Budget("b", app, 0), Budget("c", app, 1)}, "xxx.."},
  };
  const std::vector<PodInfoPtr> pods = {MakePod("p0").Label("app", "a").Info(), MakePod("p1").Label("app", "a").Info(),
                                        MakePod("p2").Label("app", "a").Info(), MakePod("p3").Info(),
                                        MakePod("p4").Namespace("other").Label("app", "a").Info()};
  for (const auto& test : cases) {
    framework::ObjectStore<api::PodDisruptionBudget> store;
    for (const auto& budget : test.budgets) store.Set(budget);
    DisruptionBudgets budgets(store);
    for (int run = 0; run < 2; ++run) {  // each list is counted from the start
      std::string got;
      for (const bool violates : budgets.Violations(pods)) got += violates ? 'x' : '.';
      EXPECT_EQ(got, test.want) << test.name;
    }
  }
}

// A pod of two budgets, the first of which it overdraws: the second is left as it is in the release that stops there.
TEST(Victims, TheFirstViolatedBudgetMayEndTheCount) {
  const std::vector<PodInfoPtr> pods = {MakePod("p0").Label("app", "a").Label("x", "y").Info(),
                                        MakePod("p1").Label("x", "y").Info()};
  framework::ObjectStore<api::PodDisruptionBudget> store;
  store.Set(Budget("b", testing::Labels({{"app", "a"}}), 0));
  store.Set(Budget("c", testing::Labels({{"x", "y"}}), 1));
  EXPECT_EQ(DisruptionBudgets(store).Violations(pods), (std::vector<bool>{true, true}));
  EXPECT_EQ(DisruptionBudgets(store, framework::Release(37)).Violations(pods), (std::vector<bool>{true, false}));
}

// A budget without requirements, and pods without labels.
TEST(Victims, EmptyBudgetsHoldFrom138On) {
  const std::vector<PodInfoPtr> pods = {MakePod("p0").Label("app", "a").Info(), MakePod("p1").Info(),
                                        MakePod("p2").Namespace("other").Info()};
  api::LabelSelector unlabelled;
  unlabelled.requirements.push_back({"app", api::SelectorOperator::kDoesNotExist, {}, {}});
  const struct {
    const char* name;
    std::optional<api::LabelSelector> selector;
    std::vector<bool> want_in_137, want_in_138;
  } cases[] = {
      {"an empty selector", api::LabelSelector(), {false, false, false}, {true, true, false}},
      {"a selector that pods without labels match", unlabelled, {false, false, false}, {false, true, false}},
      {"no selector", std::nullopt, {false, false, false}, {false, false, false}},
  };
  for (const auto& test : cases) {
    framework::ObjectStore<api::PodDisruptionBudget> store;
    store.Set(Budget("b", test.selector, 0));
    EXPECT_EQ(DisruptionBudgets(store, framework::ReleaseOf(37)).Violations(pods), test.want_in_137) << test.name;
    EXPECT_EQ(DisruptionBudgets(store, framework::ReleaseOf(38)).Violations(pods), test.want_in_138) << test.name;
  }
}

// A node of 4 CPUs; the filters are a count of CPUs.
class DryRunTest : public ::testing::Test {
 protected:
  DryRunTest() : cluster_({MakeNode("n")}) {
    filters_.again = [this](const framework::NodeInfo& node) {
      const bool fits = node.requested().cpu_milli + preemptor_->pod_class->requests.cpu_milli <= 4000;
      return fits ? Status() : Status::Unschedulable("Insufficient cpu");
    };
  }

  void Add(const PodBuilder& pod) { cluster_.Add(PodBuilder(pod).Node("n")); }
  NodeVictims Run(const PodBuilder& preemptor) {
    preemptor_ = preemptor.Info();
    return DryRun(cluster_.cycle(), *preemptor_, filters_, budgets_).SelectVictims(0);
  }
  static PodBuilder Pod(std::string name, std::int32_t priority, std::string cpu = "1") {
    return MakePod(std::move(name)).Priority(priority).Request("cpu", cpu).Started(At(100));
  }

  TestCluster cluster_;
  FakeFilters filters_;
  PodInfoPtr preemptor_;
  framework::ObjectStore<api::PodDisruptionBudget> budgets_;
};

TEST_F(DryRunTest, NobodyOfLowerPriority) {
  Add(Pod("equal", 10));
  Add(Pod("higher", 11));
  const NodeVictims found = Run(Pod("p", 10, "4"));
  EXPECT_EQ(TestCluster::Describe(found.status),
            "UnschedulableAndUnresolvable: No preemption victims found for incoming pod");
  EXPECT_EQ(filters_.run_count, 0);
}

TEST_F(DryRunTest, DoesNotFitWithoutAllOfThem) {
  Add(Pod("low", 1));
  Add(Pod("high", 20, "2"));
  const NodeVictims found = Run(Pod("p", 10, "3"));
  EXPECT_EQ(TestCluster::Describe(found.status), "Unschedulable: Insufficient cpu");
  EXPECT_EQ(filters_.run_count, 1);
  EXPECT_EQ(cluster_.Node("n").pods().size(), 2u) << "the dry run works on a copy";
}

TEST_F(DryRunTest, LetsOffTheMostImportantFirst) {
  Add(Pod("low", 1));
  Add(Pod("young", 5).Started(At(300)));
  Add(Pod("old", 5).Started(At(200)));
  Add(Pod("high", 7));
  const NodeVictims found = Run(Pod("p", 10, "2"));
  EXPECT_TRUE(found.status.IsSuccess());
  EXPECT_EQ(Names(found.victims), (std::vector<std::string>{"young", "low"}));
  EXPECT_EQ(filters_.removed_count, 4 + 2);
  EXPECT_EQ(filters_.added_count, 4);
  EXPECT_EQ(cluster_.Node("n").pods().size(), 4u);
}

TEST_F(DryRunTest, LetsOffASmallOneAfterALargeOneMustGo) {
  Add(Pod("large", 5, "3"));
  Add(Pod("small", 1, "1"));
  EXPECT_EQ(Names(Run(Pod("p", 10, "3")).victims), (std::vector<std::string>{"large"}));
}

TEST_F(DryRunTest, EqualsKeepTheNodesOrder) {
  for (const char* name : {"c", "a", "d", "b"}) Add(Pod(name, 1));
  EXPECT_EQ(Names(Run(Pod("p", 10, "2")).victims), (std::vector<std::string>{"d", "b"}));
}

TEST_F(DryRunTest, LetsOffPodsOfABudgetBeforeMoreImportantOnes) {
  budgets_.Set(Budget("b", testing::Labels({{"app", "a"}}), 1));
  Add(Pod("first", 3).Label("app", "a"));
  Add(Pod("second", 2).Label("app", "a"));
  Add(Pod("third", 1).Label("app", "a"));
  Add(Pod("plain", 9));
  const struct {
    const char* cpu;
    std::vector<std::string> want;
    std::int64_t want_violations;
  } cases[] = {
      // The first is within the budget, and stays after those that are not; "plain" comes in between.
      {"1", {"first"}, 0},
      {"2", {"plain", "first"}, 0},
      {"3", {"plain", "first", "third"}, 1},
      {"4", {"plain", "first", "second", "third"}, 2},
  };
  for (const auto& test : cases) {
    const NodeVictims found = Run(Pod("p", 10, test.cpu));
    EXPECT_EQ(Names(found.victims), test.want) << test.cpu;
    EXPECT_EQ(found.pdb_violations, test.want_violations) << test.cpu;
  }
}

// Pods of one ReplicaSet are tried until one of them has to go; no filter would tell the next one from it.
TEST_F(DryRunTest, AsksOnceForPodsThatAreAlike) {
  struct {
    const char* name;
    std::function<void(PodBuilder&)> change;
    int want_added;
  } cases[] = {
      {"alike", [](PodBuilder&) {}, 3},
      {"each with a claim of its own", [](PodBuilder& pod) { pod.Claim("data"); }, 6},
      {"one of them on its way out",
       [](PodBuilder& pod) {
         if (pod.Build().metadata.name == "v4") pod.Deleted(At(7));
       },
       4},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    cluster_ = TestCluster({MakeNode("n")});
    filters_.added_count = 0;
    cache::PodClasses classes;
    for (int i = 0; i < 6; ++i) {
      PodBuilder pod = Pod("v" + std::to_string(i), 1, "500m").Node("n");
      test.change(pod);
      cluster_.table().AddPod(classes.MakePodInfo(pod.Build()));
    }
    EXPECT_EQ(Names(Run(Pod("p", 10, "3")).victims), (std::vector<std::string>{"v2", "v3", "v4", "v5"}));
    EXPECT_EQ(filters_.added_count, test.want_added);
  }
}

TEST_F(DryRunTest, AsksAgainAfterAnotherPodWasLetOff) {
  filters_.again = [](const framework::NodeInfo& node) {
    bool has_a = false, has_b = false;
    for (const PodInfoPtr& pod : node.pods()) (pod->name == "b" ? has_b : has_a) = true;
    return has_a && !has_b ? Status::Unschedulable("x") : Status();
  };
  cache::PodClasses classes;
  int started = 0;
  for (const char* name : {"a1", "b", "a2"}) {
    PodBuilder pod = Pod(name, 1).Node("n").Started(At(started++));
    if (name == std::string("b")) pod.Label("app", "b");
    cluster_.table().AddPod(classes.MakePodInfo(pod.Build()));
  }
  EXPECT_EQ(Names(Run(Pod("p", 10)).victims), std::vector<std::string>{"a1"});
}

TEST_F(DryRunTest, NoVictimNeeded) {
  Add(Pod("low", 1));
  const NodeVictims found = Run(Pod("p", 10, "1"));
  EXPECT_TRUE(found.status.IsSuccess());
  EXPECT_TRUE(found.victims.empty());
}

// Pods of groups on two nodes, n and m; the one under test is n.
class DryRunWithGroupsTest : public DryRunTest {
 protected:
  DryRunWithGroupsTest() { cluster_.Add(MakeNode("m")); }

  void AddGroup(std::string name, std::optional<std::int32_t> priority, bool is_whole = true) {
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.name = std::move(name);
    group->metadata.namespace_name = "default";
    group->priority = priority;
    group->is_disrupted_whole = is_whole;
    objects_.Set(std::shared_ptr<const api::PodGroup>(std::move(group)));
  }
  // Member GROUP-i on the node.
  void AddMember(const std::string& group, int i, const std::string& node, std::int32_t priority = 1,
                 const std::string& cpu = "2") {
    const PodInfoPtr pod =
        Pod(group + "-" + std::to_string(i), priority, cpu).Label("app", "a").InGroup(group).Node(node).Info();
    cluster_.table().AddPod(pod);
    groups_.SetScheduled(pod);
  }
  NodeVictims Run(const PodBuilder& preemptor) {
    preemptor_ = preemptor.Info();
    return DryRun(cluster_.cycle(), *preemptor_, filters_, budgets_, framework::Release(37), &groups_).SelectVictims(0);
  }

  framework::Objects objects_;
  cache::PodGroupStates groups_{objects_, false};
};

TEST_F(DryRunWithGroupsTest, AGroupGoesWholeOnAllNodes) {
  AddGroup("r", 1);
  AddMember("r", 0, "n", 1, "1");
  AddMember("r", 1, "m");
  AddMember("r", 2, "n", 1, "1");
  Add(Pod("x", 5, "2"));
  const NodeVictims found = Run(Pod("p", 10, "1"));
  EXPECT_TRUE(found.status.IsSuccess());
  EXPECT_EQ(Names(found.victims), (std::vector<std::string>{"r-0", "r-1", "r-2"}));
  EXPECT_TRUE(found.rests_on_groups);
  EXPECT_EQ(filters_.calls, (std::vector<std::string>{"-r-0@n", "-r-1@m", "-r-2@n", "-x@n", "+x@n", "+r-0@n", "+r-1@m",
                                                      "+r-2@n", "-r-0@n", "-r-1@m", "-r-2@n"}));
  EXPECT_EQ(cluster_.Node("m").pods().size(), 1u);
  EXPECT_EQ(cluster_.Node("n").pods().size(), 3u);
}

TEST_F(DryRunWithGroupsTest, TheGroupsPriorityCounts) {
  AddGroup("high", 20);
  AddMember("high", 0, "n", 1);
  const NodeVictims none = Run(Pod("p", 10, "3"));
  EXPECT_EQ(none.status.Message(), "No preemption victims found for incoming pod");
  EXPECT_TRUE(none.rests_on_groups) << "the group's priority may change";
  AddGroup("low", 2, /*is_whole=*/false);
  AddMember("low", 0, "n", 50);
  EXPECT_EQ(Names(Run(Pod("p", 10, "2")).victims), std::vector<std::string>{"low-0"});
}

TEST_F(DryRunWithGroupsTest, PodsThatGoAloneAreAsImportantAsAGroup) {
  AddGroup("r", 1, /*is_whole=*/false);
  AddMember("r", 0, "n");
  AddMember("r", 1, "n");
  EXPECT_EQ(Names(Run(Pod("p", 10, "2")).victims), std::vector<std::string>{"r-1"});
  Add(Pod("x", 1, "2").Started(At(1)));
  EXPECT_EQ(Names(Run(Pod("p", 10, "2")).victims), (std::vector<std::string>{"r-1", "x"})) << "though x is older";
}

TEST_F(DryRunWithGroupsTest, WithoutItsObjectAGroupIsNone) {
  AddMember("unknown", 0, "n", 3);
  AddMember("unknown", 1, "m", 3);
  EXPECT_EQ(Names(Run(Pod("p", 10, "4")).victims), std::vector<std::string>{"unknown-0"});
}

TEST_F(DryRunWithGroupsTest, EachOfItsPodsMayViolateABudget) {
  budgets_.Set(Budget("b", testing::Labels({{"app", "a"}}), 1));
  AddGroup("r", 1);
  AddMember("r", 0, "n");
  AddMember("r", 1, "m");
  AddMember("r", 2, "m");
  Add(Pod("x", 5, "2"));
  const NodeVictims spared = Run(Pod("p", 10, "2"));
  EXPECT_EQ(Names(spared.victims), std::vector<std::string>{"x"}) << "the group comes first";
  EXPECT_EQ(spared.pdb_violations, 0);
  EXPECT_EQ(Run(Pod("p", 10, "4")).pdb_violations, 2) << "the budget has room for one of three";
}

TEST_F(DryRunWithGroupsTest, AMemberOnANodeThatIsGoneIsAnError) {
  AddGroup("r", 1);
  AddMember("r", 0, "n");
  groups_.SetScheduled(Pod("r-1", 1).InGroup("r").Node("gone").Info());
  EXPECT_EQ(TestCluster::Describe(Run(Pod("p", 10, "4")).status),
            "Error: failed to get node info for node \"gone\" from snapshot: nodeinfo not found for node name "
            "\"gone\"");
}

TEST_F(DryRunTest, WhatFailsIsAnError) {
  Add(Pod("low", 1));
  filters_.on_remove = Status::UnschedulableAndUnresolvable("cannot take it away");
  EXPECT_EQ(TestCluster::Describe(Run(Pod("p", 10, "4")).status), "Error: cannot take it away");
  filters_.on_remove = Status();
  filters_.on_add = Status::Error("cannot add it");
  const NodeVictims found = Run(Pod("p", 10, "4"));
  EXPECT_EQ(TestCluster::Describe(found.status), "Error: cannot add it");
  EXPECT_TRUE(found.victims.empty());
}

}  // namespace
}  // namespace berth::plugins
