// SPDX-License-Identifier: Apache-2.0
// Pod groups from end to end in the core: waiting for members, the cycle, Permit, conditions, back-off.
#include <gtest/gtest.h>

#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using Map = std::map<std::string, std::string>;
using Strings = std::vector<std::string>;

class PodGroupCycleTest : public ::testing::Test {
 protected:
  // Each node has 4 CPUs.
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) h_.Set(MakeNode("n" + std::to_string(i)));
  }
  // A gang of five that does not fit on one node. The write of its condition stays unanswered.
  void RefuseGangAndHoldItsCondition() {
    AddNodes(1);
    h_.Set(Gang("g", 5));
    h_.AddMembers("g", 5);
    h_.holds_conditions = true;
    EXPECT_EQ(h_.Cycle().conditions.size(), 1U);
  }

  GroupHarness h_;
};

TEST_F(PodGroupCycleTest, AGangIsBoundWhole) {
  AddNodes(1);
  h_.Set(Gang("g", 3));
  h_.AddMembers("g", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready)) << "two pods are no gang of three";
  EXPECT_EQ(h_.PodsIn(queue::Place::kGated), 2u);
  h_.AddMembers("g", 1, "1", 2);
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound, (Map{{"g-0", "n0"}, {"g-1", "n0"}, {"g-2", "n0"}}));
  EXPECT_EQ(written.conditions, (Strings{"g True Scheduled: "}));
  // The first two waited at Permit for the third, and announced their node.
  EXPECT_EQ(written.nominated, (Map{{"g-0", "n0"}, {"g-1", "n0"}}));
  EXPECT_TRUE(h_.IsIdle() || h_.core.cache().assumed_count() == 3);
  EXPECT_EQ(h_.core.queue().Dump().size(), 0u);
}

TEST_F(PodGroupCycleTest, MembersThatWaitForOthersGetNoCondition) {
  AddNodes(1);
  h_.Set(Gang("g", 3));
  h_.AddMembers("g", 2);
  h_.AddMembers("none", 1);  // no PodGroup of this name exists
  h_.core.Tick(h_.now);
  EXPECT_FALSE(h_.core.ScheduleOne(h_.now));
  EXPECT_EQ(h_.PodsIn(queue::Place::kGated), 3u);
  EXPECT_EQ(static_cast<Harness&>(h_).Take(), Lines()) << "no condition and no event, as upstream";
}

TEST_F(PodGroupCycleTest, AGangThatDoesNotFitIsNotBoundInPart) {
  AddNodes(1);
  h_.Set(Gang("g", 5));
  h_.AddMembers("g", 5);
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty());
  ASSERT_EQ(written.failed.size(), 5u);
  const std::string of_group = "minCount (5) cannot be satisfied: 4 scheduled, 0 remaining";
  EXPECT_EQ(written.failed.at("g-0").find("Unschedulable: pod group is unschedulable, " + of_group), 0u);
  EXPECT_EQ(written.failed.at("g-4").find("Unschedulable: 0/1 nodes are available: 1 Insufficient cpu"), 0u);
  ASSERT_EQ(written.conditions.size(), 1u);
  EXPECT_EQ(written.conditions[0].find("g False Unschedulable: " + of_group), 0u);
  EXPECT_EQ(h_.core.cache().pod_count(), 0u) << "everything was taken back";
  // The group waits for its back-off rather than an event, and Pop does not take it earlier.
  EXPECT_EQ(h_.PodsIn(queue::Place::kErrorBackoff), 5u);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  EXPECT_TRUE(h_.core.IsIdle()) << "it comes back only because something may have changed";
  AddNodes(2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.now += 3s;
  EXPECT_EQ(h_.Cycle().bound.size(), 5u);
}

TEST_F(PodGroupCycleTest, MoreThanTheMinimumMayWait) {
  AddNodes(1);
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 5);
  const Written first = h_.Cycle();
  EXPECT_EQ(first.bound.size(), 4u);
  EXPECT_EQ(first.failed.size(), 1u);
  EXPECT_EQ(first.conditions, (Strings{"g True Scheduled: "}));
  // The remaining member is tried at once, and does not change the condition.
  EXPECT_EQ(h_.PodsIn(queue::Place::kActive), 1u);
  const Written second = h_.Cycle();
  EXPECT_TRUE(second.conditions.empty());
  EXPECT_TRUE(second.bound.empty());
}

TEST_F(PodGroupCycleTest, ABasicGroupIsPlacedAsFarAsItFits) {
  AddNodes(1);
  h_.Set(Basic("b"));
  h_.AddMembers("b", 2, "3");
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound, (Map{{"b-0", "n0"}}));
  EXPECT_EQ(written.conditions, (Strings{"b True Scheduled: "}));
}

TEST_F(PodGroupCycleTest, PodsWaitForTheirGroup) {
  AddNodes(1);
  h_.AddMembers("g", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  EXPECT_EQ(h_.core.queue().Find("uid-default-g-0")->lacks_pod_group, true);
  h_.Set(Gang("g", 2));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(PodGroupCycleTest, AGroupThatGoesLeavesItsPodsWaiting) {
  AddNodes(1);
  h_.Set(Gang("g", 3));
  h_.AddMembers("g", 2);
  h_.RemoveGroup("g");
  h_.AddMembers("g", 1, "1", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  EXPECT_TRUE(h_.core.queue().Find("uid-default-g-0")->lacks_pod_group);
  h_.Set(Gang("g", 3));
  EXPECT_EQ(h_.Cycle().bound.size(), 3u);
}

TEST_F(PodGroupCycleTest, ALowerMinCountMayBeEnough) {
  AddNodes(1);
  h_.Set(Gang("g", 4));
  h_.AddMembers("g", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.Set(Gang("g", 3));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.Set(Gang("g", 2));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(PodGroupCycleTest, AnotherGroupOfTheSameNameMayWantFewer) {
  AddNodes(1);
  h_.Set(Gang("g", 4));
  h_.AddMembers("g", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  api::PodGroup another = Basic("g");
  another.metadata.uid = "another";
  h_.Set(another);
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(PodGroupCycleTest, AMemberThatIsHeldHoldsNobodyWhenItIsGone) {
  AddNodes(1);
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2);
  h_.Set(h_.Member("g", 2).Gate("example.com/wait"));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.Remove(h_.Member("g", 2));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(PodGroupCycleTest, DeletedMembersDoNotCount) {
  AddNodes(1);
  h_.Set(Gang("g", 3));
  h_.AddMembers("g", 2);
  h_.Remove(h_.Member("g", 0));
  h_.AddMembers("g", 1, "1", 2);
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.AddMembers("g", 1, "1", 3);
  EXPECT_EQ(h_.Cycle().bound.size(), 3u);
}

TEST_F(PodGroupCycleTest, RunningMembersCount) {
  AddNodes(2);
  h_.Set(Gang("g", 3));
  h_.Set(h_.Member("g", 0).Node("n0"));
  h_.Set(h_.Member("g", 1).Node("n0"));
  h_.AddMembers("g", 1, "1", 2);
  EXPECT_EQ(h_.Cycle().bound.size(), 1u);
}

TEST_F(PodGroupCycleTest, TooFewPodsToEverFitAreNotTried) {
  AddNodes(1);
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2);
  h_.Remove(h_.Member("g", 0));  // after the gang had reached its size
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty());
  // As in upstream, DynamicResources does not find what its PreFilter writes.
  const std::string text = "error in \"DynamicResources\" PodGroupPostFilter plugins: not found";
  EXPECT_EQ(written.failed, (Map{{"g-1", "SchedulerError: " + text}}));
  ASSERT_EQ(written.conditions.size(), 1u);
  EXPECT_EQ(written.conditions[0], "g False SchedulerError: " + text);
}

TEST_F(PodGroupCycleTest, MembersHaveToAgree) {
  AddNodes(1);
  h_.Set(Gang("g", 2));
  h_.Set(h_.Member("g", 0));
  h_.Set(h_.Member("g", 1).Priority(7));
  const Written written = h_.Cycle();
  const std::string text =
      "all pods in a single pod group should have the same priority as the pod group's priority, got 7 and 0";
  EXPECT_EQ(written.failed, (Map{{"g-0", "SchedulerError: " + text}, {"g-1", "SchedulerError: " + text}}));
  EXPECT_EQ(written.conditions, (Strings{"g False SchedulerError: " + text}));
}

TEST_F(PodGroupCycleTest, OneGatedMemberGatesAll) {
  AddNodes(1);
  h_.Set(Gang("g", 2));
  h_.Set(h_.Member("g", 0));
  h_.Set(h_.Member("g", 1).Gate("example.com/wait"));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  EXPECT_EQ(h_.PodsIn(queue::Place::kGated), 2u);
  h_.Set(h_.Member("g", 1));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(PodGroupCycleTest, GroupsAndPodsComeByPriority) {
  AddNodes(1);
  h_.priority = 10;
  auto group = Gang("g", 2);
  group.priority = 10;
  h_.Set(group);
  h_.Set(MakePod("low").Request("cpu", "1"));
  h_.AddMembers("g", 2);
  h_.Set(MakePod("high").Request("cpu", "1").Priority(20));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"high", "n0"}}));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"g-0", "n0"}, {"g-1", "n0"}}));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"low", "n0"}}));
}

TEST_F(PodGroupCycleTest, ALargeGroupWaitsLonger) {
  AddNodes(1);
  h_.Set(Gang("g", 16));
  h_.AddMembers("g", 16);
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE((h_.Cycle(), h_.is_ready)) << i;
    h_.now += 60s;
  }
  EXPECT_TRUE((h_.Cycle(), h_.is_ready));
  // A single pod would return after 10 seconds.
  h_.now += 15s;
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.now += 30s;
  EXPECT_TRUE((h_.Cycle(), h_.is_ready));
}

TEST_F(PodGroupCycleTest, AConditionThatIsNotTakenIsWrittenAgain) {
  AddNodes(1);
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kForbidden, ErrorCode::kUnauthorized}) {
    SCOPED_TRACE(ToString(code));
    const std::string group(ToString(code));
    h_.Set(Gang(group, 1));
    h_.AddMembers(group, 1);
    h_.condition_error = Error{code, "not now"};
    EXPECT_EQ(h_.Cycle().conditions, (Strings{group + " True Scheduled: "}));
    h_.condition_error.reset();
    h_.now += 1s;
    EXPECT_EQ(h_.Cycle().conditions, (Strings{group + " True Scheduled: "}));
    h_.now += 60s;
    EXPECT_TRUE(h_.Cycle().conditions.empty());
  }
}

TEST_F(PodGroupCycleTest, AConditionIsNotWrittenAgainWhileItIsUnderWay) {
  RefuseGangAndHoldItsCondition();
  h_.now += 60s;
  EXPECT_TRUE((h_.Cycle().conditions.empty() && h_.is_ready));
}

// The API server could receive the older condition last.
TEST_F(PodGroupCycleTest, OneConditionOfAGroupIsUnderWayAtATime) {
  RefuseGangAndHoldItsCondition();
  AddNodes(2);
  h_.now += 60s;
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound.size(), 5U);
  EXPECT_TRUE(written.conditions.empty());
  EXPECT_EQ(h_.AnswerConditions().conditions, (Strings{"g True Scheduled: "}));
}

class RefusesAtPermit final : public framework::PermitPlugin {
 public:
  std::string_view Name() const override { return "Refuses"; }
  framework::PermitResult Permit(const framework::Cycle&, const framework::PodInfo& pod, std::string_view) override {
    framework::PermitResult result;
    if (pod.name == "g-2") result.status = framework::Status::Unschedulable("not this one");
    return result;
  }
};

TEST(PodGroupPermit, WhomTheGangLetsGoDoesNotWaitForPluginsBehindIt) {
  RefusesAtPermit refuses;
  Profiles profiles = GroupProfiles();
  profiles.front()->permit.push_back(&refuses);
  GroupHarness h(std::move(profiles));
  h.Set(MakeNode("n0"));
  h.Set(Gang("g", 3));
  h.AddMembers("g", 3);
  const Written written = h.Cycle();
  EXPECT_EQ(written.bound, (Map{{"g-0", "n0"}, {"g-1", "n0"}}));
  EXPECT_EQ(written.failed.count("g-2"), 1U);
}

// Other members may be bound already, and another gang could take the room.
TEST_F(PodGroupCycleTest, AGangKeepsItsRoomWhileTheAPIServerIsAway) {
  AddNodes(1);
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2);
  h_.bind_error = Error{ErrorCode::kCancelled, "not sent"};
  EXPECT_EQ(h_.Cycle().bound.size(), 2U);
  EXPECT_EQ(h_.core.cache().assumed_count(), 2U);
  EXPECT_TRUE(h_.core.queue().Dump().empty());
}

TEST_F(PodGroupCycleTest, WithoutTheGatePodsComeOneByOne) {
  Harness plain;
  plain.Set(MakeNode("n0"));
  plain.Set(MakePod("p").InGroup("g"));
  plain.Run();
  EXPECT_EQ(plain.Take(), Lines{"bind p to n0"});
}

}  // namespace
}  // namespace berth::scheduler
