// SPDX-License-Identifier: Apache-2.0
// Composite pod groups from end to end in the core: waiting for the tree, the cycle, placements, preemption,
// conditions.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using Map = std::map<std::string, std::string>;
using Set = std::set<std::string>;
using Strings = std::vector<std::string>;

constexpr const char* kNoVictims = "pod group preemption: No preemption victims found for incoming preemptor";

class CompositePodGroupTest : public ::testing::Test {
 protected:
  // Each node has 4 CPUs.
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) h_.Set(MakeNode("n" + std::to_string(i)));
  }
  void AddRack(const std::string& rack, int nodes, const std::string& row = "r") {
    for (int i = 0; i < nodes; ++i)
      h_.Set(MakeNode(rack + "-" + std::to_string(i)).Label("rack", rack).Label("row", row));
  }
  static Set Keys(const Map& map) {
    Set keys;
    for (const auto& [key, value] : map) keys.insert(key);
    return keys;
  }
  static Set Racks(const Written& written) {
    Set racks;
    for (const auto& [pod, node] : written.bound) racks.insert(node.substr(0, node.find('-')));
    return racks;
  }
  // The cluster is unchanged: only bound pods are on nodes.
  std::size_t PodsOnNodes() { return h_.core.cache().pod_count(); }

  GroupHarness h_{kCompositeGates};
};

TEST_F(CompositePodGroupTest, AnotherGroupOfTheSameNameMayWantFewer) {
  AddNodes(1);
  h_.Set(Composite("top", 2));
  h_.Set(Within("top", Gang("a", 2)));
  h_.AddMembers("a", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  api::CompositePodGroup another = Composite("top", 1);
  another.metadata.uid = "another";
  h_.Set(another);
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(CompositePodGroupTest, AllGroupsAreBoundInOneCycle) {
  AddNodes(2);
  h_.Set(Composite("top", 2));
  h_.Set(Within("top", Gang("a", 2)));
  h_.Set(Within("top", Gang("b", 1)));
  h_.AddMembers("a", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready)) << "b has no pod yet";
  EXPECT_EQ(h_.core.queue().Find("uid-default-a-0")->gating_message,
            "waiting for composite pod group \"top\" tree to meet quorum");
  h_.AddMembers("b", 1);
  const Written written = h_.Cycle();
  EXPECT_EQ(Keys(written.bound), (Set{"a-0", "a-1", "b-0"}));
  EXPECT_EQ(written.conditions, (Strings{"a True Scheduled: ", "b True Scheduled: "}));
  EXPECT_EQ(h_.core.queue().Dump().size(), 0u);
}

TEST_F(CompositePodGroupTest, PodsWaitForAllObjectsAbove) {
  AddNodes(1);
  h_.Set(Within("middle", Gang("a", 1)));
  h_.AddMembers("a", 1);
  const auto lacks = [&] { return h_.core.queue().Find("uid-default-a-0")->lacks_pod_group; };
  EXPECT_TRUE(lacks());
  h_.Set(Composite("middle", 1, "top"));
  EXPECT_TRUE(lacks());
  h_.Set(Composite("top", 1));
  EXPECT_FALSE(lacks());
  h_.RemoveComposite("top");
  EXPECT_TRUE(lacks());
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.Set(Composite("top", 1));
  EXPECT_EQ(h_.Cycle().bound.size(), 1u);
}

TEST_F(CompositePodGroupTest, GroupsInACircleWait) {
  AddNodes(1);
  h_.Set(Within("x", Gang("a", 1)));
  h_.Set(Composite("x", 1, "y"));
  h_.AddMembers("a", 1);
  h_.Set(Composite("y", 1, "x"));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  EXPECT_TRUE(h_.core.queue().Find("uid-default-a-0")->lacks_pod_group);
  h_.RemoveComposite("y");
  h_.Set(Composite("y", 1));
  EXPECT_EQ(h_.Cycle().bound.size(), 1u);
}

TEST_F(CompositePodGroupTest, AGroupThatDoesNotFitTakesTheOthersWithIt) {
  AddNodes(1);
  h_.Set(Composite("top", 2));
  h_.Set(Within("top", Gang("a", 2)));
  h_.Set(Within("top", Gang("b", 3)));
  h_.AddMembers("a", 2);
  h_.AddMembers("b", 3);
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty());
  EXPECT_EQ(PodsOnNodes(), 0u);
  const std::string of_top = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining";
  const std::string first = "pod group is unschedulable, 0/1 placements are available, first placement status: ";
  const std::string of_b = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining";
  // Group a shares top's verdict: each reason is added to it once for each of the two groups.
  EXPECT_EQ(written.conditions,
            (Strings{"a False Unschedulable: " + first + of_top + ", " + kNoVictims + ", " + kNoVictims,
                     "b False Unschedulable: " + first + of_b + ", " + kNoVictims}));
  EXPECT_EQ(written.failed.at("a-0"), "Unschedulable: " + first + of_top);
  EXPECT_EQ(written.failed.at("b-0").find("Unschedulable: pod group is unschedulable, " + first + of_b), 0u);
  EXPECT_EQ(written.failed.at("b-2").find("Unschedulable: 0/1 nodes are available: 1 Insufficient cpu"), 0u);
  EXPECT_EQ(h_.PodsIn(queue::Place::kErrorBackoff), 5u);
  AddNodes(3);
  h_.now += 3s;
  EXPECT_EQ(h_.Cycle().bound.size(), 5u);
}

TEST_F(CompositePodGroupTest, EnoughGroupsAreEnough) {
  AddNodes(1);
  h_.Set(Composite("top", 1));
  h_.Set(Within("top", Gang("a", 5)));
  h_.Set(Within("top", Gang("b", 2)));
  h_.AddMembers("a", 5);
  h_.AddMembers("b", 2);
  const Written written = h_.Cycle();
  EXPECT_EQ(Keys(written.bound), (Set{"b-0", "b-1"}));
  ASSERT_EQ(written.conditions.size(), 2u);
  EXPECT_EQ(written.conditions[0],
            "a False Unschedulable: pod group is unschedulable, 0/1 placements are available, first placement status: "
            "minCount (5) cannot be satisfied: 4 scheduled, 0 remaining");
  EXPECT_EQ(written.conditions[1], "b True Scheduled: ");
  // The members of group a return to activeQ at once.
  EXPECT_EQ(h_.PodsIn(queue::Place::kActive), 5u);
  const Written again = h_.Cycle();
  EXPECT_TRUE(again.bound.empty());
  EXPECT_EQ(PodsOnNodes(), 2u);
}

TEST_F(CompositePodGroupTest, ARefusedSubtreeGivesItsRoomBack) {
  AddNodes(1);
  h_.Set(Composite("top"));
  h_.Set(Composite("all", 2, "top"));
  h_.Set(Within("all", Gang("a", 3)));
  h_.Set(Within("all", Gang("b", 2)));
  h_.Set(Composite("late", 1, "top"));
  h_.Set(Within("late", Gang("c", 4)));
  h_.AddMembers("a", 3);
  h_.AddMembers("b", 2);
  h_.AddMembers("c", 4);
  const Written written = h_.Cycle();
  EXPECT_EQ(Keys(written.bound), (Set{"c-0", "c-1", "c-2", "c-3"})) << "a held three CPUs until b failed";
  ASSERT_EQ(written.conditions.size(), 3u);
  EXPECT_EQ(written.conditions[2], "c True Scheduled: ");
  EXPECT_EQ(PodsOnNodes(), 4u);
}

TEST_F(CompositePodGroupTest, TheOldestChildIsTriedFirst) {
  AddNodes(1);
  h_.Set(Composite("top"));
  api::PodGroup young = Within("top", Gang("a", 3)), old = Within("top", Gang("b", 3));
  young.metadata.creation_time = Time{} + std::chrono::hours(2);
  old.metadata.creation_time = Time{} + std::chrono::hours(1);
  h_.Set(young);
  h_.Set(old);
  h_.AddMembers("a", 3);
  h_.AddMembers("b", 3);
  EXPECT_EQ(Keys(h_.Cycle().bound), (Set{"b-0", "b-1", "b-2"}));
}

TEST_F(CompositePodGroupTest, FourLevels) {
  AddNodes(2);
  h_.Set(Composite("c1", 1));
  h_.Set(Composite("c2", 1, "c1"));
  h_.Set(Composite("c3", 2, "c2"));
  h_.Set(Within("c3", Gang("a", 2)));
  h_.Set(Within("c3", Gang("b", 2)));
  h_.AddMembers("a", 2, "2");
  h_.AddMembers("b", 2, "2");
  EXPECT_EQ(h_.Cycle().bound.size(), 4u);
}

TEST_F(CompositePodGroupTest, TheWholeTreeStaysInOneDomain) {
  AddRack("x", 2);
  AddRack("y", 4);
  api::CompositePodGroup top = Composite("top", 2);
  top.topology_keys = {"rack"};
  h_.Set(top);
  h_.Set(Within("top", Gang("a", 2)));
  h_.Set(Within("top", Gang("b", 2)));
  h_.AddMembers("a", 2, "4");
  h_.AddMembers("b", 2, "4");
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound.size(), 4u);
  EXPECT_EQ(Racks(written), Set{"y"});
}

TEST_F(CompositePodGroupTest, ChildrenStayInDomainsWithinTheDomain) {
  // Row u has the largest total of racks, but no rack with two nodes.
  for (const char* rack : {"u1", "u2", "u3", "u4", "u5"}) AddRack(rack, 1, "u");
  AddRack("v1", 2, "v");
  AddRack("v2", 2, "v");
  api::CompositePodGroup top = Composite("top", 2);
  top.topology_keys = {"row"};
  h_.Set(top);
  for (const char* name : {"a", "b"}) {
    api::PodGroup leaf = Within("top", Gang(name, 2));
    leaf.topology_keys = {"rack"};
    h_.Set(leaf);
    h_.AddMembers(name, 2, "4");
  }
  const Written written = h_.Cycle();
  ASSERT_EQ(written.bound.size(), 4u);
  EXPECT_EQ(Racks(written), (Set{"v1", "v2"}));
  EXPECT_EQ(written.bound.at("a-0").substr(0, 2), written.bound.at("a-1").substr(0, 2));
  EXPECT_EQ(h_.core.cache().nodes().node_count(), 9u) << "all nodes are back";
}

TEST_F(CompositePodGroupTest, PodsThatRunElsewhereDecideTheDomain) {
  AddRack("x", 1, "one");
  AddRack("y", 2, "two");
  api::CompositePodGroup top = Composite("top");
  h_.Set(top);
  api::CompositePodGroup middle = Composite("middle", 0, "top");
  middle.topology_keys = {"row"};
  h_.Set(middle);
  api::PodGroup leaf = Within("middle", Basic("a"));
  leaf.topology_keys = {"rack"};
  h_.Set(leaf);
  h_.Set(h_.Member("a", 0, "3").Node("x-0"));
  h_.AddMembers("a", 1, "3", 1);
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty()) << "x is full, and a runs there";
  ASSERT_EQ(written.conditions.size(), 1u);
  EXPECT_EQ(written.conditions[0].find("SchedulerError"), std::string::npos) << written.conditions[0];
}

TEST_F(CompositePodGroupTest, ADomainThatTheGroupAboveDoesNotHave) {
  AddRack("x", 1, "one");
  AddRack("y", 2, "two");
  // Pod b of group top runs in row two, and a-0 of group a runs in rack x in row one. That cannot be satisfied, but is
  // no error.
  api::CompositePodGroup top = Composite("top");
  h_.Set(top);
  api::CompositePodGroup within = Composite("within", 0, "top");
  within.topology_keys = {"row"};
  h_.Set(within);
  api::PodGroup leaf = Within("within", Basic("a"));
  h_.Set(leaf);
  h_.Set(Within("within", Basic("b")));
  h_.Set(h_.Member("a", 0).Node("x-0"));
  h_.Set(h_.Member("b", 0).Node("y-0"));
  h_.AddMembers("a", 1, "1", 1);
  const Written written = h_.Cycle();
  ASSERT_EQ(written.conditions.size(), 2u);
  EXPECT_EQ(written.conditions[0].substr(0, 23), "a False SchedulerError:");
  EXPECT_NE(written.conditions[0].find("composite pod group evaluation failed due to child error: cannot determine "
                                       "domain for already scheduled pods: more than 1 domain found for pod group: "),
            std::string::npos)
      << written.conditions[0];
}

TEST_F(CompositePodGroupTest, AFifthLevelWithADomain) {
  AddRack("x", 1);
  api::CompositePodGroup top = Composite("c1", 1);
  top.topology_keys = {"rack"};
  h_.Set(top);
  h_.Set(Composite("c2", 1, "c1"));
  h_.Set(Composite("c3", 1, "c2"));
  h_.Set(Composite("c4", 1, "c3"));
  h_.Set(Within("c4", Gang("a", 1)));
  h_.AddMembers("a", 1);
  const Written written = h_.Cycle();
  EXPECT_EQ(written.conditions,
            (Strings{"a False SchedulerError: exceeded maximum hierarchy depth at podgroup/default/a"}));
}

TEST_F(CompositePodGroupTest, AllPodsOfTheTreeHaveToAgree) {
  AddNodes(1);
  api::CompositePodGroup top = Composite("top", 2);
  top.priority = 5;
  h_.Set(top);
  h_.Set(Within("top", Gang("a", 1)));
  h_.Set(Within("top", Gang("b", 1)));
  h_.priority = 5;
  h_.AddMembers("a", 1);
  h_.priority = 0;
  h_.AddMembers("b", 1);
  const Written written = h_.Cycle();
  const std::string text =
      "all pods in a single pod group should have the same priority as the pod group's priority, got 0 and 5";
  EXPECT_EQ(written.failed, (Map{{"a-0", "SchedulerError: " + text}, {"b-0", "SchedulerError: " + text}}));
  EXPECT_EQ(written.conditions, (Strings{"a False SchedulerError: " + text, "b False SchedulerError: " + text}));
}

// Since 1.38 groups have to agree with their root as well, and what is wrong is named with its place in the tree.
TEST(CompositePodGroupNewest, GroupsOfTheTreeHaveToAgree) {
  const auto failure_of = [](const api::CompositePodGroup& top, const api::PodGroup& child, std::int32_t priority) {
    std::vector<std::string> gates = kCompositeGates;
    gates.emplace_back("GenericWorkload=true");
    GroupHarness h(ProfilesOf({.release_minor = 38, .gates = gates}, {}, {}));
    h.Set(MakeNode("n"));
    h.Set(top);
    h.Set(child);
    h.priority = priority;
    h.AddMembers(child.metadata.name, 1);
    const Written written = h.Cycle();
    if (written.failed.empty()) return std::string();
    const std::string& text = written.failed.begin()->second;
    const std::string why = text.substr(text.find(": ") + 2);
    EXPECT_EQ(written.conditions,
              (Strings{"top False CompositePodGroupError: " + why, "a False PodGroupError: " + why}));
    return text;
  };
  api::CompositePodGroup top = Composite("top", 1);
  api::PodGroup child = Within("top", Gang("a", 1));
  EXPECT_EQ(failure_of(top, child, 0), "");
  EXPECT_EQ(failure_of(top, child, 5),
            "SchedulerError: all pods in a pod group hierarchy should have the same priority as the root pod group's "
            "priority, got 5 (\"a-0\") and 0 (\"compositepodgroup/default/top\")");
  EXPECT_EQ(failure_of(top, Within("top", Basic("a")), 0),
            "SchedulerError: gang parent \"compositepodgroup/default/top\" cannot have basic child "
            "\"podgroup/default/a\"");
  top.preemption_policy = api::PreemptionPolicy::kPreemptLowerPriority;
  child.preemption_policy = api::PreemptionPolicy::kNever;
  EXPECT_EQ(failure_of(top, child, 0),
            "SchedulerError: all pod groups in a hierarchy should have the same preemption policy, got Never "
            "(\"podgroup/default/a\") and PreemptLowerPriority");
  child.priority = 3;
  EXPECT_EQ(failure_of(top, child, 0),
            "SchedulerError: all pod groups in a hierarchy should have the same priority as the root pod group's "
            "priority, got 3 (\"podgroup/default/a\") and 0 (\"compositepodgroup/default/top\")");
  top.workload_name = "w";
  EXPECT_EQ(failure_of(top, child, 0),
            "SchedulerError: pod group workload does not match root workload, got: \"\" (\"podgroup/default/a\") and "
            "\"w\" (\"compositepodgroup/default/top\")");
  child = Within("top", Gang("a", 1));
  child.workload_name = "w";
  child.is_disrupted_singly = true;
  EXPECT_EQ(failure_of(top, child, 0), "");
  top.is_disrupted_whole = true;
  EXPECT_EQ(failure_of(top, child, 0),
            "SchedulerError: parent \"compositepodgroup/default/top\" with All disruption mode cannot have child "
            "\"podgroup/default/a\" with Single disruption mode");
}

TEST(CompositePodGroupNewest, TreesAreOfFourLevelsAtMost) {
  std::vector<std::string> gates = kCompositeGates;
  gates.emplace_back("GenericWorkload=true");
  GroupHarness h(ProfilesOf({.release_minor = 38, .gates = gates}, {}, {}));
  h.Set(MakeNode("n"));
  h.Set(Composite("c1", 1));
  for (int level = 2; level <= 4; ++level)
    h.Set(Composite("c" + std::to_string(level), 1, "c" + std::to_string(level - 1)));
  h.Set(Within("c4", Gang("a", 1)));
  h.AddMembers("a", 1);
  EXPECT_EQ(
      h.Cycle().failed,
      (Map{{"a-0",
            "SchedulerError: hierarchy depth exceeds maximum allowed depth 4 at \"compositepodgroup/default/c4\""}}));
}

TEST(CompositePodGroupNewest, CompositeGroupsHaveConditions) {
  std::vector<std::string> gates = kCompositeGates;
  gates.emplace_back("GenericWorkload=true");
  GroupHarness h(ProfilesOf({.release_minor = 38, .gates = gates}, {}, {}));
  h.Set(MakeNode("n0"));
  h.Set(Composite("top", 1));
  h.Set(Within("top", Gang("a", 1)));
  h.AddMembers("a", 1, "8");
  Strings conditions = h.Cycle().conditions;
  ASSERT_EQ(conditions.size(), 2u);
  EXPECT_EQ(conditions[0].find("top False Unschedulable: 0/1 placements are available, "), 0u) << conditions[0];
  h.Set(MakeNode("n1").Allocatable("cpu", "16"));
  h.now += 10s;
  EXPECT_EQ(h.Cycle().conditions, (Strings{"top True Scheduled: ", "a True Scheduled: "}));
}

TEST_F(CompositePodGroupTest, RunningGroupsCount) {
  AddNodes(2);
  h_.Set(Composite("top", 2));
  h_.Set(Within("top", Gang("a", 1)));
  h_.Set(Within("top", Gang("b", 1)));
  h_.Set(h_.Member("a", 0).Node("n0"));
  h_.AddMembers("b", 1);
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound.size(), 1u);
  EXPECT_EQ(written.conditions, (Strings{"a True Scheduled: ", "b True Scheduled: "}));
}

TEST_F(CompositePodGroupTest, NothingNewIsNoSuccess) {
  AddNodes(1);
  h_.Set(Composite("top", 1));
  h_.Set(Within("top", Gang("a", 1)));
  h_.Set(Within("top", Gang("b", 1)));
  h_.Set(h_.Member("a", 0).Node("n0"));
  h_.AddMembers("b", 1, "8");
  const Written written = h_.Cycle();
  ASSERT_EQ(written.conditions.size(), 2u);
  EXPECT_EQ(written.conditions[0].find("a False Unschedulable: pod group is unschedulable, "), 0u);
  EXPECT_EQ(h_.PodsIn(queue::Place::kErrorBackoff), 1u);
}

TEST_F(CompositePodGroupTest, MakesRoomForTheWholeTree) {
  AddNodes(2);
  for (const char* name : {"x", "y"})
    h_.Set(MakePod(name).Node(name == std::string("x") ? "n0" : "n1").Request("cpu", "3"));
  api::CompositePodGroup top = Composite("top", 2);
  top.priority = 10;
  h_.Set(top);
  h_.priority = 10;
  for (const char* name : {"a", "b"}) {
    h_.Set(Within("top", Gang(name, 1)));
    h_.AddMembers(name, 1, "4");
  }
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty());
  ASSERT_EQ(written.conditions.size(), 2u);
  EXPECT_NE(written.conditions[0].find("pod group preemption: found a placement for podgroup, preempting 2 victims"),
            std::string::npos);
  EXPECT_EQ(Keys(written.nominated), (Set{"a-0", "b-0"}));
  EXPECT_EQ(h_.PodsIn(queue::Place::kGated), 2u) << "until the victims are told";
  h_.now += 1s;
  const Written later = h_.Cycle();
  EXPECT_EQ(Set(later.evicted.begin(), later.evicted.end()), (Set{"x", "y"}));
  h_.Remove(MakePod("x"));
  h_.Remove(MakePod("y"));
  h_.now += 5s;
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(CompositePodGroupTest, ATreeThatIsDisruptedWholeGoesWhole) {
  AddNodes(2);
  h_.Set(MakeNode("n2").Allocatable("cpu", "3"));
  api::CompositePodGroup running = Composite("running");
  running.is_disrupted_whole = true;
  h_.Set(running);
  h_.Set(Within("running", Basic("r")));
  h_.Set(Within("running", Basic("s")));
  h_.Set(MakePod("r-0").Node("n0").Request("cpu", "3").InGroup("r"));
  h_.Set(MakePod("s-0").Node("n1").Request("cpu", "3").InGroup("s"));
  h_.Set(MakePod("x").Node("n2").Request("cpu", "3").Priority(5));
  api::PodGroup group = Gang("g", 1);
  group.priority = 10;
  h_.Set(group);
  h_.priority = 10;
  h_.AddMembers("g", 1, "4");
  h_.Cycle();
  h_.now += 1s;
  const Written later = h_.Cycle();
  EXPECT_EQ(Set(later.evicted.begin(), later.evicted.end()), (Set{"r-0", "s-0"}));
}

// As upstream, all members that fitted without the victims are nominated, also those of a group that failed.
TEST_F(CompositePodGroupTest, MembersOfAFailedGroupAreNominatedToo) {
  AddNodes(1);
  h_.Set(MakePod("x").Node("n0").Request("cpu", "3"));
  api::CompositePodGroup top = Composite("top", 1);
  top.priority = 10;
  h_.Set(top);
  h_.priority = 10;
  h_.Set(Within("top", Gang("a", 5)));
  h_.Set(Within("top", Gang("b", 2)));
  h_.AddMembers("a", 5);
  h_.AddMembers("b", 2);
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty());
  EXPECT_EQ(written.nominated.at("a-0"), "n0");
  EXPECT_EQ(written.nominated.at("b-1"), "n0");
}

TEST_F(CompositePodGroupTest, WithoutTheGateAGroupStandsForItself) {
  GroupHarness h({"TopologyAwareWorkloadScheduling=true"});
  h.Set(MakeNode("n0"));
  h.Set(Within("top", Gang("a", 1)));
  h.AddMembers("a", 1);
  EXPECT_EQ(h.Cycle().bound.size(), 1u);
}

}  // namespace
}  // namespace berth::scheduler
