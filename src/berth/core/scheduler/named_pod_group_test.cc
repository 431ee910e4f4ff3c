// SPDX-License-Identifier: Apache-2.0
// Gangs by annotation, from end to end in a core for Kubernetes 1.36, which has no PodGroups.
#include <gtest/gtest.h>

#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using Map = std::map<std::string, std::string>;

Profiles AnnotatedProfiles() {
  config::Plugins sets;
  sets.multi_point.enabled = {{"GangScheduling"}, {"PodGroupAnnotations"}};
  return ProfilesOf({.release_minor = 36}, std::move(sets));
}

class NamedPodGroupTest : public ::testing::Test {
 protected:
  NamedPodGroupTest() : h_(AnnotatedProfiles()) { h_.Set(MakeNode("n0")); }

  static PodBuilder Member(const std::string& name, const std::string& min_count, const std::string& group = "g") {
    return MakePod(name)
        .Annotation("berth.dev/pod-group", group)
        .Annotation("berth.dev/min-count", min_count)
        .Request("cpu", "1");
  }

  GroupHarness h_;  // n0 has 4 CPUs
};

TEST_F(NamedPodGroupTest, AnnotatedPodsAreBoundWhole) {
  h_.Set(Member("a", "3"));
  h_.Set(Member("b", "3"));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready)) << "two pods are no gang of three";
  EXPECT_EQ(h_.PodsIn(queue::Place::kGated), 2u);
  h_.Set(Member("c", "3"));
  const Written written = h_.Cycle();
  EXPECT_EQ(written.bound, (Map{{"a", "n0"}, {"b", "n0"}, {"c", "n0"}}));
  EXPECT_TRUE(written.conditions.empty()) << "the API server has no such group";
}

TEST_F(NamedPodGroupTest, AGangThatDoesNotFitIsReportedAndTakesNoRoom) {
  for (const char* name : {"a", "b", "c", "d", "e"}) h_.Set(Member(name, "5"));
  h_.Set(MakePod("alone").Request("cpu", "4"));
  const Written gang = h_.Cycle();
  EXPECT_TRUE(gang.bound.empty());
  ASSERT_EQ(gang.failed.size(), 5u);
  EXPECT_EQ(gang.failed.at("a").find("Unschedulable: pod group is unschedulable, minCount (5) cannot be satisfied"),
            0u);
  EXPECT_EQ(h_.Cycle().bound, (Map{{"alone", "n0"}}));
}

TEST_F(NamedPodGroupTest, RunningMembersCountAfterARestart) {
  h_.Set(Member("a", "3").Node("n0"));
  h_.Set(Member("b", "3").Node("n0"));
  h_.Set(Member("c", "3"));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"c", "n0"}}));
}

TEST_F(NamedPodGroupTest, ConfirmedMembersStayInTheirGroup) {
  h_.Set(Member("a", "2"));
  h_.Set(Member("b", "2"));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
  h_.Set(Member("a", "2").Node("n0"));
  h_.Set(Member("b", "2").Node("n0"));
  h_.Set(Member("late", "2"));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"late", "n0"}}));
}

TEST_F(NamedPodGroupTest, TheLargestCountOfMembersHolds) {
  h_.Set(Member("a", "2"));
  h_.Set(Member("b", "3"));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  // The member that wanted three now wants two, and two are there.
  h_.Set(Member("b", "2"));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(NamedPodGroupTest, TheLargestCountGoesWithItsPod) {
  h_.Set(Member("a", "2"));
  h_.Set(Member("b", "2"));
  h_.Set(Member("c", "9"));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
  h_.Remove(Member("c", "9"));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(NamedPodGroupTest, ABadAnnotationIsReportedOnceAndHoldsNobodyElseBack) {
  h_.Set(Member("bad", "two"));
  h_.Set(Member("a", "1"));
  const Written written = h_.Collect();
  EXPECT_EQ(written.failed, (Map{{"bad",
                                  "SchedulerError: annotation berth.dev/min-count: \"two\" should be a whole number "
                                  "from 1 to 2147483647"}}));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"a", "n0"}}));
  EXPECT_EQ(h_.core.queue().Dump().size(), 0u);
  h_.Set(Member("bad", "2"));
  h_.Set(Member("b", "2"));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"bad", "n0"}, {"b", "n0"}}));
}

TEST_F(NamedPodGroupTest, APodThatIsInTheQueueAloneStaysAlone) {
  h_.Set(MakePod("a").Request("cpu", "1"));
  h_.Set(Member("a", "2"));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"a", "n0"}}));
}

TEST_F(NamedPodGroupTest, WhatAMemberSaysOfItsGroupLaterDoesNotMoveIt) {
  h_.Set(Member("a", "2"));
  h_.Set(Member("a", "1", "other"));
  h_.Set(Member("a", "nonsense"));
  EXPECT_EQ(h_.PodsIn(queue::Place::kGated), 0u) << "min-count is 1 now";
  h_.Set(Member("b", "2"));
  EXPECT_EQ(h_.Cycle().bound.size(), 2u);
}

TEST_F(NamedPodGroupTest, GroupsOfTwoNamespacesAreTwo) {
  h_.Set(Member("a", "2"));
  h_.Set(Member("b", "2").Namespace("other"));
  EXPECT_FALSE((h_.Cycle(), h_.is_ready));
}

TEST_F(NamedPodGroupTest, AGroupGoesWithItsLastPod) {
  h_.Set(Member("a", "2"));
  h_.Set(Member("b", "2"));
  h_.Cycle();
  for (const char* name : {"a", "b"}) h_.Remove(Member(name, "2").Node("n0"));
  h_.Set(Member("c", "1"));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"c", "n0"}})) << "nobody says any more that it takes two";
}

// The gate is off: berth ignores PodGroups of the API, and the pod group that a pod names.
TEST_F(NamedPodGroupTest, PodGroupsOfTheApiStayOff) {
  h_.Set(MakePod("a").InGroup("no-such").Request("cpu", "1"));
  EXPECT_EQ(h_.Cycle().bound, (Map{{"a", "n0"}}));
}

TEST_F(NamedPodGroupTest, MembersHaveOnePriority) {
  h_.Set(Member("a", "2"));
  h_.Set(Member("b", "2").Priority(5));
  const Written written = h_.Cycle();
  EXPECT_TRUE(written.bound.empty());
  EXPECT_EQ(written.failed.at("a").find("SchedulerError: all pods in a single pod group should have the same priority"),
            0u);
}

TEST(PodGroupNamer, NeedsWhatKeepsGangsTogether) {
  CoreHandle handle([](framework::PermitDecision) {});
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  configuration.profiles.front().plugins.multi_point.enabled.push_back({"PodGroupAnnotations"});
  const auto made = runtime::MakeProfiles(configuration, plugins::InTreePlugins(), handle);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(
      made.error().message,
      "profile \"default-scheduler\": plugin \"PodGroupAnnotations\" needs the plugin GangScheduling, which should "
      "be enabled beside it");
}

}  // namespace
}  // namespace berth::scheduler
