// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/pod_group_states.h"

#include <gtest/gtest.h>

#include "berth/core/cache/cache.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/testing/builders.h"

namespace berth::cache {
namespace {

using framework::PodGroupKey;
using framework::PodInfoPtr;

class PodGroupStatesTest : public ::testing::Test {
 protected:
  PodGroupStatesTest() {
    cache_.SetPodGroups(states_);
    for (const char* node : {"n1", "n2"}) cache_.SetNode(testing::MakeNode(node).Build());
  }

  PodInfoPtr Pod(const std::string& name, const std::string& node = "") {
    return classes_.MakePodInfo(testing::MakePod(name).InGroup("gang").Node(node).Build());
  }
  std::pair<std::size_t, std::size_t> Counts() const {
    const auto counts = states_.CountsOf({"default", "gang"});
    return {counts.scheduled, counts.unscheduled};
  }
  void AddGroup(const std::string& name, const std::string& parent, Time created = {}) {
    Add<api::PodGroup>({{"default", name}, parent, created});
  }
  void AddComposite(const std::string& name, const std::string& parent, Time created = {}) {
    Add<api::CompositePodGroup>({{"default", name, true}, parent, created});
  }
  template <typename Group>
  void Add(const PodGroupStates::GroupView& view) {
    auto group = std::make_shared<Group>();
    group->metadata.namespace_name = view.key.namespace_name;
    group->metadata.name = view.key.name;
    group->metadata.creation_time = view.creation_time;
    group->parent_name = view.parent_name;
    objects_.Of<Group>().Set(group);
    states_.RecordGroup(nullptr, &view);
  }

  framework::Objects objects_;
  PodGroupStates states_{objects_, true};
  PodClasses classes_;
  Cache cache_;
};

using Pair = std::pair<std::size_t, std::size_t>;

TEST_F(PodGroupStatesTest, FollowsTheCache) {
  const PodInfoPtr waiting = Pod("a");
  states_.SetUnscheduled(waiting);
  EXPECT_EQ(Counts(), Pair(0, 1));
  const PodInfoPtr placed = Pod("a", "n1");
  cache_.AssumePod(placed);
  EXPECT_EQ(Counts(), Pair(1, 0));
  cache_.ForgetPod(placed->uid);
  EXPECT_EQ(Counts(), Pair(0, 1));
  cache_.SetPod(placed);
  cache_.SetPod(Pod("b", "n2"));
  EXPECT_EQ(Counts(), Pair(2, 0));
  ASSERT_EQ(states_.ScheduledPods({"default", "gang"}).size(), 2u);
  cache_.RemovePod(placed->uid);
  EXPECT_EQ(Counts(), Pair(1, 0));
  EXPECT_EQ(states_.GroupsOfPods(), (std::vector<framework::PodGroupKey>{{"default", "gang"}}));
  states_.Remove(Pod("b")->uid);
  EXPECT_EQ(states_.size(), 0u) << "a group without pods takes no room";
}

TEST_F(PodGroupStatesTest, TrialsDoNotCount) {
  const PodInfoPtr pod = Pod("a");
  states_.SetUnscheduled(pod);
  const PodInfoPtr placed = Pod("a", "n1");
  {
    const PodGroupStates::Trial trial(&states_);
    cache_.AssumePod(placed);
    EXPECT_EQ(Counts(), Pair(0, 1));
    cache_.ForgetPod(placed->uid);
  }
  EXPECT_EQ(Counts(), Pair(0, 1));
}

TEST_F(PodGroupStatesTest, RootsFollowParents) {
  const PodGroupKey leaf{"default", "leaf"};
  EXPECT_FALSE(states_.RootOf(leaf));
  AddGroup("leaf", "middle");
  EXPECT_FALSE(states_.RootOf(leaf)) << "its parent is not known";
  AddComposite("middle", "top");
  AddComposite("top", "");
  EXPECT_EQ(states_.RootOf(leaf), PodGroupKey("default", "top", true));
  AddGroup("alone", "");
  EXPECT_EQ(states_.RootOf({"default", "alone"}), PodGroupKey("default", "alone"));
  EXPECT_EQ(states_.ChildrenOf({"default", "top", true}),
            std::vector<PodGroupKey>({PodGroupKey("default", "middle", true)}));
  EXPECT_EQ(framework::LeavesOf(states_, {"default", "top", true}), std::vector<PodGroupKey>({leaf}));
}

TEST_F(PodGroupStatesTest, GroupsInACircleHaveNoRoot) {
  AddGroup("leaf", "a");
  AddComposite("a", "b");
  AddComposite("b", "a");
  EXPECT_FALSE(states_.RootOf({"default", "leaf"}));
  // A cycle of parents does not make LeavesOf() run forever.
  EXPECT_LE(framework::LeavesOf(states_, {"default", "a", true}).size(), std::size_t{framework::kPodGroupDepthMax});
  AddComposite("self", "self");
  EXPECT_FALSE(states_.RootOf({"default", "self", true}));
}

TEST_F(PodGroupStatesTest, TheOldestChildComesFirst) {
  const Time day{};
  AddComposite("top", "");
  AddGroup("b", "top", day + std::chrono::seconds(1));
  AddGroup("a", "top", day + std::chrono::seconds(1));
  AddComposite("z", "top", day);
  AddGroup("c", "top", day + std::chrono::seconds(1));
  const PodGroupKey top{"default", "top", true};
  const auto names = [&] {
    std::string all;
    for (const PodGroupKey& child : states_.ChildrenOf(top)) all += child.name;
    return all;
  };
  EXPECT_EQ(names(), "zabc");
  const PodGroupStates::GroupView gone{{"default", "a"}, "top", day + std::chrono::seconds(1)};
  states_.RecordGroup(&gone, nullptr);
  EXPECT_EQ(names(), "zbc");
}

TEST_F(PodGroupStatesTest, TheAncestryEndsWhereGroupsAreNotKnown) {
  const PodGroupKey leaf{"default", "leaf"};
  EXPECT_TRUE(framework::AncestryOf(states_, leaf).empty());
  AddGroup("leaf", "c4");
  AddComposite("c4", "c3");
  AddComposite("c2", "c1");
  EXPECT_EQ(framework::AncestryOf(states_, leaf), (std::vector<PodGroupKey>{leaf, {"default", "c4", true}}));
  AddComposite("c3", "c2");
  AddComposite("c1", "");
  EXPECT_EQ(states_.RootOf(leaf), PodGroupKey("default", "c1", true));
  EXPECT_EQ(framework::AncestryOf(states_, leaf).back(), PodGroupKey("default", "c2", true)) << "the fourth level";
}

TEST_F(PodGroupStatesTest, WaitingPodsAreAllowedOnce) {
  states_.RecordWaiting(*Pod("a"), "GangScheduling");
  states_.RecordWaiting(*Pod("b"), "Other");
  states_.AllowWaiting({"default", "gang"}, "GangScheduling");
  const auto allowed = states_.TakeAllowed();
  ASSERT_EQ(allowed.size(), 1u);
  EXPECT_EQ(allowed.front().uid, Pod("a")->uid);
  states_.AllowWaiting({"default", "gang"}, "GangScheduling");
  EXPECT_TRUE(states_.TakeAllowed().empty());
}

// As after a Permit time-out and after a deletion.
TEST_F(PodGroupStatesTest, PodsThatLoseTheirNodeWaitNoLonger) {
  for (const char* name : {"a", "b"}) {
    const PodInfoPtr pod = Pod(name, "n1");
    cache_.AssumePod(pod);
    states_.RecordWaiting(*pod, "GangScheduling");
  }
  cache_.ForgetPod(Pod("a")->uid);
  states_.Remove(Pod("b")->uid);
  states_.AllowWaiting({"default", "gang"}, "GangScheduling");
  EXPECT_TRUE(states_.TakeAllowed().empty());
}

}  // namespace
}  // namespace berth::cache
