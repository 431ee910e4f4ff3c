// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/default_preemption.h"
#include "berth/framework/preemption_report.h"

#include <set>

#include <gtest/gtest.h>

#include "berth/core/cache/pod_group_states.h"
#include "berth/core/config/args.h"
#include "berth/plugins/helper/fake_filters.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::PostFilterResult;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;

// Three nodes; n0 and n1 have a pod of priority 5, which may be on its way out.
class DefaultPreemptionTest : public ::testing::Test {
 protected:
  DefaultPreemptionTest() {
    for (const char* name : {"n0", "n1", "n2"}) cluster_.Add(MakeNode(name));
    cluster_.Add(MakePod("a").Node("n0").Priority(5));
    cluster_.Add(MakePod("b").Node("n1").Priority(5));
    for (framework::NodeIndex row = 0; row < 3; ++row) filters_.said[row] = Status::Unschedulable("Insufficient cpu");
    filters_.again = [](const framework::NodeInfo& node) {
      return node.pods().empty() ? Status() : Status::Unschedulable("Insufficient cpu");
    };
  }

  PostFilterResult Run(const testing::PodBuilder& pod, std::uint64_t seed = 1) {
    return plugin_.PostFilter(cluster_.cycle(seed), *pod.Info(), filters_, filters_);
  }
  static std::vector<std::string> VictimsOf(const PostFilterResult& result) {
    std::vector<std::string> names;
    for (const auto& candidate : result.preemption->candidates) {
      if (candidate.row != result.preemption->chosen) continue;
      for (const auto& victim : candidate.victims) names.push_back(victim->name);
    }
    return names;
  }

  testing::FakeHandle handle_;
  TestedPlugin plugin_ = CreateDefaultPreemption({}, handle_);
  TestCluster cluster_;
  FakeFilters filters_;
};

TEST_F(DefaultPreemptionTest, NoNodeHelps) {
  for (auto& [row, status] : filters_.said) status = Status::UnschedulableAndUnresolvable("node(s) were unschedulable");
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.");
  EXPECT_TRUE(result.has_nomination);
  EXPECT_TRUE(result.nominated_node_name.empty());
}

TEST_F(DefaultPreemptionTest, NoPodOfLowerPriority) {
  filters_.said[2] = Status::UnschedulableAndUnresolvable("node(s) were unschedulable");
  const auto result = Run(MakePod("p").Priority(5));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
            "2 No preemption victims found for incoming pod.");
  EXPECT_TRUE(result.has_nomination);
  EXPECT_EQ(filters_.run_count, 0);
  ASSERT_NE(result.preemption, nullptr);
  EXPECT_EQ(result.preemption->chosen, framework::kNoNode);
}

TEST_F(DefaultPreemptionTest, EvictingDoesNotHelp) {
  filters_.again = [](const framework::NodeInfo& node) {
    EXPECT_TRUE(node.pods().empty());
    return Status::Unschedulable("Insufficient memory");
  };
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
            "2 Insufficient memory.");
  EXPECT_EQ(filters_.removed_count, 2);
  EXPECT_TRUE(handle_.started.empty());
}

TEST_F(DefaultPreemptionTest, NominatesTheBestNode) {
  cluster_.Add(MakePod("c").Node("n0").Priority(1));
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_TRUE(result.status.IsSuccess()) << result.status.Message();
  EXPECT_TRUE(result.has_nomination);
  EXPECT_EQ(result.nominated_node_name, "n1");
  ASSERT_NE(result.preemption, nullptr);
  EXPECT_EQ(result.preemption->candidates.size(), 2u);
  EXPECT_EQ(result.preemption->acceptable, std::vector<framework::NodeIndex>{1});
  EXPECT_EQ(VictimsOf(result), std::vector<std::string>{"b"});
  EXPECT_EQ(handle_.started.size(), 1u);
  EXPECT_EQ(cluster_.Node("n1").pods().size(), 1u);
}

TEST_F(DefaultPreemptionTest, AReleaseReportsThePlacement) {
  EXPECT_EQ(Run(MakePod("p").Priority(9)).success_message, "");
  handle_.SetRelease(framework::ReleaseOf(37));
  cluster_.Add(MakePod("c").Node("n0").Priority(1));
  EXPECT_EQ(Run(MakePod("p").Priority(9)).success_message,
            "preemption: found a potential placement for pod on node n1, preempting 1 victims");
}

TEST_F(DefaultPreemptionTest, EqualNodesAreTakenByChance) {
  std::set<std::string> chosen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto result = Run(MakePod("p").Priority(9), seed);
    EXPECT_EQ(result.preemption->acceptable, (std::vector<framework::NodeIndex>{0, 1}));
    EXPECT_EQ(result.nominated_node_name, Run(MakePod("p").Priority(9), seed).nominated_node_name);
    chosen.insert(result.nominated_node_name);
  }
  EXPECT_EQ(chosen, (std::set<std::string>{"n0", "n1"}));
}

TEST_F(DefaultPreemptionTest, StopsWithEnoughCandidates) {
  TestCluster cluster;
  FakeFilters filters;
  filters.again = filters_.again;
  for (framework::NodeIndex row = 0; row < 60; ++row) {
    const std::string name = "n" + std::to_string(row);
    cluster.Add(MakeNode(name));
    cluster.Add(MakePod("v" + std::to_string(row)).Node(name).Priority(1).Label("app", row < 50 ? "a" : "b"));
    filters.said[row] = Status::Unschedulable("full");
  }
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->metadata.name = "b";
  budget->metadata.namespace_name = "default";
  budget->selector = testing::Labels({{"app", "a"}});
  const auto run = [&](const config::DefaultPreemptionArgs& args, std::uint64_t seed) {
    return TestedPlugin(CreateDefaultPreemption(args, handle_))
        .PostFilter(cluster.cycle(seed), *MakePod("p").Priority(9).Info(), filters, filters);
  };
  EXPECT_EQ(run({10, 100}, 1).preemption->candidates.size(), 60u);
  std::set<framework::NodeIndex> first;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto result = run({10, 4}, seed);
    EXPECT_EQ(result.preemption->candidates.size(), 6u);
    first.insert(result.preemption->candidates.front().row);
  }
  EXPECT_GT(first.size(), 10u) << "the search begins anywhere";

  // Candidates that overdraw a budget do not end the search, and are not kept beyond what is wanted.
  handle_.store.Set(std::shared_ptr<const api::PodDisruptionBudget>(budget));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto result = run({10, 4}, seed);
    EXPECT_EQ(result.preemption->candidates.front().pdb_violations, 0);
    EXPECT_GE(result.preemption->chosen, 50u);
    EXPECT_LE(result.preemption->candidates.size(), 7u);
  }
  // 1 % of 60 nodes is no node at all.
  EXPECT_EQ(run({1, 0}, 1).status.Message(),
            "preemption: 0/60 nodes are available: 60 Preemption is not helpful for scheduling.");
}

TEST_F(DefaultPreemptionTest, ReportsNominationsThatItClears) {
  handle_.nominated["n0"] =
      handle_.nominated["n1"] = {MakePod("low").Priority(8).Info(), MakePod("equal").Priority(9).Info()};
  const auto result = Run(MakePod("p").Priority(9));
  ASSERT_EQ(result.preemption->cleared_nominations.size(), 1u);
  EXPECT_EQ(result.preemption->cleared_nominations.front()->name, "low");
}

TEST_F(DefaultPreemptionTest, HasNothingToDoWhenAllVictimsAreOnTheirWay) {
  TestCluster cluster({MakeNode("n0")});
  cluster.Add(MakePod("v").Node("n0").Priority(1).Deleted(Time{}));
  handle_.nominated["n0"] = {MakePod("low").Priority(2).Info()};
  const auto pod = MakePod("p").Priority(9).Info();
  const auto result = plugin_.PostFilter(cluster.cycle(), *pod, filters_, filters_);
  EXPECT_EQ(result.nominated_node_name, "n0");
  EXPECT_TRUE(result.preemption->cleared_nominations.empty());
  EXPECT_TRUE(handle_.started.empty());
  EXPECT_TRUE(plugin_.PreEnqueue(*pod).IsSuccess());
}

TEST_F(DefaultPreemptionTest, HoldsThePreemptorBack) {
  const auto pod = MakePod("p").Priority(9).Info();
  EXPECT_TRUE(plugin_.PreEnqueue(*pod).IsSuccess());
  ASSERT_TRUE(Run(MakePod("p").Priority(9)).status.IsSuccess());
  EXPECT_EQ(TestCluster::Describe(plugin_.PreEnqueue(*pod)),
            "UnschedulableAndUnresolvable: waiting for the preemption for this pod to be finished");
  EXPECT_TRUE(plugin_.PreEnqueue(*MakePod("other").Info()).IsSuccess());
}

TEST_F(DefaultPreemptionTest, AnErrorIsAnError) {
  filters_.on_remove = Status::Error("boom");
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_EQ(TestCluster::Describe(result.status), "Error: preemption: boom");
  EXPECT_FALSE(result.has_nomination);
}

TEST_F(DefaultPreemptionTest, ErrorsAreListed) {
  filters_.again = [](const framework::NodeInfo&) { return Status(); };  // nobody has to go
  filters_.said[0] = Status::UnschedulableAndUnresolvable("x");
  EXPECT_EQ(TestCluster::Describe(Run(MakePod("p").Priority(9)).status),
            "Error: preemption: expected at least one victim pod on node \"n1\"");
  filters_.said[0] = Status::Unschedulable("x");
  const std::string message = Run(MakePod("p").Priority(9)).status.Message();
  EXPECT_TRUE(message ==
                  "preemption: [expected at least one victim pod on node \"n0\", expected at least one victim "
                  "pod on node \"n1\"]" ||
              message ==
                  "preemption: [expected at least one victim pod on node \"n1\", expected at least one victim "
                  "pod on node \"n0\"]")
      << message;
}

TEST_F(DefaultPreemptionTest, AnErrorOnOneNodeDoesNotKeepItFromAnother) {
  filters_.again = [](const framework::NodeInfo& node) {
    if (node.name() == "n0") return Status::Error("boom");
    return node.pods().empty() ? Status() : Status::Unschedulable("Insufficient cpu");
  };
  EXPECT_EQ(Run(MakePod("p").Priority(9)).nominated_node_name, "n1");
}

TEST_F(DefaultPreemptionTest, PolicyNever) {
  const auto result = Run(MakePod("p").Priority(9).NeverPreempts().Nominated("n0"));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: not eligible due to preemptionPolicy=Never.");
  EXPECT_FALSE(result.has_nomination);
  EXPECT_EQ(result.preemption, nullptr);
}

TEST_F(DefaultPreemptionTest, WaitsForItsVictims) {
  const api::PodCondition evicted{"DisruptionTarget", "True", "PreemptionByScheduler", ""};
  const auto victim = [&] { return MakePod("v").Node("n2").Priority(1); };
  const struct {
    const char* name;
    testing::PodBuilder victim;
    bool node_is_hopeless;
    bool want_eligible;
  } cases[] = {
      {"victim is terminating", victim().Deleted(Time{}).Condition(evicted), false, false},
      {"not terminating yet", victim().Condition(evicted), false, true},
      {"terminating for another reason", victim().Deleted(Time{}), false, true},
      {"of higher priority", victim().Priority(10).Deleted(Time{}).Condition(evicted), false, true},
      {"the node can never take the pod", victim().Deleted(Time{}).Condition(evicted), true, true},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({MakeNode("n2")});
    cluster.Add(test.victim);
    FakeFilters filters;
    filters.said[0] = test.node_is_hopeless ? Status::UnschedulableAndUnresolvable("x") : Status::Unschedulable("x");
    const auto result =
        plugin_.PostFilter(cluster.cycle(), *MakePod("p").Priority(9).Nominated("n2").Info(), filters, filters);
    const bool is_refused =
        result.status.Message() == "preemption: not eligible due to a terminating pod on the nominated node.";
    EXPECT_EQ(is_refused, !test.want_eligible) << result.status.Message();
    const bool waits = result.preemption != nullptr && result.preemption->waits_for_victims;
    EXPECT_EQ(waits, !test.want_eligible);
  }
}

TEST_F(DefaultPreemptionTest, TriesAgainWhenTheLastVictimHasLeft) {
  const api::PodCondition evicted{"DisruptionTarget", "True", "PreemptionByScheduler", ""};
  const auto victim = [&](const char* name) { return MakePod(name).Node("n2").Deleted(Time{}).Condition(evicted); };
  using enum framework::QueueingHint;
  const struct {
    const char* name;
    testing::PodBuilder gone;
    const char* nominated_node;
    bool has_other_victim;
    framework::QueueingHint want;
  } cases[] = {
      {"the last victim", victim("v"), "n2", false, kQueue},
      {"another one is still there", victim("v"), "n2", true, kSkip},
      {"nominated for another node", victim("v"), "n1", false, kSkip},
      {"not nominated: an extender or an error kept it from preempting", victim("v"), "", false, kQueue},
      {"of higher priority", victim("v").Priority(10), "n2", false, kSkip},
      {"gone for another reason", MakePod("v").Node("n2").Deleted(Time{}), "n2", false, kQueue},
      {"it had no node", MakePod("v").Condition(evicted), "n2", false, kSkip},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({MakeNode("n1"), MakeNode("n2")});
    if (test.has_other_victim) cluster.Add(victim("other"));
    const auto pod = MakePod("p").Priority(9).Info();
    handle_.table = &cluster.table();
    handle_.nominated = {{test.nominated_node, {pod}}};
    EXPECT_EQ(HintFor(plugin_, {framework::EventResource::kAssignedPod, framework::action::kDelete}, *pod,
                      {.old_pod = test.gone.Info().get()}),
              test.want);
  }
}

// The API server may not have it yet.
TEST_F(DefaultPreemptionTest, WaitsByANominationInMemoryAndKeepsIt) {
  const auto pod = MakePod("p").Priority(9).Info();
  TestCluster cluster({MakeNode("n1")});
  cluster.Add(
      MakePod("v").Node("n1").Deleted(Time{}).Condition({"DisruptionTarget", "True", "PreemptionByScheduler", ""}));
  FakeFilters filters;
  filters.said[0] = Status::Unschedulable("x");
  handle_.nominated["n1"] = {pod};
  const auto result = plugin_.PostFilter(cluster.cycle(), *pod, filters, filters);
  ASSERT_NE(result.preemption, nullptr);
  EXPECT_TRUE(result.preemption->waits_for_victims);
  EXPECT_TRUE(result.has_nomination);
  EXPECT_EQ(result.nominated_node_name, "n1");
}

// The priority of a pod of a group is the group's, also where it is on its way out.
TEST_F(DefaultPreemptionTest, WaitsForVictimsOfLessImportantGroups) {
  auto group = std::make_shared<api::PodGroup>();
  group->metadata.name = "g";
  group->metadata.namespace_name = "default";
  cache::PodGroupStates groups(handle_.store, false);
  for (const std::int32_t priority : {1, 20}) {
    group->priority = priority;
    handle_.store.Set(std::make_shared<const api::PodGroup>(*group));
    handle_.groups = &groups;
    TestCluster cluster({MakeNode("n2")});
    cluster.Add(MakePod("v")
                    .Node("n2")
                    .Priority(21 - priority)
                    .InGroup("g")
                    .Deleted(Time{})
                    .Condition({"DisruptionTarget", "True", "PreemptionByScheduler", ""}));
    FakeFilters filters;
    filters.said[0] = Status::Unschedulable("x");
    const auto result =
        plugin_.PostFilter(cluster.cycle(), *MakePod("p").Priority(9).Nominated("n2").Info(), filters, filters);
    EXPECT_EQ(result.status.Message() == "preemption: not eligible due to a terminating pod on the nominated node.",
              priority < 9)
        << result.status.Message();
  }
}

}  // namespace
}  // namespace berth::plugins
