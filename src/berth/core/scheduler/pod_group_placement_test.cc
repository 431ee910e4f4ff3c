// SPDX-License-Identifier: Apache-2.0
// Topology placements of pod groups, from end to end in the core.
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using Strings = std::vector<std::string>;

class PodGroupPlacementTest : public ::testing::Test {
 protected:
  // Nodes of 4 CPUs each, named after their rack.
  void AddRack(const std::string& rack, int nodes) {
    for (int i = 0; i < nodes; ++i) h_.Set(MakeNode(rack + "-" + std::to_string(i)).Label("rack", rack));
  }
  void AddGang(int size, const std::string& cpu = "4") {
    api::PodGroup group = Gang("g", size);
    group.topology_keys = {"rack"};
    h_.Set(group);
    h_.AddMembers("g", size, cpu);
  }
  static std::set<std::string> Racks(const Written& written) {
    std::set<std::string> racks;
    for (const auto& [pod, node] : written.bound) racks.insert(node.substr(0, node.find('-')));
    return racks;
  }

  GroupHarness h_{{"TopologyAwareWorkloadScheduling=true"}};
};

TEST_F(PodGroupPlacementTest, AGangStaysInOneRack) {
  AddRack("a", 2);
  AddRack("b", 3);
  AddRack("c", 2);
  AddGang(3);
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound.size(), 3u);
  EXPECT_EQ(Racks(written), (std::set<std::string>{"b"}));
  EXPECT_EQ(h_.core.cache().nodes().node_count(), 7u) << "no node stays hidden";
  EXPECT_EQ(h_.core.cache().pod_count(), 3u);
}

TEST_F(PodGroupPlacementTest, NoRackIsLargeEnough) {
  AddRack("a", 2);
  AddRack("b", 2);
  AddGang(3);
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty());
  ASSERT_EQ(written.conditions.size(), 1u);
  EXPECT_EQ(written.conditions[0].find("g False Unschedulable: pod group is unschedulable, 0/2 placements are "
                                       "available, first placement status: minCount (3) cannot be satisfied: 2 "
                                       "scheduled, 0 remaining, "),
            0u)
      << written.conditions[0];
  EXPECT_EQ(written.failed.at("g-2").find("Unschedulable: 0/2 nodes are available"), 0u) << written.failed.at("g-2");
  EXPECT_EQ(h_.core.cache().nodes().node_count(), 4u);
}

TEST_F(PodGroupPlacementTest, NodesWithoutTheLabelAreLeftOut) {
  h_.Set(MakeNode("plain"));
  AddGang(1);
  const Written written = h_.Cycle();
  ASSERT_EQ(written.conditions.size(), 1u);
  EXPECT_EQ(written.conditions[0].find("g False Unschedulable: no feasible placements found, "), 0u)
      << written.conditions[0];
}

TEST_F(PodGroupPlacementTest, TheRackOfRunningMembersIsTheGroups) {
  AddRack("a", 4);
  AddRack("b", 2);
  api::PodGroup group = Gang("g", 1);
  group.topology_keys = {"rack"};
  h_.Set(group);
  h_.Set(h_.Member("g", 0, "4").Node("b-0"));
  h_.AddMembers("g", 1, "4", 1);
  EXPECT_EQ(Racks(h_.Cycle()), (std::set<std::string>{"b"}));
}

TEST_F(PodGroupPlacementTest, MorePodsAreBetterThanFewer) {
  AddRack("a", 1);
  AddRack("b", 2);
  AddRack("c", 1);
  api::PodGroup group = Gang("g", 1);
  group.topology_keys = {"rack"};
  h_.Set(group);
  h_.AddMembers("g", 2, "4");
  EXPECT_EQ(Racks(h_.Cycle()), (std::set<std::string>{"b"}));
}

// Rack a has one small node, which a single member fills; on b both members run and much stays free. With so many
// members and placements, not all results are kept.
TEST_F(PodGroupPlacementTest, TheBestOfManyPlacementsOfALargeGroup) {
  for (const char* rack : {"a", "b", "c"}) AddRack(rack, 1);
  AddRack("d", 2);
  constexpr int kMembers = 5'100;
  api::PodGroup group = Basic("g");
  group.topology_keys = {"rack"};
  h_.Set(group);
  h_.AddMembers("g", kMembers, "4");
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound.size(), 2u);
  EXPECT_EQ(Racks(written), (std::set<std::string>{"d"}));
  EXPECT_EQ(written.failed.size(), kMembers - 2u) << "each of the others is told why it waits";
  EXPECT_EQ(h_.core.cache().pod_count(), 2u);
}

TEST_F(PodGroupPlacementTest, WeightsAreTheConfigurations) {
  using config::ExtensionPoint;
  struct Case {
    const char* name;
    std::vector<config::PluginRef> enabled;
    std::vector<std::string> disabled;
    const char* want;
  };
  const Case cases[] = {
      {"by default both count once", {}, {}, "b"},
      {"a weight at placementScore", {{"NodeResourcesFit", 10}}, {}, "a"},
      {"a plugin without it", {}, {"PodGroupPodsCount"}, "a"},
      {"all but one", {{"PodGroupPodsCount"}}, {"*"}, "b"},
      {"none", {}, {"*"}, ""},
  };
  for (const Case& c : cases) {
    config::Plugins sets;
    sets.points[ExtensionPoint::kPlacementScore] = {c.enabled, c.disabled};
    GroupHarness h({"TopologyAwareWorkloadScheduling=true"}, PatientOptions(), sets);
    h.Set(MakeNode("a-0").Label("rack", "a"));
    for (const char* name : {"b-0", "b-1"}) h.Set(MakeNode(name).Label("rack", "b").Allocatable("cpu", "8"));
    api::PodGroup group = Gang("g", 1);
    group.topology_keys = {"rack"};
    h.Set(group);
    h.AddMembers("g", 2, "4");
    const std::set<std::string> racks = Racks(h.Cycle());
    EXPECT_EQ(racks.size(), 1U) << c.name;
    if (c.want[0] == '\0') continue;
    EXPECT_EQ(*racks.begin(), c.want) << c.name;
  }
}

TEST_F(PodGroupPlacementTest, WeightsAtScoreAreAnotherMatter) {
  config::Plugins sets;
  sets.points[config::ExtensionPoint::kScore].enabled = {{"NodeResourcesFit", 10}};
  GroupHarness h({"TopologyAwareWorkloadScheduling=true"}, PatientOptions(), sets);
  h.Set(MakeNode("a-0").Label("rack", "a"));
  for (const char* name : {"b-0", "b-1"}) h.Set(MakeNode(name).Label("rack", "b").Allocatable("cpu", "8"));
  api::PodGroup group = Gang("g", 1);
  group.topology_keys = {"rack"};
  h.Set(group);
  h.AddMembers("g", 2, "4");
  EXPECT_EQ(Racks(h.Cycle()), (std::set<std::string>{"b"}));
}

TEST_F(PodGroupPlacementTest, WithoutItsGeneratorAllNodesAreOnePlacement) {
  config::Plugins sets;
  sets.points[config::ExtensionPoint::kPlacementGenerate].disabled = {"*"};
  GroupHarness h({"TopologyAwareWorkloadScheduling=true"}, PatientOptions(), sets);
  for (const char* name : {"a-0", "b-0"}) h.Set(MakeNode(name).Label("rack", std::string(1, name[0])));
  api::PodGroup group = Gang("g", 2);
  group.topology_keys = {"rack"};
  h.Set(group);
  h.AddMembers("g", 2, "4");
  EXPECT_EQ(Racks(h.Cycle()), (std::set<std::string>{"a", "b"}));
}

// Since 1.38. Rack b has room for both members and is the better one; a is that of the nomination.
TEST(PodGroupPlacementNewest, TheNominatedRackIsTriedFirst) {
  const auto racks_of = [](int release, const std::string& nominated, const std::string& cpu_on_a) {
    GroupHarness h(ProfilesOf(
        {.release_minor = release, .gates = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true"}}));
    h.Set(MakeNode("a-0").Label("rack", "a").Allocatable("cpu", cpu_on_a));
    for (const char* name : {"b-0", "b-1"}) h.Set(MakeNode(name).Label("rack", "b"));
    api::PodGroup group = Gang("g", 1);
    group.topology_keys = {"rack"};
    h.Set(group);
    h.Set(h.Member("g", 0, "4").Nominated(nominated));
    h.Set(h.Member("g", 1, "4"));
    std::set<std::string> racks;
    for (const auto& [pod, node] : h.Cycle().bound) racks.insert(node.substr(0, node.find('-')));
    return racks;
  };
  EXPECT_EQ(racks_of(38, "a-0", "4"), std::set<std::string>{"a"});
  EXPECT_EQ(racks_of(37, "a-0", "4"), std::set<std::string>{"b"});
  EXPECT_EQ(racks_of(38, "gone", "4"), std::set<std::string>{"b"});
  EXPECT_EQ(racks_of(38, "a-0", "1"), std::set<std::string>{"b"}) << "no member fits on a";
}

// Since 1.38 it is a point of the configuration; before, GangScheduling is asked in any case.
TEST(PodGroupPlacementNewest, WhoSaysWhetherAGroupCanStillBePlaced) {
  config::Plugins nobody;
  nobody.points[config::ExtensionPoint::kPlacementFeasible].disabled = {"*"};
  for (const auto& [release, sets, want] :
       {std::tuple{37, config::Plugins{}, 0U}, {37, nobody, 0U}, {38, config::Plugins{}, 0U}, {38, nobody, 2U}}) {
    GroupHarness h(ProfilesOf({.release_minor = release, .gates = {"GenericWorkload=true"}}, sets));
    for (const char* node : {"a", "b"}) h.Set(MakeNode(node));
    h.Set(Gang("g", 3));
    h.AddMembers("g", 3, "4");
    EXPECT_EQ(h.Cycle().bound.size(), want) << release << " of three, for two of which there is room";
  }
}

TEST(PodGroupPlacementNewest, AnEmptyLabelIsNoRack) {
  for (const int release : {37, 38}) {
    GroupHarness h(ProfilesOf(
        {.release_minor = release, .gates = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true"}}));
    h.Set(MakeNode("n").Label("rack", ""));
    api::PodGroup group = Gang("g", 1);
    group.topology_keys = {"rack"};
    h.Set(group);
    h.AddMembers("g", 1);
    EXPECT_EQ(h.Cycle().bound.size(), release == 37 ? 1u : 0u) << release;
  }
}

TEST_F(PodGroupPlacementTest, WithoutAConstraintAllNodesAreOnePlacement) {
  AddRack("a", 2);
  AddRack("b", 2);
  h_.Set(Gang("g", 3));
  h_.AddMembers("g", 3, "4");
  EXPECT_EQ(h_.Cycle().bound.size(), 3u);
}

}  // namespace
}  // namespace berth::scheduler
