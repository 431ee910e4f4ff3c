// SPDX-License-Identifier: Apache-2.0
// What GangScheduling says of pods whose group is within others. Groups by themselves are tested through the whole
// core.
#include "berth/plugins/gang_scheduling/gang_scheduling.h"

#include <gtest/gtest.h>

#include "berth/core/cache/column_node_table.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/cache/pod_group_states.h"
#include "berth/plugins/helper/plugin_testing.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::PodGroupKey;
using framework::PodInfoPtr;
using framework::Status;

class GangSchedulingTest : public ::testing::Test {
 protected:
  GangSchedulingTest() {
    framework::Release release = framework::ReleaseOf(37);
    release.has_pod_groups = release.places_pod_groups_by_topology = release.has_composite_pod_groups = true;
    handle_.SetRelease(release);
    handle_.groups = &states_;
  }

  void AddGroup(const std::string& name, const std::string& parent, int min_count = 1) {
    auto group = std::make_shared<api::PodGroup>();
    group->min_count = min_count;
    Add({{"default", name}, parent, {}}, std::move(group));
  }
  void AddComposite(const std::string& name, const std::string& parent, int min_count = 1) {
    auto group = std::make_shared<api::CompositePodGroup>();
    group->min_group_count = min_count;
    Add({{"default", name, true}, parent, {}}, std::move(group));
  }
  template <typename Group>
  void Add(const cache::PodGroupStates::GroupView& view, std::shared_ptr<Group> group) {
    group->metadata.namespace_name = view.key.namespace_name;
    group->metadata.name = view.key.name;
    group->parent_name = view.parent_name;
    handle_.store.Of<Group>().Set(group);
    states_.RecordGroup(nullptr, &view);
  }
  PodInfoPtr Pod(const std::string& name, const std::string& group) {
    PodInfoPtr pod = classes_.MakePodInfo(testing::MakePod(name).InGroup(group).Build());
    states_.SetUnscheduled(pod);
    return pod;
  }
  std::string Gate(const PodInfoPtr& pod) const { return plugin_.PreEnqueue(*pod).Message(); }
  Status Permit(const PodInfoPtr& pod) {
    const framework::Objects none;
    framework::CycleState state;
    const cache::ColumnNodeTable nodes;
    return plugin_.Permit(framework::Cycle(nodes, state, 1, Time{}), *pod, "n").status;
  }

  testing::FakeHandle handle_;
  cache::PodClasses classes_;
  cache::PodGroupStates states_{handle_.store, true};
  TestedPlugin plugin_ = CreateGangScheduling(handle_);
};

TEST_F(GangSchedulingTest, ATreeIsReadyWhenEnoughOfItsGroupsAre) {
  AddComposite("top", "", 2);
  AddGroup("a", "top", 2);
  AddGroup("b", "top");
  const PodInfoPtr pod = Pod("a-0", "a");
  const std::string waits = "waiting for composite pod group \"top\" tree to meet quorum";
  EXPECT_EQ(Gate(pod), waits);
  Pod("a-1", "a");
  EXPECT_EQ(Gate(pod), waits) << "b has no pod";
  const PodInfoPtr other = Pod("b-0", "b");
  EXPECT_EQ(Gate(pod), "");
  EXPECT_EQ(Gate(other), "");
}

TEST_F(GangSchedulingTest, AGroupThatIsInNoOtherIsAskedByItself) {
  AddGroup("g", "", 2);
  const PodInfoPtr pod = Pod("g-0", "g");
  EXPECT_EQ(Gate(pod), "waiting for minCount pods from a gang to appear in scheduling queue");
  Pod("g-1", "g");
  EXPECT_EQ(Gate(pod), "");
}

TEST_F(GangSchedulingTest, MissingGroupsAreNamed) {
  const std::string failed = "failed to build hierarchy snapshot: ";
  const PodInfoPtr pod = Pod("p", "leaf");
  EXPECT_EQ(Gate(pod), failed + "pod group object not found in state for podgroup/default/leaf");
  AddGroup("leaf", "c3");
  const std::string missing = failed + "composite pod group object not found in state for compositepodgroup/default/";
  EXPECT_EQ(Gate(pod), missing + "c3");
  AddComposite("c3", "c2");
  EXPECT_EQ(Gate(pod), missing + "c2");
  AddComposite("c2", "c1");
  AddComposite("c1", "");
  EXPECT_EQ(Gate(pod), "");
}

// As upstream, which looks one level further than the API allows groups.
TEST_F(GangSchedulingTest, MoreLevelsThanTheApiHas) {
  AddGroup("leaf", "c4");
  AddComposite("c4", "c3");
  AddComposite("c3", "c2");
  AddComposite("c2", "c1");
  const PodInfoPtr pod = Pod("p", "leaf");
  const std::string missing =
      "failed to build hierarchy snapshot: composite pod group object not found in state for compositepodgroup/default/"
      "c4";
  EXPECT_EQ(Gate(pod), missing) << "c1 is not there";
  AddComposite("c1", "");
  EXPECT_EQ(Gate(pod), "") << "five levels";
  AddComposite("c1", "c0");
  AddComposite("c0", "");
  EXPECT_EQ(Gate(pod), missing) << "six levels";
  EXPECT_EQ(Permit(pod).code(), framework::Code::kError);
}

TEST_F(GangSchedulingTest, GroupsInACircle) {
  AddGroup("leaf", "a");
  AddComposite("a", "b");
  AddComposite("b", "a");
  const std::string circle = "failed to build hierarchy snapshot: cycle detected in composite pod group hierarchy: ";
  EXPECT_EQ(Gate(Pod("p", "leaf")), circle + "compositepodgroup/default/b");
  AddGroup("alone", "self");
  AddComposite("self", "self");
  EXPECT_EQ(Gate(Pod("q", "alone")), circle + "compositepodgroup/default/self");
}

TEST_F(GangSchedulingTest, PodsWaitAtPermitForTheTree) {
  AddComposite("top", "", 2);
  AddGroup("a", "top");
  AddGroup("b", "top");
  const PodInfoPtr first = Pod("a-0", "a"), second = Pod("b-0", "b");
  states_.SetScheduled(first);
  const Status waits = Permit(first);
  EXPECT_TRUE(waits.IsWait());
  EXPECT_EQ(waits.Message(), "waiting for composite pod group \"top\" tree to meet quorum");
  states_.RecordWaiting(*first, "GangScheduling");
  states_.SetScheduled(second);
  EXPECT_TRUE(Permit(second).IsSuccess());
  ASSERT_EQ(states_.TakeAllowed().size(), 1u);
}

TEST_F(GangSchedulingTest, ACompositeGroupCountsItsGroups) {
  AddComposite("top", "", 2);
  const PodGroupKey top{"default", "top", true};
  const auto& feasible = plugin_.As<framework::PlacementFeasiblePlugin>();
  EXPECT_EQ(feasible.PlacementFeasible(top, {.remaining = 1, .scheduled = 0}).Message(),
            "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining");
  EXPECT_TRUE(feasible.PlacementFeasible(top, {.remaining = 1, .scheduled = 1}).IsWait());
  EXPECT_TRUE(feasible.PlacementFeasible(top, {.remaining = 0, .scheduled = 2}).IsSuccess());
}

// Since 1.38.
class NewestGangSchedulingTest : public GangSchedulingTest {
 protected:
  NewestGangSchedulingTest() {
    framework::Release release = framework::ReleaseOf(38);
    release.has_pod_groups = release.places_pod_groups_by_topology = release.has_composite_pod_groups = true;
    handle_.SetRelease(release);
  }
};

TEST_F(NewestGangSchedulingTest, NothingWaitsAtPermit) {
  AddComposite("top", "", 2);
  AddGroup("a", "top");
  AddGroup("b", "top");
  const PodInfoPtr first = Pod("a-0", "a");
  states_.SetScheduled(first);
  EXPECT_TRUE(Permit(first).IsSuccess());
}

TEST_F(NewestGangSchedulingTest, GatesNameTheRoot) {
  const PodInfoPtr pod = Pod("p", "leaf");
  const std::string missing = "pod group \"leaf\" or one of its composite pod group ancestors has not been created yet";
  EXPECT_EQ(Gate(pod), missing);
  AddGroup("leaf", "c1", 2);
  EXPECT_EQ(Gate(pod), missing);
  AddComposite("c1", "c0");
  AddComposite("c0", "");
  EXPECT_EQ(Gate(pod), "waiting for compositepodgroup/default/c0 to meet its quorum");
  auto basic = std::make_shared<api::CompositePodGroup>();
  Add({{"default", "c0", true}, "", {}}, std::move(basic));
  EXPECT_EQ(Gate(pod), "waiting for compositepodgroup/default/c0 tree to have at least one ready child group");
  Pod("q", "leaf");
  EXPECT_EQ(Gate(pod), "");
  AddGroup("alone", "", 2);
  EXPECT_EQ(Gate(Pod("r", "alone")), "waiting for podgroup/default/alone to meet its quorum");
  AddGroup("x", "self");
  AddComposite("self", "self");
  EXPECT_EQ(Gate(Pod("s", "x")),
            "cycle detected in the hierarchy: [podgroup/default/x compositepodgroup/default/self "
            "compositepodgroup/default/self]");
}

TEST_F(NewestGangSchedulingTest, ACompositeGroupThatWantsFewerWakesItsPods) {
  AddComposite("top", "", 3);
  AddGroup("a", "top");
  const PodInfoPtr pod = Pod("a-0", "a");
  auto before = std::make_shared<api::CompositePodGroup>(), after = std::make_shared<api::CompositePodGroup>();
  for (auto& group : {before, after}) {
    group->metadata.namespace_name = "default";
    group->metadata.name = "top";
  }
  before->min_group_count = 3;
  const auto hint = [&](std::optional<std::int32_t> wants) {
    after->min_group_count = wants;
    const framework::AnyObject old_object = std::shared_ptr<const api::CompositePodGroup>(before);
    const framework::AnyObject new_object = std::shared_ptr<const api::CompositePodGroup>(after);
    framework::EventObjects event;
    event.old_object = &old_object;
    event.new_object = &new_object;
    const auto events = plugin_.As<EnqueueExtensions>().EventsToRegister();
    return events.back().hint(*pod, event);
  };
  EXPECT_EQ(hint(1), framework::QueueingHint::kQueue);
  EXPECT_EQ(hint(3), framework::QueueingHint::kSkip);
  EXPECT_EQ(hint(std::nullopt), framework::QueueingHint::kSkip);
}

TEST_F(GangSchedulingTest, NewerMessagesCountWhatFailed) {
  AddComposite("top", "", 2);
  const PodGroupKey top{"default", "top", true};
  framework::Release release = handle_.release();
  release.names_failed_groups = true;
  handle_.SetRelease(release);
  const auto& feasible = plugin_.As<framework::PlacementFeasiblePlugin>();
  EXPECT_EQ(feasible.PlacementFeasible(top, {.remaining = 1, .scheduled = 0, .failed = 3}).Message(),
            "scheduling policy's minimum threshold (2) cannot be satisfied: 0 scheduled, 3 unschedulable, 1 "
            "not-evaluated");
}

}  // namespace
}  // namespace berth::plugins
