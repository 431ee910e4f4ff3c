#include "berth/plugins/default_preemption/default_preemption.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/fake_filters.h"
#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using framework::Status;
using testing::MakeNode;
using testing::MakePod;

// Three nodes; n0 and n1 have a pod of priority 5, which may be on its way out.
class DefaultPreemptionTest : public ::testing::Test {
 protected:
  DefaultPreemptionTest() {
    for (const char* name : {"n0", "n1", "n2"}) cluster_.Add(MakeNode(name));
    cluster_.Add(MakePod("a").Node("n0").Priority(5));
    cluster_.Add(MakePod("b").Node("n1").Priority(5));
    for (framework::NodeIndex row = 0; row < 3; ++row) filters_.said[row] = Status::Unschedulable("Insufficient cpu");
  }

  framework::PostFilterResult Run(const testing::PodBuilder& pod) {
    return DefaultPreemption().PostFilter(cluster_.cycle(), *pod.Info(), filters_, filters_);
  }

  TestCluster cluster_;
  FakeFilters filters_;
};

TEST_F(DefaultPreemptionTest, NoNodeHelps) {
  for (auto& [row, status] : filters_.said) status = Status::UnschedulableAndUnresolvable("node(s) were unschedulable");
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.");
  EXPECT_TRUE(result.has_nomination);
  EXPECT_TRUE(result.nominated_node_name.empty());
}

TEST_F(DefaultPreemptionTest, NoPodOfLowerPriority) {
  filters_.said[2] = Status::UnschedulableAndUnresolvable("node(s) were unschedulable");
  const auto result = Run(MakePod("p").Priority(5));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
            "2 No preemption victims found for incoming pod.");
  EXPECT_TRUE(result.has_nomination);
  EXPECT_EQ(filters_.run_count, 0);
}

TEST_F(DefaultPreemptionTest, EvictingDoesNotHelp) {
  filters_.again = [](const framework::NodeInfo& node) {
    EXPECT_TRUE(node.pods().empty());
    return Status::Unschedulable("Insufficient memory");
  };
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
            "2 Insufficient memory.");
  EXPECT_EQ(filters_.removed_count, 2);
  EXPECT_EQ(cluster_.Node("n0").pods().size(), 1u) << "the dry run works on a copy";
}

TEST_F(DefaultPreemptionTest, SaysThatVictimsAreNotChosenYet) {
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_EQ(
      TestCluster::Describe(result.status),
      "Unschedulable: preemption: 0/3 nodes are available: choosing victims is not built into this version of berth.");
  EXPECT_TRUE(result.has_nomination);
  EXPECT_TRUE(result.nominated_node_name.empty());
}

TEST_F(DefaultPreemptionTest, AnErrorIsAnError) {
  filters_.on_remove = Status::Error("boom");
  const auto result = Run(MakePod("p").Priority(9));
  EXPECT_EQ(TestCluster::Describe(result.status), "Error: preemption: boom");
  EXPECT_FALSE(result.has_nomination);
}

TEST_F(DefaultPreemptionTest, PolicyNever) {
  const auto result = Run(MakePod("p").Priority(9).NeverPreempts().Nominated("n0"));
  EXPECT_EQ(TestCluster::Describe(result.status),
            "Unschedulable: preemption: not eligible due to preemptionPolicy=Never.");
  EXPECT_FALSE(result.has_nomination);
}

TEST_F(DefaultPreemptionTest, WaitsForItsVictims) {
  const api::PodCondition evicted{"DisruptionTarget", "True", "PreemptionByScheduler", ""};
  const auto victim = [&] { return MakePod("v").Node("n2").Priority(1); };
  const struct {
    const char* name;
    testing::PodBuilder victim;
    bool node_is_hopeless;
    bool want_eligible;
  } cases[] = {
      {"victim is terminating", victim().Deleted(Time{}).Condition(evicted), false, false},
      {"not terminating yet", victim().Condition(evicted), false, true},
      {"terminating for another reason", victim().Deleted(Time{}), false, true},
      {"of higher priority", victim().Priority(10).Deleted(Time{}).Condition(evicted), false, true},
      {"the node can never take the pod", victim().Deleted(Time{}).Condition(evicted), true, true},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({MakeNode("n2")});
    cluster.Add(test.victim);
    FakeFilters filters;
    filters.said[0] = test.node_is_hopeless ? Status::UnschedulableAndUnresolvable("x") : Status::Unschedulable("x");
    const auto result = DefaultPreemption().PostFilter(
        cluster.cycle(), *MakePod("p").Priority(9).Nominated("n2").Info(), filters, filters);
    const bool is_refused =
        result.status.Message() == "preemption: not eligible due to a terminating pod on the nominated node.";
    EXPECT_EQ(is_refused, !test.want_eligible) << result.status.Message();
    EXPECT_EQ(result.has_nomination, test.want_eligible);
  }
}

TEST_F(DefaultPreemptionTest, PodDeletionsAreNeverItsBusiness) {
  const auto pod = MakePod("p").Info();
  const auto gone = MakePod("q").Node("n0").Info();
  EXPECT_EQ(HintFor(DefaultPreemption(), {framework::EventResource::kAssignedPod, framework::action::kDelete}, *pod,
                    {.old_pod = gone.get()}),
            framework::QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
