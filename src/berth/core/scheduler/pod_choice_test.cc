// SPDX-License-Identifier: Apache-2.0
// Which pods a scheduler takes as its own, and which of them are unbound when it is idle.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using framework::Status;

std::shared_ptr<const api::Pod> Annotated(const testing::PodBuilder& builder, std::string_view scheduler) {
  auto pod = std::make_shared<api::Pod>(builder.Build());
  pod->metadata.annotations.Set(kSchedulerNameAnnotation, scheduler);
  return pod;
}

TEST(PodChoiceTest, AnnotatedScheduler) {
  struct Case {
    const char* name;
    bool by_annotation;
    const char* spec;
    std::optional<std::string> annotation;
    const char* want;
  };
  const Case cases[] = {
      {"no name in the spec", true, "", "hightower", "hightower"},
      {"the name that API servers fill in", true, "default-scheduler", "hightower", "hightower"},
      {"the spec's own name wins", true, "other", "hightower", ""},
      {"an empty annotation names nobody", true, "", "", ""},
      {"no annotation", true, "", std::nullopt, ""},
      {"without the flag", false, "", "hightower", ""},
  };
  for (const Case& c : cases) {
    api::Pod pod;
    pod.spec.scheduler_name = c.spec;
    if (c.annotation) pod.metadata.annotations.Set(kSchedulerNameAnnotation, *c.annotation);
    EXPECT_EQ(AnnotatedScheduler({.by_annotation = c.by_annotation, .namespaces = {}}, pod), c.want) << c.name;
  }
}

SchedulerOptions With(PodChoice choice) {
  SchedulerOptions options;
  options.seed = 1;
  options.pods = std::move(choice);
  return options;
}

TEST(PodChoiceTest, AnAnnotatedPodIsPlacedByTheProfileItNames) {
  Harness h(DefaultProfiles({"hightower"}), With({.by_annotation = true, .namespaces = {}}));
  h.Set(testing::MakeNode("a"));
  h.core.Handle(PodSet{Annotated(testing::MakePod("p").SchedulerName("default-scheduler"), "hightower")}, h.now);
  h.core.Handle(PodSet{Annotated(testing::MakePod("q").SchedulerName("default-scheduler"), "somebody")}, h.now);
  h.core.Handle(PodSet{Annotated(testing::MakePod("r").SchedulerName("other"), "hightower")}, h.now);
  h.Run();
  EXPECT_EQ(h.Take(), (Lines{"bind p to a"}));
  h.Answer();
  h.Run();
  EXPECT_EQ(h.Take(), (Lines{"Normal Scheduled p: Successfully assigned default/p to a"}));
}

TEST(PodChoiceTest, WithoutTheFlagTheAnnotationIsNothing) {
  Harness h(DefaultProfiles({"hightower", "default-scheduler"}));
  h.Set(testing::MakeNode("a"));
  h.core.Handle(PodSet{Annotated(testing::MakePod("p").SchedulerName("default-scheduler"), "hightower")}, h.now);
  h.Run();
  (void)h.Take();
  ASSERT_EQ(h.core.decisions().size(), 1U);
  EXPECT_EQ(h.core.decisions().Newest().PodKey(), "default/p");
}

TEST(PodChoiceTest, EveryNamespaceIsServedUnlessSomeAreListed) {
  const auto bound = [](PodChoice choice) {
    Harness h(DefaultProfiles(), With(std::move(choice)));
    h.Set(testing::MakeNode("a"));
    for (const char* name : {"default", "team-a", "team-b"}) {
      h.Set(testing::MakePod(std::string("p-") + name).Namespace(name));
      h.Run();
    }
    return h.Take();
  };
  EXPECT_EQ(bound({}), (Lines{"bind p-default to a", "bind p-team-a to a", "bind p-team-b to a"}));
  EXPECT_EQ(bound({.by_annotation = false, .namespaces = {"team-a", "team-c"}}), (Lines{"bind p-team-a to a"}));
}

// The pod was being decided when an earlier process failed a check.
TEST(PodChoiceTest, APodThatIsSetAsideIsReportedOnceAndHoldsUpNobody) {
  Harness h(DefaultProfiles(), With({.by_annotation = false, .namespaces = {}, .set_aside = {"uid-p"}}));
  h.Set(testing::MakeNode("a"));
  auto pod = testing::MakePod("p").Uid("uid-p");
  h.Set(pod);
  h.Set(testing::MakePod("q"));
  h.Run();
  const Lines lines = h.Take();
  ASSERT_EQ(lines.size(), 3U) << ::testing::PrintToString(lines);
  EXPECT_TRUE(lines[0].starts_with("status p SchedulerError: the scheduler failed while it worked on this pod"));
  EXPECT_TRUE(lines[1].starts_with("Warning FailedScheduling p: "));
  EXPECT_EQ(lines[2], "bind q to a");
}

TEST(PodChoiceTest, PodsOnNodesCountWhereverTheyComeFrom) {
  Harness h(DefaultProfiles(), With({.by_annotation = false, .namespaces = {"team-a"}}));
  h.Set(testing::MakeNode("a").Allocatable("cpu", "1"));
  h.Set(testing::MakePod("there").Namespace("team-b").Node("a").Request("cpu", "600m"));
  h.Set(testing::MakePod("p").Namespace("team-a").Request("cpu", "500m"));
  h.Run();
  EXPECT_EQ(h.core.queue().unschedulable_count(), 1U);
}

TEST(PodChoiceTest, SettledWhenEveryPodIsPlacedRefusedOrGated) {
  Harness h;
  EXPECT_TRUE(h.core.IsIdle());
  h.Set(testing::MakeNode("a").Allocatable("cpu", "1"));
  h.Set(testing::MakePod("fits").Request("cpu", "1"));
  EXPECT_FALSE(h.core.IsIdle()) << "it has not been tried";
  h.Run();
  EXPECT_FALSE(h.core.IsIdle()) << "its binding is under way";
  (void)h.Take();
  h.Answer();
  h.Run();
  EXPECT_TRUE(h.core.IsIdle());
  EXPECT_TRUE(h.core.Unbound().empty());

  h.Set(testing::MakePod("large").Request("cpu", "2").NeverPreempts());
  h.Set(testing::MakePod("gated").Gate("example.com/wait"));
  h.Run();
  (void)h.Take();
  EXPECT_TRUE(h.core.IsIdle());
  const std::vector<UnboundPod> unbound = h.core.Unbound();
  ASSERT_EQ(unbound.size(), 2U);
  EXPECT_EQ(unbound[0].key, "default/gated");
  EXPECT_NE(unbound[0].why.find("example.com/wait"), std::string::npos) << unbound[0].why;
  EXPECT_EQ(unbound[1].key, "default/large");
  EXPECT_TRUE(unbound[1].why.starts_with("0/1 nodes are available: 1 Insufficient cpu.")) << unbound[1].why;
  EXPECT_EQ(h.core.Unbound({.count_max = 1}).back().key, "default/gated");
  ASSERT_EQ(h.core.Unbound({"default", "gated", 9}).size(), 1U);
  EXPECT_EQ(h.core.Unbound({"default", "gated", 9})[0].key, "default/large");

  h.Remove(testing::MakePod("large"));
  h.Remove(testing::MakePod("gated"));
  EXPECT_TRUE(h.core.Unbound().empty());
}

TEST(PodChoiceTest, NotSettledWhileAPodWaitsForItsVictims) {
  Harness h;
  h.Set(testing::MakeNode("a").Allocatable("cpu", "1"));
  h.Set(testing::MakePod("victim").Node("a").Request("cpu", "1").Priority(0));
  h.Set(testing::MakePod("urgent").Request("cpu", "1").Priority(10));
  h.Run();
  (void)h.Take();
  EXPECT_FALSE(h.core.IsIdle());
  ASSERT_EQ(h.core.Unbound().size(), 1U);
}

TEST(PodChoiceTest, NotSettledWhileAPodIsToBeTriedAgainAfterAnError) {
  Profiles profiles = DefaultProfiles();
  Lines calls;
  Actor& actor = Enable(*profiles.front(), std::make_shared<Actor>("actor", calls));
  actor.reserve = [](const framework::PodInfo&) { return Status::Error("oops"); };
  Harness h(std::move(profiles));
  h.Set(testing::MakeNode("a"));
  h.Set(testing::MakePod("p"));
  h.Run();
  (void)h.Take();
  EXPECT_FALSE(h.core.IsIdle());
  ASSERT_EQ(h.core.Unbound().size(), 1U);
}

TEST(PodChoiceTest, PodsThatAreBeingBoundAreReported) {
  Harness h;
  h.Set(testing::MakeNode("a"));
  h.Set(testing::MakePod("p"));
  h.Run();
  ASSERT_EQ(h.core.Unbound().size(), 1U);
  EXPECT_EQ(h.core.Unbound()[0].key, "default/p");
  EXPECT_EQ(h.core.Unbound()[0].why, "is still being bound to a");
  EXPECT_EQ(h.core.Unbound({"default", "o", 9}).size(), 1U);
  EXPECT_TRUE(h.core.Unbound({"default", "p", 9}).empty());
  EXPECT_TRUE(h.core.Unbound({.count_max = 0}).empty());
}

}  // namespace
}  // namespace berth::scheduler
