// SPDX-License-Identifier: Apache-2.0
// Preemption by pod groups, from end to end in the core.
#include <set>

#include <gtest/gtest.h>

#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using Map = std::map<std::string, std::string>;
using Strings = std::vector<std::string>;

const char* const kClaims = "deallocation and deletion of ResourceClaims completed";

class PodGroupPreemptionTest : public ::testing::Test {
 protected:
  // Each node has 4 CPUs.
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) h_.Set(MakeNode("n" + std::to_string(i)));
  }
  testing::PodBuilder Running(const std::string& name, const std::string& node, const std::string& cpu,
                              std::int32_t priority = 0) {
    return MakePod(name).Node(node).Request("cpu", cpu).Priority(priority);
  }
  // A gang of `size` members, each of which needs a node of its own.
  void AddGang(int size, std::int32_t priority = 10) {
    api::PodGroup group = Gang("g", size);
    group.priority = priority;
    h_.Set(group);
    h_.priority = priority;
    h_.AddMembers("g", size, "4");
  }
  // A group with running pods.
  void SetGroup(const std::string& name, std::int32_t priority) {
    api::PodGroup group = Gang(name, 1);
    group.priority = priority;
    h_.Set(group);
  }
  std::set<std::string> Evicted(const Written& written) { return {written.evicted.begin(), written.evicted.end()}; }

  GroupHarness h_;
};

TEST_F(PodGroupPreemptionTest, MakesRoomForTheWholeGroup) {
  AddNodes(3);
  h_.Set(Running("a", "n0", "3"));
  h_.Set(Running("b", "n1", "3"));
  AddGang(3);
  const Written written = h_.Cycle();
  const std::string text =
      "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining, pod group preemption: found a placement for "
      "podgroup, preempting 2 victims";
  EXPECT_EQ(written.conditions, (Strings{"g False Unschedulable: " + text}));
  EXPECT_TRUE(written.bound.empty());
  EXPECT_EQ(written.nominated.size(), 3u);
  h_.now += 1s;
  EXPECT_EQ(Evicted(h_.Cycle()), (std::set<std::string>{"a", "b"}));
  h_.Remove(Running("a", "n0", "3"));
  h_.Remove(Running("b", "n1", "3"));
  h_.now += 5s;
  EXPECT_EQ(h_.Cycle().bound.size(), 3u);
}

// Since 1.38 the group's pods go where the least has to be evicted; before, where they would fit best if all were gone.
TEST(PodGroupPreemptionNewest, PodsGoWhereTheLeastIsEvicted) {
  for (const int release : {37, 38}) {
    GroupHarness h(ProfilesOf({.release_minor = release, .gates = {"GenericWorkload=true"}}));
    h.Set(MakeNode("large").Allocatable("cpu", "8"));
    h.Set(MakeNode("small"));
    for (const char* name : {"a", "b"}) h.Set(MakePod(name).Node("large").Request("cpu", "3").Priority(5));
    h.Set(MakePod("c").Node("small").Request("cpu", "3"));
    api::PodGroup group = Gang("g", 1);
    group.priority = h.priority = 10;
    h.Set(group);
    h.AddMembers("g", 1, "3");
    EXPECT_EQ(h.Cycle().nominated, (Map{{"g-0", release == 37 ? "large" : "small"}})) << release;
  }
}

TEST_F(PodGroupPreemptionTest, SparesWhoNeedNotGo) {
  // If they were empty, the two large nodes would be the best.
  for (const char* node : {"n0", "n2"}) h_.Set(MakeNode(node).Allocatable("cpu", "8"));
  h_.Set(MakeNode("n1"));
  h_.Set(Running("a", "n0", "3"));
  h_.Set(Running("also-a", "n0", "4", 5));
  h_.Set(Running("b", "n1", "3"));
  h_.Set(Running("c", "n2", "7"));
  AddGang(2);
  h_.Cycle();
  h_.now += 1s;
  EXPECT_EQ(Evicted(h_.Cycle()), (std::set<std::string>{"a", "c"}));
}

// Of equally good victims the first on their node goes, so that a trial must not change their order.
TEST_F(PodGroupPreemptionTest, ATrialKeepsTheOrderOfANodesPods) {
  AddNodes(2);
  const auto names = [this] {
    Strings found;
    for (const auto& pod : h_.core.cache().nodes().Info(h_.core.cache().nodes().Find("n0")).pods())
      found.push_back(pod->name);
    return found;
  };
  // "spared" is put back within the trial.
  h_.Set(Running("c", "n0", "2"));
  h_.Set(Running("a", "n0", "1"));
  h_.Set(Running("spared", "n0", "0", 5));
  h_.Set(Running("b", "n0", "1"));
  const Strings before = names();
  h_.Set(Running("last", "n1", "3"));
  AddGang(2);
  EXPECT_EQ(h_.Cycle().nominated.size(), 2u);
  EXPECT_EQ(names(), before);
}

TEST_F(PodGroupPreemptionTest, NoneIsEvictedForAPartOfTheGroup) {
  AddNodes(2);
  h_.Set(Running("a", "n0", "3"));
  h_.Set(Running("b", "n1", "3", 20));
  AddGang(2);
  const Written written = h_.Cycle();
  ASSERT_EQ(written.conditions.size(), 1u);
  EXPECT_EQ(written.conditions[0],
            std::string("g False Unschedulable: minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, ") +
                kClaims + ", pod group preemption: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining");
  h_.now += 1s;
  EXPECT_TRUE(h_.Cycle().evicted.empty());
  EXPECT_EQ(h_.core.cache().pod_count(), 2u) << "the trial put everything back";
}

TEST_F(PodGroupPreemptionTest, WithoutVictimsItSaysSo) {
  AddNodes(1);
  AddGang(2);
  const Written written = h_.Cycle();
  EXPECT_EQ(written.conditions,
            (Strings{"g False Unschedulable: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, pod group "
                     "preemption: No preemption victims found for incoming preemptor"}));
}

TEST_F(PodGroupPreemptionTest, AGroupThatIsDisruptedWholeGoesWhole) {
  AddNodes(2);
  h_.Set(MakeNode("n2").Allocatable("cpu", "3"));
  api::PodGroup running = Gang("r", 1);
  running.is_disrupted_whole = true;
  h_.Set(running);
  h_.Set(Running("r-0", "n0", "3").InGroup("r"));
  h_.Set(Running("r-1", "n1", "3").InGroup("r"));
  h_.Set(Running("x", "n2", "3", 5));
  AddGang(1);
  h_.Cycle();
  h_.now += 1s;
  EXPECT_EQ(Evicted(h_.Cycle()), (std::set<std::string>{"r-0", "r-1"}));
}

// Evicting the group's pod on one node costs less than evicting the important pod on the other.
TEST_F(PodGroupPreemptionTest, ASinglePodTakesAGroupWhole) {
  AddNodes(3);
  api::PodGroup running = Gang("r", 1);
  running.is_disrupted_whole = true;
  h_.Set(running);
  h_.Set(Running("r-0", "n0", "3").InGroup("r"));
  h_.Set(Running("r-1", "n1", "3", 0).InGroup("r"));
  h_.Set(Running("x", "n1", "1", 10));
  h_.Set(Running("y", "n2", "3", 5));
  h_.Set(MakePod("single").Request("cpu", "2").Priority(10));
  const Written written = h_.Cycle();
  EXPECT_EQ(written.failed.at("single").substr(0, 60), "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu. ");
  EXPECT_NE(written.failed.at("single").find("preempting 2 victims"), std::string::npos) << written.failed.at("single");
  h_.now += 1s;
  EXPECT_EQ(Evicted(h_.Cycle()), (std::set<std::string>{"r-0", "r-1"}));
}

TEST_F(PodGroupPreemptionTest, ThePriorityOfTheirGroupCountsAndNotThatOfTheVictims) {
  AddNodes(2);
  SetGroup("low", 0);
  h_.Set(Running("l-0", "n0", "3", 50).InGroup("low"));
  SetGroup("high", 50);
  h_.Set(Running("h-0", "n1", "3", 50).InGroup("high"));
  AddGang(1);
  h_.Cycle();
  h_.now += 1s;
  EXPECT_EQ(Evicted(h_.Cycle()), (std::set<std::string>{"l-0"}));
}

TEST_F(PodGroupPreemptionTest, ASinglePodSparesAGroupOfItsPriority) {
  AddNodes(1);
  SetGroup("r", 10);
  h_.Set(Running("r-0", "n0", "3", 0).InGroup("r"));
  h_.Set(MakePod("single").Request("cpu", "2").Priority(10));
  EXPECT_NE(h_.Cycle().failed.at("single").find("No preemption victims found for incoming pod"), std::string::npos);
}

// A running pod's anti-affinity covers the whole zone: putting it back on its own node would refuse the group.
TEST_F(PodGroupPreemptionTest, APodThatRepelsTheGroupFromAfarHasToGo) {
  for (const char* node : {"n0", "n1"}) h_.Set(MakeNode(node).Label("zone", "a"));
  api::PodAffinityTerm term;
  term.topology_key = "zone";
  term.selector = api::LabelSelector{{{"job", api::SelectorOperator::kIn, {"g"}, {}}}};
  h_.Set(Running("a", "n0", "3"));
  h_.Set(Running("hermit", "n1", "3").AntiAffinity(term));
  api::PodGroup group = Gang("g", 1);
  group.priority = 10;
  h_.Set(group);
  h_.priority = 10;
  h_.Set(h_.Member("g", 0, "4").Label("job", "g"));
  h_.Cycle();
  h_.now += 1s;
  EXPECT_EQ(Evicted(h_.Cycle()).count("hermit"), 1u);
}

TEST_F(PodGroupPreemptionTest, NeverMeansNever) {
  AddNodes(1);
  h_.Set(Running("a", "n0", "3"));
  api::PodGroup group = Gang("g", 1);
  group.priority = 10;
  h_.Set(group);
  h_.priority = 10;
  h_.Set(h_.Member("g", 0, "4").NeverPreempts());
  const Written written = h_.Cycle();
  ASSERT_EQ(written.conditions.size(), 1u);
  EXPECT_NE(written.conditions[0].find("pod group preemption: not eligible due to preemptionPolicy=Never."),
            std::string::npos);
}

TEST_F(PodGroupPreemptionTest, TheGroupSaysWhetherItPreempts) {
  GroupHarness h({"PodGroupPreemptionPolicy=true"});
  h.Set(MakeNode("n0"));
  h.Set(Running("a", "n0", "3"));
  api::PodGroup group = Gang("g", 1);
  group.priority = 10;
  group.preemption_policy = api::PreemptionPolicy::kNever;
  h.Set(group);
  h.priority = 10;
  h.Set(h.Member("g", 0, "4"));
  EXPECT_EQ(h.Cycle().failed.at("g-0"),
            "SchedulerError: all pods in a single pod group should have the same preemption policy as the pod group's "
            "preemption policy, got PreemptLowerPriority and Never");
}

TEST_F(PodGroupPreemptionTest, TheGroupIsHeldBackMeanwhile) {
  AddNodes(1);
  h_.Set(Running("a", "n0", "3"));
  AddGang(1);
  h_.Cycle();
  EXPECT_EQ(h_.PodsIn(queue::Place::kGated), 1u);
  EXPECT_EQ(h_.core.queue().Find("uid-default-g-0")->gating_message,
            "waiting for the preemption for this pod group to be finished");
}

// An event wakes the group before the API server has answered the nominations: the group still waits for its victims.
TEST_F(PodGroupPreemptionTest, WhatItIsNominatedForCountsBeforeItsObjectsSayIt) {
  AddNodes(4);
  for (const int i : {0, 1, 2, 3}) h_.Set(Running("r" + std::to_string(i), "n" + std::to_string(i), "3"));
  AddGang(2);
  const Written first = h_.Cycle();
  ASSERT_EQ(first.nominated.size(), 2u);
  h_.now += 1s;
  const std::set<std::string> victims = Evicted(h_.Cycle());
  ASSERT_EQ(victims.size(), 2u);
  for (const std::string& name : victims) {
    h_.Set(Running(name, "n" + name.substr(1), "3")
               .Deleted(Time{std::chrono::seconds(1000)})
               .Condition({"DisruptionTarget", "True", "PreemptionByScheduler", ""}));
  }
  h_.now += 60s;
  h_.handle->Activate("uid-default-g-0");
  Written again = h_.Cycle();
  EXPECT_TRUE(h_.is_ready);
  for (const auto& [pod, node] : again.nominated) EXPECT_EQ(node, first.nominated.at(pod));
  for (int i = 0; i < 5; ++i) {
    h_.now += 1s;
    const Written later = h_.Cycle();
    again.evicted.insert(again.evicted.end(), later.evicted.begin(), later.evicted.end());
  }
  EXPECT_EQ(Evicted(again), std::set<std::string>());
  for (const std::string& name : victims) h_.Remove(Running(name, "n" + name.substr(1), "3"));
  h_.now += 10s;
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

}  // namespace
}  // namespace berth::scheduler
