// SPDX-License-Identifier: Apache-2.0
// Pods of groups on their way through the queue.
#include "berth/core/queue/pod_group_queue.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "berth/core/queue/queue_testing.h"

namespace berth::queue {
namespace {

using framework::PodGroupKey;
using framework::PodInfoPtr;
using Names = std::vector<std::string>;

// Pod groups that exist, each with its parent, if it has one.
class FakeGroups final : public framework::PodGroups {
 public:
  std::optional<PodGroupKey> RootOf(const PodGroupKey& group) const override {
    const auto parent = parents.find(group.name);
    if (parent == parents.end()) return std::nullopt;
    return parent->second.empty() ? group : RootOf({group.namespace_name, parent->second, true});
  }
  std::vector<PodGroupKey> ChildrenOf(const PodGroupKey& composite) const override {
    std::vector<PodGroupKey> children;
    for (const auto& [name, parent] : parents) {
      if (parent == composite.name) children.push_back({composite.namespace_name, name, false});
    }
    return children;
  }
  const api::PodGroup* FindPodGroup(const PodGroupKey&) const override { return nullptr; }
  const api::CompositePodGroup* FindComposite(const PodGroupKey&) const override { return nullptr; }
  std::vector<PodGroupKey> GroupsOfPods() const override { return {}; }
  Counts CountsOf(const PodGroupKey&) const override { return {}; }
  std::vector<PodInfoPtr> ScheduledPods(const PodGroupKey&) const override { return {}; }
  std::vector<PodInfoPtr> UnscheduledPods(const PodGroupKey&) const override { return {}; }
  void AllowWaiting(const PodGroupKey&, std::string_view) override {}

  std::map<std::string, std::string> parents;
};

class PodGroupQueueTest : public ::testing::Test {
 protected:
  PodGroupQueueTest() {
    ProfileHooks hooks;
    hooks.pre_enqueue = {&gate_};
    hooks.events = {{"Gate", {events::kNodeAdd, nullptr}}};
    queue_ =
        std::make_unique<SchedulingQueue>(SchedulingQueue::Options{}, sort_,
                                          absl::flat_hash_map<std::string, ProfileHooks>{{"default-scheduler", hooks}});
    queue_->SetPodGroups(groups_);
    groups_.parents = {{"g", ""}};
  }

  void Add(const PodSketch& sketch, const std::string& group = "g") {
    auto pod = std::make_shared<framework::PodInfo>(*MakePodInfo(sketch));
    pod->pod_group_name = group;
    queue_->Add(std::move(pod), now_);
    now_ += 1ms;
  }
  // Pops the next group; empty: there is none.
  QueuedPodGroup Pop() {
    const auto popped = queue_->Pop(now_);
    return popped && popped->is_pod_group ? queue_->TakePoppedGroup() : QueuedPodGroup();
  }
  static Names NamesOf(const QueuedPodGroup& group) {
    Names names;
    for (const QueuedPodInfo& member : group.members) names.push_back(member.pod->name);
    return names;
  }
  void Fail(const QueuedPodInfo& member) { queue_->AddUnschedulable(member, {"Fit"}, {}, now_); }
  Place PlaceOf(const std::string& name) const { return queue_->Find("uid-" + name)->place; }

  PriorityThenTime sort_;
  Gate gate_{"Gate"};
  FakeGroups groups_;
  std::unique_ptr<SchedulingQueue> queue_;
  Time now_ = kStart;
};

TEST_F(PodGroupQueueTest, MembersComeTogetherInTheirOrder) {
  Add({.name = "b"});
  Add({.name = "a"});
  Add({.name = "first", .priority = 5});
  EXPECT_EQ(queue_->active_count(), 1u);
  EXPECT_EQ(queue_->Dump().size(), 3u);
  const QueuedPodGroup group = Pop();
  EXPECT_EQ(group.root, PodGroupKey("default", "g"));
  EXPECT_EQ(NamesOf(group), (Names{"first", "b", "a"}));
  EXPECT_EQ(group.own.attempts, 1);
  EXPECT_EQ(group.members[0].attempts, 1);
  EXPECT_EQ(queue_->in_flight_count(), 3u);
  for (const QueuedPodInfo& member : group.members) queue_->Done(member);
  queue_->EndGroup(PodGroupEnd::kScheduled, now_);
  EXPECT_TRUE(queue_->Dump().empty());
}

TEST_F(PodGroupQueueTest, TheMostTriedComeFirstTheNextTime) {
  Add({.name = "a"});
  Add({.name = "b"});
  QueuedPodGroup group = Pop();
  Fail(group.members[1]);
  queue_->Done(group.members[0]);
  queue_->EndGroup(PodGroupEnd::kScheduled, now_);
  Add({.name = "0"});
  EXPECT_EQ(PlaceOf("b"), Place::kActive);
  EXPECT_EQ(NamesOf(Pop()), (Names{"b", "0"}));
}

TEST_F(PodGroupQueueTest, ARefusedGroupBacksOffAndIsNotTakenBefore) {
  Add({.name = "a"});
  Fail(Pop().members[0]);
  queue_->EndGroup(PodGroupEnd::kRefused, now_);
  EXPECT_EQ(PlaceOf("a"), Place::kErrorBackoff);
  EXPECT_EQ(queue_->refused_group_count(), 1u);
  EXPECT_TRUE(Pop().members.empty());
  now_ += 3s;
  EXPECT_EQ(NamesOf(Pop()), Names{"a"});
}

TEST_F(PodGroupQueueTest, ALateMemberWaitsForTheCycleToEnd) {
  Add({.name = "a"});
  const QueuedPodGroup group = Pop();
  Add({.name = "late"});
  EXPECT_EQ(PlaceOf("late"), Place::kInFlight);
  queue_->Done(group.members[0]);
  queue_->EndGroup(PodGroupEnd::kScheduled, now_);
  EXPECT_EQ(NamesOf(Pop()), Names{"late"});
}

TEST_F(PodGroupQueueTest, OneGatedMemberGatesTheGroup) {
  Add({.name = "a"});
  Add({.name = "held", .gates = {"Gate"}});
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  EXPECT_TRUE(Pop().members.empty());
  queue_->Move(events::kNodeAdd, {.new_node = MakeNode("n")}, now_);
  EXPECT_EQ(PlaceOf("a"), Place::kGated) << "asked again, and held again";
  queue_->Delete("uid-held", now_);
  queue_->Move(events::kNodeAdd, {.new_node = MakeNode("n")}, now_);
  EXPECT_EQ(NamesOf(Pop()), Names{"a"});
}

TEST_F(PodGroupQueueTest, AGroupIsReadyWhenTheMemberThatGatedItGoes) {
  Add({.name = "a"});
  Add({.name = "b"});
  Add({.name = "held", .gates = {"Gate"}});
  queue_->Delete("uid-b", now_);
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  queue_->Delete("uid-held", now_);
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
  EXPECT_EQ(NamesOf(Pop()), Names{"a"});
}

TEST_F(PodGroupQueueTest, AGroupStaysGatedWhileAnotherMemberIsHeld) {
  Add({.name = "a"});
  Add({.name = "held", .gates = {"Gate"}});
  Add({.name = "too", .gates = {"Gate"}});
  queue_->Delete("uid-held", now_);
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  // A pod of the same name replaces it, and is not gated.
  Add({.name = "too", .uid = "another"});
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
  EXPECT_EQ(NamesOf(Pop()), (Names{"a", "too"}));
}

TEST_F(PodGroupQueueTest, ATreeIsReadyWhenTheGroupThatGatedItGoes) {
  groups_.parents = {{"g", "top"}, {"h", "top"}, {"top", ""}};
  Add({.name = "a"}, "g");
  Add({.name = "held", .gates = {"Gate"}}, "h");
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  groups_.parents = {{"g", "top"}, {"top", ""}};
  queue_->PodGroupGone({"default", "top", true}, now_);
  EXPECT_EQ(NamesOf(Pop()), Names{"a"});
}

TEST_F(PodGroupQueueTest, WithoutItsObjectsAPodIsIncomplete) {
  groups_.parents = {{"g", "top"}};
  Add({.name = "a"});
  EXPECT_TRUE(queue_->Find("uid-a")->lacks_pod_group);
  EXPECT_TRUE(Pop().members.empty());
  groups_.parents = {{"g", "top"}, {"top", ""}};
  queue_->PodGroupAdded({"default", "top", true}, now_);
  const QueuedPodGroup group = Pop();
  EXPECT_EQ(group.root, PodGroupKey("default", "top", true));
  EXPECT_EQ(NamesOf(group), Names{"a"});
}

TEST_F(PodGroupQueueTest, PodsOutliveTheirGroup) {
  groups_.parents = {{"g", "top"}, {"h", "top"}, {"top", ""}};
  Add({.name = "a"}, "g");
  Add({.name = "b"}, "h");
  EXPECT_EQ(queue_->active_count(), 1u);
  groups_.parents = {{"h", "top"}, {"top", ""}};
  queue_->PodGroupGone({"default", "top", true}, now_);
  EXPECT_TRUE(queue_->Find("uid-a")->lacks_pod_group);
  EXPECT_EQ(NamesOf(Pop()), Names{"b"});
}

TEST_F(PodGroupQueueTest, AGroupEndsWithItsLastMember) {
  Add({.name = "a"});
  queue_->Delete("uid-a", now_);
  EXPECT_EQ(queue_->active_count(), 0u);
  EXPECT_TRUE(Pop().members.empty());
}

TEST_F(PodGroupQueueTest, WhatFailsAfterTheGroupsCycleWaitsForItsBackOff) {
  Add({.name = "a"});
  QueuedPodInfo member = Pop().members.at(0);
  queue_->EndGroup(PodGroupEnd::kScheduled, now_);
  // Its binding fails, is retried, and fails again.
  for (const Duration wait : {1s, 2s, 4s}) {
    queue_->AddUnschedulable(member, {}, {}, now_);
    now_ += wait - 1ms;
    EXPECT_TRUE(Pop().members.empty());
    now_ += 2s;
    const QueuedPodGroup group = Pop();
    ASSERT_EQ(NamesOf(group), Names{"a"});
    member = group.members[0];
    queue_->EndGroup(PodGroupEnd::kScheduled, now_);
  }
}

TEST_F(PodGroupQueueTest, ActivatingAMemberActivatesItsGroup) {
  Add({.name = "a"});
  Add({.name = "b"});
  const QueuedPodGroup group = Pop();
  for (const QueuedPodInfo& member : group.members) Fail(member);
  queue_->EndGroup(PodGroupEnd::kError, now_);
  EXPECT_EQ(queue_->refused_group_count(), 0u);
  const std::string uids[] = {"uid-b"};
  queue_->Activate(uids, now_);
  EXPECT_EQ(NamesOf(Pop()), (Names{"a", "b"}));
}

}  // namespace
}  // namespace berth::queue
