// SPDX-License-Identifier: Apache-2.0
// What `berth explain podgroup` says of small clusters, read as people read it.
#include "berth/whatif/group_explanation.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/group_answer.h"
#include "berth/testing/builders.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::GroupLines, answers::GroupJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;

class GroupExplanationTest : public ::testing::Test {
 protected:
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) state_.nodes.push_back(MakeNode("n" + std::to_string(i)).Build());
  }
  void Add(const testing::PodBuilder& pod) { state_.pods.push_back(std::make_shared<const api::Pod>(pod.Build())); }
  // Of four CPUs each.
  void AddMembers(int count, std::int32_t priority = 0) {
    for (int i = 0; i < count; ++i)
      Add(MakePod("g-" + std::to_string(i)).Request("cpu", "4").InGroup("g").Priority(priority));
  }
  void AddGang(int min_count, std::int32_t priority = 0) {
    api::PodGroup group;
    group.metadata.name = "g";
    group.metadata.namespace_name = "default";
    group.metadata.uid = "uid-g";
    group.min_count = min_count;
    group.priority = priority;
    group.conditions = {{"PodGroupInitiallyScheduled", "False", "Unschedulable", "as it was told", 1}};
    state_.objects.emplace_back(std::make_shared<const api::PodGroup>(group));
  }
  Expected<GroupExplanation> Explain(const std::string& name = "g", const std::string& namespace_name = "default") {
    return ExplainPodGroup(state_, OptionsOf(ConfigurationOf(release_minor_, gates_, plugins_)), namespace_name, name);
  }
  std::string Text(const GroupExplanation& said, bool is_wide = false) {
    std::string text;
    for (const std::string& line : GroupLines(said, is_wide, {false, is_wide ? std::size_t{0} : 100}))
      text += line + '\n';
    return text;
  }

  ClusterState state_;
  std::vector<std::string> gates_ = {"GenericWorkload=true"};
  int release_minor_ = 37;
  std::vector<config::PluginRef> plugins_;  // beside the defaults
};

TEST_F(GroupExplanationTest, AGroupWithinAnotherIsDecidedWithItsSiblings) {
  AddNodes(2);
  for (const char* name : {"g", "h"}) {
    api::PodGroup group;
    group.metadata.name = name;
    group.metadata.namespace_name = "default";
    group.metadata.uid = std::string("uid-") + name;
    group.min_count = 1;
    group.parent_name = "top";
    state_.objects.emplace_back(std::make_shared<const api::PodGroup>(group));
  }
  api::CompositePodGroup top;
  top.metadata.name = "top";
  top.metadata.namespace_name = "default";
  top.min_group_count = 2;
  state_.objects.emplace_back(std::make_shared<const api::CompositePodGroup>(top));
  AddMembers(1);
  Add(MakePod("h-0").Request("cpu", "4").InGroup("h"));
  Add(MakePod("other").Request("cpu", "4").Priority(100));
  auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kFits) << "without the gate it stands for itself";
  gates_ = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true", "CompositePodGroup=true"};
  said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kFits);
  EXPECT_EQ(said->members.size(), 1u);
  state_.nodes.pop_back();
  said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kRefused) << "there is no room for h";
}

TEST_F(GroupExplanationTest, AMemberThatFitsByItselfWaitsForItsGang) {
  AddNodes(1);
  AddGang(2);
  AddMembers(2);
  const auto explain = [&] {
    auto cluster = OfflineCluster::Make(OptionsOf(ConfigurationOf(release_minor_, gates_, plugins_)));
    BERTH_CHECK(cluster.ok(), cluster.error().message);
    (*cluster)->Load(state_);
    auto said = ExplainPod(**cluster, state_, "default", "g-0");
    BERTH_CHECK(said.ok(), said.error().message);
    return std::move(*said);
  };
  const Explanation waits = explain();
  EXPECT_EQ(waits.state, PodState::kWaits);
  EXPECT_THAT(waits.message, HasSubstr("it is scheduled with its PodGroup default/g, which waits: "));
  AddNodes(2);
  EXPECT_EQ(explain().state, PodState::kFits);
  gates_.clear();
  state_.nodes.pop_back();
  EXPECT_EQ(explain().state, PodState::kWaits) << "pods are placed one by one here, and perhaps not there";
}

TEST_F(GroupExplanationTest, AGangThatWouldBePlaced) {
  AddNodes(3);
  AddGang(2);
  AddMembers(2);
  Add(MakePod("other").Request("cpu", "4").Priority(100));
  const auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kFits);
  EXPECT_FALSE(said->fitting);
  ASSERT_EQ(said->members.size(), 2u);
  EXPECT_NE(said->members[0].node, "");
  EXPECT_NE(said->members[0].node, said->members[1].node);
  EXPECT_FALSE(said->members[0].is_running);
  EXPECT_THAT(Text(*said), HasSubstr("Policy:     gang, minCount 2, priority 0\n"
                                     "Pods:       2, of which 0 placed and 2 waiting\n"
                                     "Fits:       it would be placed now\n"
                                     "Condition:  PodGroupInitiallyScheduled=False, Unschedulable: as it was told\n"));
}

TEST_F(GroupExplanationTest, HowManyWouldFitOfThoseThatAreNeeded) {
  AddNodes(2);
  AddGang(3);
  AddMembers(4);
  const auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kRefused);
  EXPECT_THAT(said->message, HasSubstr("minCount (3) cannot be satisfied: 2 scheduled, "));
  EXPECT_EQ(said->fitting, 2u);
  EXPECT_THAT(said->victims, IsEmpty());
  const std::string text = Text(*said);
  EXPECT_THAT(text, HasSubstr("Room:       for 2 of the 3 that are needed\n"));
  EXPECT_THAT(text, HasSubstr("0/2 nodes are available: 2 Insufficient cpu.\n"));
  const auto json = GroupJson(*said);
  EXPECT_EQ(json.at("state"), "Refused");
  EXPECT_EQ(json.at("fitting"), 2);
  EXPECT_EQ(json.at("pods").as_array().size(), 4u);
}

TEST_F(GroupExplanationTest, WhatPreemptionWouldTake) {
  AddNodes(2);
  AddGang(2, 10);
  AddMembers(2, 10);
  Add(MakePod("low").Request("cpu", "3").Node("n0"));
  const auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kPreempts);
  EXPECT_THAT(said->victims, ElementsAre("default/low"));
  EXPECT_NE(said->members[0].node, "") << "where it goes then";
  EXPECT_THAT(Text(*said), HasSubstr("Preempts:   default/low\n"));
}

TEST_F(GroupExplanationTest, AGangThatLacksPods) {
  AddNodes(4);
  AddGang(3);
  AddMembers(1);
  Add(MakePod("g-runs").Request("cpu", "4").InGroup("g").Node("n3"));
  const auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kGated);
  EXPECT_EQ(said->message, "GangScheduling: waiting for minCount pods from a gang to appear in scheduling queue");
  EXPECT_EQ(said->RunningCount(), 1u);
  EXPECT_THAT(Text(*said), HasSubstr("g-runs   placed   n3"));
  EXPECT_THAT(Text(*said), HasSubstr("g-0      gated    <none>   as the group"));
}

TEST_F(GroupExplanationTest, AGangThatRunsAndOneWithoutPods) {
  AddNodes(1);
  AddGang(1);
  auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kGated);
  EXPECT_EQ(said->message, "no pod names it");
  Add(MakePod("g-0").Request("cpu", "4").InGroup("g").Node("n0"));
  said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kPlaced);
}

// On Kubernetes 1.36, which has no PodGroups.
class NamedGroupExplanationTest : public GroupExplanationTest {
 protected:
  NamedGroupExplanationTest() {
    gates_.clear();
    release_minor_ = 36;
    plugins_ = {{"GangScheduling"}, {"PodGroupAnnotations"}};
  }
  static testing::PodBuilder Named(const std::string& name, const std::string& min_count) {
    return MakePod(name)
        .Request("cpu", "4")
        .Annotation("berth.dev/pod-group", "g")
        .Annotation("berth.dev/min-count", min_count);
  }
};

TEST_F(NamedGroupExplanationTest, WhetherItFits) {
  AddNodes(3);
  Add(Named("g-runs", "3").Node("n2"));
  for (const char* name : {"g-0", "g-1"}) Add(Named(name, "3"));
  Add(MakePod("other").Request("cpu", "4").Priority(100));
  auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kFits);
  EXPECT_THAT(Text(*said), HasSubstr("PodGroup:   default/g\n"
                                     "Policy:     gang, minCount 3, priority 0\n"
                                     "Pods:       3, of which 1 placed and 2 waiting\n"
                                     "Fits:       it would be placed now\n"));
  state_.pods.resize(1);
  state_.pods.front() = std::make_shared<const api::Pod>(Named("g-runs", "1").Node("n2").Build());
  said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kPlaced);
}

TEST_F(NamedGroupExplanationTest, HowManyWouldFitOfThoseThatAreNeeded) {
  AddNodes(2);
  for (const char* name : {"g-0", "g-1", "g-2"}) Add(Named(name, "3"));
  const auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kRefused);
  EXPECT_THAT(said->message, HasSubstr("minCount (3) cannot be satisfied: 2 scheduled, "));
  EXPECT_EQ(said->fitting, 2u);
  EXPECT_THAT(Text(*said), HasSubstr("Room:       for 2 of the 3 that are needed\n"));
}

TEST_F(NamedGroupExplanationTest, AGangThatLacksPods) {
  AddNodes(4);
  Add(Named("g-0", "2"));
  const auto said = Explain();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, GroupState::kGated);
  EXPECT_EQ(said->message, "GangScheduling: waiting for minCount pods from a gang to appear in scheduling queue");
  EXPECT_EQ(Explain("h").error().message, "there is no PodGroup \"h\" in namespace \"default\"");
}

TEST_F(GroupExplanationTest, AGroupThatIsNotThere) {
  AddGang(1);
  const auto error = [&](const std::string& name, const std::string& space) {
    return Explain(name, space).error().message;
  };
  EXPECT_EQ(error("h", "default"), "there is no PodGroup \"h\" in namespace \"default\"; did you mean \"g\"?");
  EXPECT_EQ(error("g", "other"),
            "there is no PodGroup \"g\" in namespace \"other\"; there is one in namespace \"default\"");
  Add(MakePod("p").InGroup("missing"));
  EXPECT_EQ(error("missing", "default"),
            "there is no PodGroup \"missing\" in namespace \"default\", though 1 pod names it");
}

}  // namespace
}  // namespace berth::whatif
