// SPDX-License-Identifier: Apache-2.0
// Preemption from end to end in the core: an attempt that finds victims, their eviction, and the preemptor's way back.
#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;

// A node that is full, and a pod that needs all of it.
class PreemptionTest : public ::testing::Test {
 protected:
  void Start() {
    harness_ = std::make_unique<Harness>(std::move(profiles_));
    h().Set(MakeNode("a"));
    h().Set(victim_);
    h().Run();
    h().Take();
  }
  // The attempt that nominates the preemptor; leaves the answer to the victim's patch to be given.
  void Preempt() {
    h().Set(preemptor_);
    h().Run();
    EXPECT_EQ(h().Take(),
              (Lines{"status p Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. nominates a",
                     "Warning FailedScheduling p: 0/1 nodes are available: 1 Insufficient cpu.", "patch v"}));
  }
  Harness& h() { return *harness_; }

  Lines calls_;
  Profiles profiles_ = DefaultProfiles();
  std::unique_ptr<Harness> harness_;
  testing::PodBuilder victim_ = MakePod("v").Request("cpu", "3").Node("a");
  testing::PodBuilder preemptor_ = MakePod("p").Request("cpu", "4").Priority(10);
};

const char* const kPreempted = "Normal Preempted v: Preempted by pod uid-default-p on node a";

TEST_F(PreemptionTest, EvictsAndBinds) {
  Start();
  Preempt();
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{"delete v"});
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{kPreempted});
  h().Set(testing::PodBuilder(victim_).Deleted(h().now));
  h().Set(testing::PodBuilder(preemptor_).Nominated("a"));
  h().Run(1s);
  EXPECT_TRUE(h().Take().empty()) << "the victim is still on its way out";
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_EQ(h().Take(), Lines{"bind p to a"});
}

TEST_F(PreemptionTest, IsHeldBackWhileVictimsAreEvicted) {
  victim_.Request("cpu", "1");
  Start();
  h().Set(MakePod("v2").Request("cpu", "3").Node("a"));
  h().Set(preemptor_);
  h().Run();
  EXPECT_EQ(h().Take().back(), "patch v");
  h().Answer();
  // The first victim goes, but the other one has not even been asked to.
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_EQ(h().Take(), Lines{"delete v"});
  h().Answer(Error{ErrorCode::kNotFound, "gone"});
  EXPECT_EQ(h().Take(), Lines{"patch v2"});
  h().Answer();
  h().Answer();
  h().Remove(MakePod("v2").Node("a"));
  h().Run(10s);
  EXPECT_EQ(h().Take().back(), "bind p to a");
}

TEST_F(PreemptionTest, TheVictimsEndOvertakesTheAnswer) {
  Start();
  Preempt();
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{"delete v"});
  const std::uint64_t deletion = h().operation;
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_EQ(h().Take(), Lines{"bind p to a"});
  h().operation = deletion;
  h().LoseAnswer();
  h().Run(1s);
  EXPECT_EQ(h().Take(), Lines{"delete v"}) << "it is asked again, as nobody knows";
  h().Answer(Error{ErrorCode::kNotFound, "gone"});
  EXPECT_EQ(h().Take(), Lines{kPreempted});
}

TEST_F(PreemptionTest, TriesAgainWhenEvictingFails) {
  Start();
  Preempt();
  h().Answer(Error{ErrorCode::kForbidden, "no"});
  h().Run();
  EXPECT_EQ(h().Take().back(), "patch v");
}

TEST_F(PreemptionTest, SurvivesThePreemptorsEnd) {
  Start();
  Preempt();
  h().Answer();
  h().Remove(preemptor_);
  h().Take();
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{kPreempted});
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_TRUE(h().Take().empty());
  EXPECT_TRUE(h().IsIdle());
}

// What leaves takes no part in what refuses the pod: no filter's hint wakes it.
TEST_F(PreemptionTest, LooksForAnotherNodeWhenItsVictimsHaveLeft) {
  harness_ = std::make_unique<Harness>(std::move(profiles_));
  const auto repelled = [](const char* name) { return MakePod(name).Label("app", "x"); };
  const auto victim = [&] {
    return MakePod("v").Node("a").Deleted(h().now).Condition({"DisruptionTarget", "True", "PreemptionByScheduler", ""});
  };
  h().Set(MakeNode("a"));
  h().Set(MakeNode("b"));
  h().Set(victim());
  h().Set(repelled("stays").Node("a").Priority(20));
  h().Set(repelled("w").Node("b"));
  h().Set(MakePod("p")
              .Priority(10)
              .AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "x"}})))
              .Nominated("a"));
  h().Run();
  EXPECT_EQ(h().Take().back(),
            "Warning FailedScheduling p: 0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
            "no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node.");
  h().Remove(victim());
  h().Run();
  const Lines lines = h().Take();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "patch w");
  EXPECT_EQ(h().handle->NominatedPods("b").size(), 1u);
}

TEST_F(PreemptionTest, ClearsNominationsOfLessImportantPods) {
  Start();
  h().Set(MakePod("low").Request("cpu", "4").Priority(5).NeverPreempts().Nominated("a"));
  h().Run();
  h().Take();
  h().Set(preemptor_);
  h().Run();
  const Lines lines = h().Take();
  EXPECT_NE(std::find(lines.begin(), lines.end(), "status low nominates "), lines.end());
  EXPECT_EQ(h().handle->NominatedPods("a").size(), 1u);
}

TEST_F(PreemptionTest, TakesBackAPodThatWaits) {
  Enable(*profiles_.front(), std::make_shared<Actor>("X", calls_)).permit = [](const framework::PodInfo& pod) {
    return framework::PermitResult{pod.name == "v" ? framework::Status::Wait() : framework::Status(), 10min};
  };
  victim_ = MakePod("v").Request("cpu", "3");
  Start();
  EXPECT_EQ(h().core.binding_count(), 1u);
  h().Set(preemptor_);
  h().Run(10s);
  const Lines lines = h().Take();
  const auto has = [&](const char* line) { return std::find(lines.begin(), lines.end(), line) != lines.end(); };
  EXPECT_TRUE(has("Normal Preempted v: Preempted by pod uid-default-p on node a (in kube-scheduler memory)."));
  EXPECT_TRUE(has("Warning FailedScheduling v: waiting on permit for pod: preempted"));
  EXPECT_TRUE(has("bind p to a"));
  EXPECT_FALSE(has("patch v"));
}

}  // namespace
}  // namespace berth::scheduler
