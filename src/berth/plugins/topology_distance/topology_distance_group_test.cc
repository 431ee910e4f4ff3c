// SPDX-License-Identifier: Apache-2.0
// TopologyDistance in the cycles of whole pod groups, with all that a core has.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/scheduler/pod_group_testing.h"
#include "berth/plugins/topology_distance/topology_distance_testing.h"

namespace berth::plugins {
namespace {

using scheduler::Gang;
using scheduler::GroupHarness;
using scheduler::Written;

config::Plugins WithPlugin() {
  config::Plugins sets;
  sets.multi_point.enabled = {{"TopologyDistance", 1600}};
  return sets;
}
std::vector<config::PluginConfig> Args() {
  return {{"TopologyDistance", config::RawArgs{R"({"levels":[{"key":"example.com/rack","distance":1},)"
                                               R"({"key":"example.com/block","distance":3}]})"}}};
}
std::unique_ptr<GroupHarness> MakeHarness(bool with_plugin, const std::vector<std::string>& gates = {}) {
  if (!with_plugin) return std::make_unique<GroupHarness>(gates);
  return std::make_unique<GroupHarness>(gates, scheduler::PatientOptions(), WithPlugin(), Args());
}

// Node "b0-r1-n2" has room for one pod of 3 CPUs.
void AddRack(GroupHarness& h, const std::string& block, const std::string& rack, int nodes = 4) {
  for (int n = 0; n < nodes; ++n) {
    h.Set(testing::MakeNode(block + "-" + rack + "-n" + std::to_string(n)).Label(kBlock, block).Label(kRack, rack));
  }
}
void AddBlocks(GroupHarness& h, int blocks, int racks) {
  for (int b = 0; b < blocks; ++b) {
    for (int r = 0; r < racks; ++r) AddRack(h, "b" + std::to_string(b), "r" + std::to_string(r));
  }
}

std::set<std::string> Blocks(const Written& written) {
  std::set<std::string> blocks;
  for (const auto& [pod, node] : written.bound) blocks.insert(node.substr(0, node.find('-')));
  return blocks;
}
std::set<std::string> Racks(const Written& written) {
  std::set<std::string> racks;
  for (const auto& [pod, node] : written.bound) racks.insert(node.substr(0, node.rfind('-')));
  return racks;
}

Written PlaceGang(GroupHarness& h, int count, const std::string& name = "g") {
  h.Set(Gang(name, count));
  h.AddMembers(name, count, "3");
  return h.Cycle();
}

TEST(TopologyDistanceGroupTest, AGangOfEightIsOnTwoRacksOfFour) {
  const auto h = MakeHarness(true);
  AddBlocks(*h, 3, 3);
  const Written written = PlaceGang(*h, 8);
  ASSERT_EQ(written.bound.size(), 8U);
  EXPECT_EQ(Racks(written).size(), 2U);
  EXPECT_EQ(Blocks(written).size(), 1U);

  const auto without = MakeHarness(false);
  AddBlocks(*without, 3, 3);
  const Written spread = PlaceGang(*without, 8);
  ASSERT_EQ(spread.bound.size(), 8U);
  EXPECT_GT(Racks(spread).size(), 2U) << "without the plugin nothing keeps them together";
  EXPECT_GT(Blocks(spread).size(), 1U);
}

TEST(TopologyDistanceGroupTest, ASecondGangHasItsOwnRacks) {
  const auto h = MakeHarness(true);
  AddBlocks(*h, 3, 3);
  const Written first = PlaceGang(*h, 8);
  const Written second = PlaceGang(*h, 8, "h");
  ASSERT_EQ(second.bound.size(), 8U);
  EXPECT_EQ(Racks(second).size(), 2U);
  EXPECT_EQ(Blocks(second).size(), 1U);
  EXPECT_NE(Blocks(first), Blocks(second)) << "one rack of the first block has no room for eight";
  const Written third = PlaceGang(*h, 4, "i");
  EXPECT_EQ(Racks(third).size(), 1U);
  EXPECT_TRUE(Blocks(third) == Blocks(first) || Blocks(third) == Blocks(second)) << "what is left there is enough";
}

TEST(TopologyDistanceGroupTest, TheFirstGoesWhereAllHaveRoom) {
  for (int seed = 0; seed < 8; ++seed) {
    const auto h = MakeHarness(true);
    // The larger rack is in the block without room for all.
    AddRack(*h, "b0", "r0", 6);
    AddRack(*h, "b1", "r0", 4);
    AddRack(*h, "b1", "r1", 4);
    for (int i = 0; i < seed; ++i) AddRack(*h, "b2", "r" + std::to_string(i), 1);
    const Written written = PlaceGang(*h, 8);
    ASSERT_EQ(written.bound.size(), 8U);
    EXPECT_EQ(Blocks(written), (std::set<std::string>{"b1"}));
  }
}

TEST(TopologyDistanceGroupTest, AGangThatFitsInNoBlockIsPlacedAllTheSame) {
  const auto h = MakeHarness(true);
  AddBlocks(*h, 3, 1);
  const Written written = PlaceGang(*h, 6);
  ASSERT_EQ(written.bound.size(), 6U);
  EXPECT_EQ(Racks(written).size(), 2U) << "nobody is forced, but four of them are together";
}

TEST(TopologyDistanceGroupTest, APodThatComesLaterGoesToTheOthers) {
  const auto h = MakeHarness(true);
  AddBlocks(*h, 3, 2);
  const Written first = PlaceGang(*h, 3);
  ASSERT_EQ(Racks(first).size(), 1U);
  h->AddMembers("g", 2, "3", 3);
  const Written second = h->Cycle();
  ASSERT_EQ(second.bound.size(), 2U);
  EXPECT_TRUE(Racks(second).contains(*Racks(first).begin())) << "one has room there";
  EXPECT_EQ(Blocks(second), Blocks(first)) << "and the other one near it";
}

TEST(TopologyDistanceGroupTest, AGangThatIsTakenBackLeavesNothingBehind) {
  const auto h = MakeHarness(true);
  AddBlocks(*h, 1, 2);
  EXPECT_TRUE(PlaceGang(*h, 9).bound.empty()) << "there are eight nodes";
  AddBlocks(*h, 3, 3);
  h->now += std::chrono::seconds(3);
  const Written written = h->Cycle();
  ASSERT_EQ(written.bound.size(), 9U);
  EXPECT_EQ(Racks(written).size(), 3U);
  EXPECT_EQ(Blocks(written).size(), 1U);
}

// Members of one class in two groups: what was found out for the pods of one is not taken for those of the other.
TEST(TopologyDistanceGroupTest, GroupsOfOneClassInTurn) {
  const auto h = MakeHarness(true);
  AddBlocks(*h, 4, 3);
  const Written a = PlaceGang(*h, 3, "a");
  const Written b = PlaceGang(*h, 10, "b");
  const auto next = [&](const std::string& group, int first) {
    h->AddMembers(group, 1, "3", first);
    return h->Cycle();
  };
  EXPECT_EQ(Racks(next("a", 3)), Racks(a)) << "the fourth node of its rack";
  const Written more_b = next("b", 10);
  ASSERT_EQ(more_b.bound.size(), 1U);
  EXPECT_TRUE(Racks(b).contains(*Racks(more_b).begin()));
  EXPECT_EQ(Blocks(next("a", 4)), Blocks(a));
  EXPECT_EQ(Blocks(next("b", 11)), Blocks(b));
}

// Where there are no PodGroups, annotations make them.
TEST(TopologyDistanceGroupTest, AGangByAnnotation) {
  config::Plugins sets = WithPlugin();
  sets.multi_point.enabled.push_back({"GangScheduling"});
  sets.multi_point.enabled.push_back({"PodGroupAnnotations"});
  GroupHarness h(scheduler::ProfilesOf({.release_minor = 36}, std::move(sets), Args()));
  // The larger rack is in the block without room for all.
  AddRack(h, "b0", "r0", 6);
  AddRack(h, "b1", "r0", 4);
  AddRack(h, "b1", "r1", 4);
  for (int i = 0; i < 8; ++i) {
    h.Set(testing::MakePod("p" + std::to_string(i))
              .Annotation("berth.dev/pod-group", "g")
              .Annotation("berth.dev/min-count", "8")
              .Request("cpu", "3"));
  }
  const Written written = h.Cycle();
  ASSERT_EQ(written.bound.size(), 8U);
  EXPECT_EQ(Blocks(written), (std::set<std::string>{"b1"}));
}

// A constraint forces the group into one domain, and the plugin keeps it together there.
TEST(TopologyDistanceGroupTest, WithinTheDomainOfATopologyConstraint) {
  const auto h = MakeHarness(true, {"TopologyAwareWorkloadScheduling=true"});
  AddBlocks(*h, 3, 3);
  api::PodGroup group = Gang("g", 8);
  group.topology_keys = {kBlock};
  h->Set(group);
  h->AddMembers("g", 8, "3");
  const Written written = h->Cycle();
  ASSERT_EQ(written.bound.size(), 8U);
  EXPECT_EQ(Blocks(written).size(), 1U);
  EXPECT_EQ(Racks(written).size(), 2U);
}

}  // namespace
}  // namespace berth::plugins
