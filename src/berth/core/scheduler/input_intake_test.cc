// SPDX-License-Identifier: Apache-2.0
// Tests InputIntake with fakes for both cycles, which record the calls.
#include "berth/core/scheduler/input_intake.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/instruments/metric_list.h"
#include "berth/core/scheduler/core_state_testing.h"

namespace berth::scheduler {
namespace {

using framework::Operation;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::StepResult;
using testing::MakePod;

class FakeScheduling final : public SchedulingCycleInputs {
 public:
  explicit FakeScheduling(Lines& calls) : calls_(calls) {}
  void PodChanged(const PodInfoPtr& pod) override { calls_.push_back("scheduling: changed " + pod->name); }
  void PodDeleted(std::string_view uid) override { calls_.push_back("scheduling: deleted " + std::string(uid)); }
  bool TakeExtenderAnswer(ExtenderDone& input) override {
    if (input.operation != waits_for) return false;
    calls_.push_back("scheduling: answer " + std::to_string(input.operation));
    return true;
  }
  std::uint64_t waits_for = 0;

 private:
  Lines& calls_;
};

class FakeBindings final : public BindingCycleInputs {
 public:
  explicit FakeBindings(Lines& calls) : calls_(calls) {}
  void PodAssigned(const PodInfoPtr& pod) override { Note("assigned " + pod->name); }
  void PodStillPending(const PodInfoPtr& pod) override { Note("still pending " + pod->name); }
  void PodDeleted(std::string_view uid) override { Note("deleted " + std::string(uid)); }
  void PermitDecided(const framework::PermitDecision& decision) override { Note("permit " + decision.pod_uid); }
  void WriteEnded(std::uint64_t operation, StepResult&& result) override {
    Note("write " + std::to_string(operation) + (result.error ? " failed" : " " + result.body));
  }
  void StepEnded(std::uint64_t operation, const StepResult&) override { Note("step " + std::to_string(operation)); }
  PodInfoPtr PodWasRead(PodReadDone&& input) override {
    Note("read " + std::to_string(input.operation));
    return bound_elsewhere;
  }
  void TakeExtenderAnswer(ExtenderDone&& input) override { Note("answer " + std::to_string(input.operation)); }
  PodInfoPtr bound_elsewhere;

 private:
  void Note(const std::string& what) { calls_.push_back("bindings: " + what); }
  Lines& calls_;
};

class InputIntakeTest : public CoreStateTest {
 protected:
  // The calls to both cycles for this input.
  Lines CallsOf(Input input) {
    calls_.clear();
    intake().Take(std::move(input));
    return calls_;
  }
  InputIntake& intake() {
    if (!intake_) {
      background_.emplace(state().outputs, state().operations);
      idle_sweep_.emplace(state());
      intake_.emplace(state(), scheduling_, bindings_, *background_, *idle_sweep_);
    }
    return *intake_;
  }
  static PodSet Set(const testing::PodBuilder& pod, std::string resource_version = "1") {
    return {Object(pod, std::move(resource_version))};
  }
  NodeSet SetOf(const std::string& node) { return {testing::MakeNode(node).Build()}; }
  bool IsKnown(std::string_view uid) { return state().cache.FindPod(uid) != nullptr; }

  Lines calls_;
  FakeScheduling scheduling_{calls_};
  FakeBindings bindings_{calls_};
  std::optional<IdleSweep> idle_sweep_;
  std::optional<BackgroundOperations> background_;
  std::optional<InputIntake> intake_;
};

TEST_F(InputIntakeTest, WhatIsKeptOfALargePodGoesSoonAfterIt) {
  CallsOf(Set(MakePod("ordinary")));
  CallsOf(PodGone{"default", "ordinary", "uid-default-ordinary"});
  EXPECT_EQ(idle_sweep_->NextWake(), std::nullopt);
  for (const bool is_bound : {false, true}) {
    testing::PodBuilder large = MakePod("large");
    for (int i = 0; i < 1000; ++i) large.Toleration("key-" + std::to_string(i), "Exists");
    if (is_bound) large.Node("n1");
    CallsOf(Set(large));
    EXPECT_EQ(idle_sweep_->NextWake(), std::nullopt);
    CallsOf(PodGone{"default", "large", "uid-default-large"});
    EXPECT_EQ(idle_sweep_->NextWake(), state().now + IdleSweep::kPeriodAfterLargePods);
    for (int i = 0; i < 2; ++i) {
      state().now += IdleSweep::kPeriodAfterLargePods;
      idle_sweep_->Tick();
    }
  }
}

TEST_F(InputIntakeTest, APendingPodIsQueuedUpdatedAndForgotten) {
  EXPECT_EQ(CallsOf(Set(MakePod("p"))), Lines{"scheduling: changed p"});
  EXPECT_EQ(PlaceOf("p"), queue::Place::kActive);
  CallsOf(Set(MakePod("p").Gate("wait"), "2"));
  EXPECT_EQ((*state().queue.FindWaiting("uid-default-p"))->resource_version, "2");
  EXPECT_EQ(CallsOf(PodGone{"default", "p", "uid-default-p"}),
            (Lines{"scheduling: deleted uid-default-p", "bindings: deleted uid-default-p"}));
  EXPECT_EQ(PlaceOf("p"), std::nullopt);
}

TEST_F(InputIntakeTest, PodsOfOthersAreNotQueued) {
  options_.pods.namespaces = {"default"};
  CallsOf(Set(MakePod("p").SchedulerName("another")));
  CallsOf(Set(MakePod("q").Namespace("elsewhere")));
  EXPECT_TRUE(state().queue.Dump().empty());
  CallsOf(Set(MakePod("r")));
  CallsOf(Set(MakePod("r").SchedulerName("another"), "2"));
  EXPECT_TRUE(state().queue.Dump().empty()) << "no longer ours";
}

TEST_F(InputIntakeTest, AnAssignedPodLeavesTheQueueForTheCache) {
  CallsOf(SetOf("a"));
  CallsOf(Set(MakePod("p")));
  EXPECT_EQ(CallsOf(Set(MakePod("p").Node("a"), "2")), Lines{"scheduling: changed p"});
  EXPECT_TRUE(IsKnown("uid-default-p"));
  EXPECT_EQ(PlaceOf("p"), std::nullopt);
  EXPECT_EQ(CallsOf(Set(MakePod("p"), "1")), Lines{"bindings: still pending p"}) << "a watch that lags behind";
  CallsOf(PodGone{"default", "p", "uid-default-p"});
  EXPECT_FALSE(IsKnown("uid-default-p"));
}

TEST_F(InputIntakeTest, AnAssumedPodIsConfirmed) {
  CallsOf(SetOf("a"));
  state().cache.AssumePod(Info(MakePod("p").Node("a")));
  EXPECT_EQ(CallsOf(Set(MakePod("p").Node("a"), "2")), (Lines{"scheduling: changed p", "bindings: assigned p"}));
  EXPECT_FALSE(state().cache.IsAssumed("uid-default-p"));
}

TEST_F(InputIntakeTest, APodThatHasEndedIsForgotten) {
  CallsOf(SetOf("a"));
  CallsOf(Set(MakePod("p").Node("a")));
  auto ended = Object(MakePod("p").Node("a"), "2");
  ended->status.phase = api::PodPhase::kSucceeded;
  EXPECT_EQ(CallsOf(PodSet{ended}), (Lines{"scheduling: deleted uid-default-p", "bindings: deleted uid-default-p"}));
  EXPECT_FALSE(IsKnown("uid-default-p"));
}

TEST_F(InputIntakeTest, NodesComeChangeAndGo) {
  CallsOf(SetOf("a"));
  CallsOf(SetOf("a"));
  EXPECT_NE(state().cache.nodes().Find("a"), framework::kNoNode);
  CallsOf(NodeGone{"a"});
  CallsOf(NodeGone{"a"});  // a second deletion is harmless
  EXPECT_EQ(state().cache.nodes().Find("a"), framework::kNoNode);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(InputIntakeTest, OutcomesGoToWhoWaitsForThem) {
  scheduling_.waits_for = 3;
  const Error error{ErrorCode::kConflict, "changed"};
  EXPECT_EQ(CallsOf(WriteDone{1, std::nullopt, "{}"}), Lines{"bindings: write 1 {}"});
  EXPECT_EQ(CallsOf(WriteDone{1, error}), Lines{"bindings: write 1 failed"});
  EXPECT_EQ(CallsOf(WorkDone{2, {}}), Lines{"bindings: step 2"});
  EXPECT_EQ(CallsOf(ExtenderDone{3, ExtenderAnswer()}), Lines{"scheduling: answer 3"});
  EXPECT_EQ(CallsOf(ExtenderDone{4, ExtenderAnswer()}), Lines{"bindings: answer 4"});
  EXPECT_EQ(CallsOf(PodReadDone{5, nullptr, {}}), Lines{"bindings: read 5"});
  EXPECT_EQ(CallsOf(framework::PermitDecision{"u", "X", true, ""}), Lines{"bindings: permit u"});
}

TEST_F(InputIntakeTest, BackgroundOperationsGetTheirOwnOutcomes) {
  intake();
  int ended = 0;
  const auto count = [&](const StepResult&) {
    ++ended;
    return Operation::Done();
  };
  background_->Start(Operation::Write(framework::ObjectRead{}, count), state().now);
  Take();
  EXPECT_TRUE(CallsOf(WriteDone{operation_, std::nullopt}).empty());
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(CallsOf(WriteDone{operation_, std::nullopt}).size(), 1u) << "it is over";
}

TEST_F(InputIntakeTest, TimeEndsWaitsInTheirOrder) {
  intake();
  const auto wait = [&](std::uint64_t number, Duration delay) {
    OperationStep step;
    state().operations.Begin(step, Operation::After(delay, {}), number, state().now);
  };
  for (int i = 0; i < 3; ++i) state().outputs.NewOperation();
  wait(1, 2s);
  wait(2, 1s);
  wait(3, 3s);
  state().now += 2s;
  intake().TakeTime();
  EXPECT_EQ(calls_, (Lines{"bindings: step 2", "bindings: step 1"}));
}

TEST_F(InputIntakeTest, APodThatWasReadBoundElsewhereIsTakenIn) {
  CallsOf(SetOf("b"));
  bindings_.bound_elsewhere = Info(MakePod("p").Node("b"));
  EXPECT_EQ(CallsOf(PodReadDone{5, nullptr, {}}), (Lines{"bindings: read 5", "scheduling: changed p"}));
  EXPECT_TRUE(IsKnown("uid-default-p"));
}

TEST_F(InputIntakeTest, OtherObjectsGoIntoTheirStores) {
  auto fast = std::make_shared<api::StorageClass>();
  fast->metadata.name = "fast";
  CallsOf(ObjectSet{std::shared_ptr<const api::StorageClass>(fast)});
  EXPECT_NE(state().objects.Of<api::StorageClass>().Find("fast"), nullptr);
  CallsOf(ObjectGone{framework::ObjectKind::kStorageClass, "fast"});
  EXPECT_EQ(state().objects.Of<api::StorageClass>().Find("fast"), nullptr);
}

// For pods that wait for devices a device taint rule is a change of slices. A change of its status is ignored.
TEST_F(InputIntakeTest, ADeviceTaintRuleIsAnUpdateOfSlices) {
  const auto update_count = [this] {
    return state()
        .metrics.registry.AddHistogram(instruments::DescriptionOf("scheduler_event_handling_duration_seconds"))
        .With({"resource.k8s.io/ResourceSliceUpdate"})
        .count();
  };
  const auto set = [this](const std::string& key, const std::string& version) {
    auto rule = std::make_shared<api::DeviceTaintRule>();
    rule->metadata.name = "r";
    rule->metadata.resource_version = version;
    rule->selector.emplace();
    rule->taint = {key, "", "NoSchedule"};
    CallsOf(ObjectSet{std::shared_ptr<const api::DeviceTaintRule>(rule)});
  };
  set("a", "1");
  EXPECT_EQ(update_count(), 1U);
  set("a", "2");
  EXPECT_EQ(update_count(), 1U);
  set("b", "3");
  EXPECT_EQ(update_count(), 2U);
  CallsOf(ObjectGone{framework::ObjectKind::kDeviceTaintRule, "r"});
  EXPECT_EQ(update_count(), 3U);
  CallsOf(ObjectGone{framework::ObjectKind::kDeviceTaintRule, "r"});
  EXPECT_EQ(update_count(), 3U);
}

}  // namespace
}  // namespace berth::scheduler
