// SPDX-License-Identifier: Apache-2.0
// Tests SchedulingCycle with a fake binding starter that records calls; the test answers for the extenders.
#include "berth/core/scheduler/scheduling_cycle.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/scheduler/core_state_testing.h"

namespace berth::scheduler {
namespace {

using framework::PermitResult;
using framework::PodInfo;
using framework::Status;
using testing::MakePod;

class FakeBindings final : public BindingStarter {
 public:
  void StartBinding(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed,
                    framework::NodeIndex, std::vector<PermitWait>&& permits) override {
    std::string line = profile.scheduler_name() + ": " + queued.pod->name + " to " + assumed->node_name;
    for (const PermitWait& wait : permits) line += ", " + wait.plugin + " waits " + FormatGoDuration(wait.timeout);
    started.push_back(std::move(line));
  }
  std::optional<Throttled> Throttle(const PodInfo& pod) override {
    if (throttled_namespace != pod.namespace_name()) return std::nullopt;
    return Throttled{"held back", std::chrono::seconds(1)};
  }
  void AllowPermitted(const std::string&, const std::string&) override {}
  Lines started;
  std::string throttled_namespace;
};

class SchedulingCycleTest : public CoreStateTest {
 protected:
  SchedulingCycle& cycle() {
    if (!cycle_) {
      sweep_.emplace(state());
      cycle_.emplace(state(), bindings_, *sweep_);
    }
    return *cycle_;
  }
  void Add(const testing::PodBuilder& pod) { state().queue.Add(Info(pod), state().now); }
  // Adds an extender that filters, and one that filters and prioritizes.
  void AddExtenders() {
    config::Extender filter;
    filter.url_prefix = "x";
    filter.filter_verb = "filter";
    config::Extender both = filter;
    both.prioritize_verb = "prioritize";
    both.weight = 1;
    options_.extenders = {filter, both};
  }
  bool Answer(Expected<ExtenderAnswer> answer) {
    ExtenderDone done{operation_, std::move(answer)};
    return cycle().TakeExtenderAnswer(done);
  }
  bool Leave(std::vector<std::string> names) { return Answer(ExtenderAnswer{.node_names = std::move(names)}); }
  // The pod p waits for the first of two extenders, which is asked about the nodes a and b.
  void WaitForExtenders() {
    AddExtenders();
    SetNode("a");
    SetNode("b");
    Add(MakePod("p"));
    EXPECT_TRUE(cycle().ScheduleOne());
    EXPECT_EQ(Take(), Lines{"ask 0 filter p: a b"});
    ASSERT_NE(cycle().waiting_pod(), nullptr);
  }

  FakeBindings bindings_;
  std::optional<IdleSweep> sweep_;
  std::optional<SchedulingCycle> cycle_;
};

TEST_F(SchedulingCycleTest, APodThatIsThrottledIsReportedAndTriedAgain) {
  SetNode("a");
  bindings_.throttled_namespace = "default";
  Add(MakePod("p"));
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_TRUE(Take().empty()) << "not at once: the API server may be slow";
  for (int i = 0; i < 2; ++i) {
    state().now += std::chrono::seconds(4);
    state().queue.Tick(state().now);
    EXPECT_TRUE(cycle().ScheduleOne());
    if (i == 1) break;
    EXPECT_EQ(Take(), (Lines{"status p SchedulerError: held back", "Warning FailedScheduling p: held back"}));
  }
  EXPECT_TRUE(bindings_.started.empty());
  EXPECT_FALSE(state().cache.IsAssumed("uid-default-p"));
  EXPECT_EQ(PlaceOf("p"), queue::Place::kErrorBackoff);
  EXPECT_EQ(state().counts.errors, 0U) << "nothing was tried";
  bindings_.throttled_namespace.clear();
  state().now += std::chrono::seconds(10);
  state().queue.Tick(state().now);
  EXPECT_TRUE(cycle().ScheduleOne());
  ASSERT_EQ(bindings_.started.size(), 1U);
}

TEST_F(SchedulingCycleTest, ALargePodIsReportedAsWaitingWhenItHasWaitedForAWhile) {
  SetNode("a");
  const auto large = [](const std::string& name, int tolerations) {
    testing::PodBuilder pod = MakePod(name);
    for (int i = 0; i < tolerations; ++i) pod.Toleration("key-" + std::to_string(i), "Exists");
    return pod;
  };
  Add(large("first", 70'000));
  Add(large("second", 1000));
  EXPECT_TRUE(cycle().ScheduleOne());
  ASSERT_EQ(bindings_.started.size(), 1u);
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_TRUE(Take().empty());
  state().now += std::chrono::milliseconds(5500);
  state().queue.Tick(state().now);
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_EQ(bindings_.started.size(), 1u);
  const Lines lines = Take();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].starts_with("status second SchedulerError: the pod asks for ")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("Warning FailedScheduling second: ")) << lines[1];
}

// The pod was assumed here, was given to another scheduler meanwhile, and could not be bound.
TEST_F(SchedulingCycleTest, APodOfAnotherSchedulerIsDropped) {
  SetNode("a");
  api::Pod pod = MakePod("p").Build();
  pod.spec.scheduler_name = "another";
  state().queue.Add(state().MakePodInfo(pod), state().now);
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_TRUE(Take().empty());
  EXPECT_TRUE(bindings_.started.empty());
  EXPECT_FALSE(PlaceOf("p").has_value());
  EXPECT_FALSE(state().queue.IsInFlight("uid-default-p"));
}

TEST_F(SchedulingCycleTest, HandsOverWhatItHasAssumedAndReserved) {
  AddPlugin("X").permit = [](const PodInfo&) { return PermitResult{Status::Wait(), std::chrono::hours(1)}; };
  SetNode("a");
  EXPECT_FALSE(cycle().ScheduleOne()) << "no pod is ready";
  Add(MakePod("p"));
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_EQ(calls_, (Lines{"X.Reserve a", "X.Permit a"}));
  EXPECT_EQ(bindings_.started, Lines{"default-scheduler: p to a, X waits 15m0s"}) << "no plugin waits for longer";
  EXPECT_TRUE(state().cache.IsAssumed("uid-default-p"));
  EXPECT_EQ(state().decisions.Newest().node_name, "a");
  EXPECT_EQ(sweep_->NextWake(), state().now + IdleSweep::kPeriod);
  EXPECT_TRUE(Take().empty());
}

TEST_F(SchedulingCycleTest, APodThatFitsNowhereGoesBackIntoTheQueue) {
  Add(MakePod("p"));
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_TRUE(bindings_.started.empty());
  EXPECT_EQ(Take().front(), "status p Unschedulable: no nodes available to schedule pods");
  EXPECT_EQ(state().counts.unschedulable, 1u);
  EXPECT_EQ(PlaceOf("p"), queue::Place::kErrorBackoff) << "no plugin refused it: no event has to bring it back";
}

TEST_F(SchedulingCycleTest, ReserveAndPermitRefuse) {
  struct Case {
    const char* name;
    std::function<void(Actor&)> set_up;
    std::string message;
    Lines calls;
  };
  const std::vector<Case> cases = {
      {"Reserve refuses",
       [](Actor& x) { x.reserve = [](const PodInfo&) { return Status::Unschedulable("full"); }; },
       "Unschedulable: 0/1 nodes are available: 1 full.",
       {"X.Reserve a", "X.Unreserve a"}},
      {"Reserve fails",
       [](Actor& x) { x.reserve = [](const PodInfo&) { return Status::Error("oops"); }; },
       "SchedulerError: running Reserve plugin \"X\": oops",
       {"X.Reserve a", "X.Unreserve a"}},
      {"Permit refuses",
       [](Actor& x) { x.permit = [](const PodInfo&) { return PermitResult{Status::Unschedulable("no"), {}}; }; },
       "Unschedulable: 0/1 nodes are available: 1 no.",
       {"X.Reserve a", "X.Permit a", "X.Unreserve a"}},
  };
  Actor& x = AddPlugin("X");
  SetNode("a");
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    x.reserve = nullptr;
    x.permit = nullptr;
    calls_.clear();
    c.set_up(x);
    Add(MakePod("p"));
    EXPECT_TRUE(cycle().ScheduleOne());
    EXPECT_EQ(Take().front(), "status p " + c.message);
    EXPECT_EQ(calls_, c.calls);
    EXPECT_EQ(state().cache.assumed_count(), 0u);
    EXPECT_TRUE(bindings_.started.empty());
    state().queue.Delete("uid-default-p", state().now);
  }
}

TEST_F(SchedulingCycleTest, PodsThatNeedNoDecisionAnyMoreAreDropped) {
  SetNode("a");
  auto deleted = Object(MakePod("p"));
  deleted->metadata.deletion_time = state().now;
  state().queue.Add(state().MakePodInfo(*deleted), state().now);
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_EQ(Take(), Lines{"Warning FailedScheduling p: skip schedule deleting pod: default/p"});

  Add(MakePod("q"));
  state().cache.AssumePod(Info(MakePod("q").Node("a")));
  EXPECT_TRUE(cycle().ScheduleOne());
  EXPECT_TRUE(Take().empty());
  EXPECT_EQ(state().decisions.Newest().message, "the pod is assumed or bound already");
  EXPECT_TRUE(bindings_.started.empty());
  EXPECT_EQ(state().queue.in_flight_count(), 0u);
}

TEST_F(SchedulingCycleTest, WaitsForExtendersAndGoesOnWithTheirAnswers) {
  WaitForExtenders();
  Add(MakePod("q"));
  EXPECT_FALSE(cycle().ScheduleOne()) << "one cycle at a time";
  EXPECT_TRUE(Leave({"b", "a"}));
  EXPECT_EQ(Take(), Lines{"ask 1 filter p: b a"});
  EXPECT_TRUE(Leave({"b", "a"}));
  EXPECT_EQ(Take(), Lines{"ask 1 prioritize p: b a"});
  EXPECT_TRUE(Answer(ExtenderAnswer{.scores = {{"a", 1}, {"b", 10}}}));
  EXPECT_EQ(bindings_.started, Lines{"default-scheduler: p to b"});
  EXPECT_EQ(cycle().waiting_pod(), nullptr);
  EXPECT_FALSE(Leave({"a"})) << "nobody waits for it any more";
}

TEST_F(SchedulingCycleTest, AnAnswerThatIsNotItsOwnIsLeftToOthers) {
  WaitForExtenders();
  ExtenderDone other{operation_ + 1, ExtenderAnswer{.node_names = {"a"}}};
  EXPECT_FALSE(cycle().TakeExtenderAnswer(other));
  EXPECT_EQ(other.answer->node_names, Lines{"a"}) << "untouched";
  EXPECT_NE(cycle().waiting_pod(), nullptr);
}

TEST_F(SchedulingCycleTest, AnExtenderThatFailsEndsTheCycle) {
  WaitForExtenders();
  EXPECT_TRUE(Answer(Error{ErrorCode::kUnavailable, "down"}));
  EXPECT_EQ(Take(), (Lines{"status p SchedulerError: down", "Warning FailedScheduling p: down"}));
  EXPECT_EQ(cycle().waiting_pod(), nullptr);
  EXPECT_EQ(state().counts.errors, 1u);
}

TEST_F(SchedulingCycleTest, WhatBecomesOfACycleThatWaits) {
  struct Case {
    const char* name;
    std::function<void()> happens;
    bool goes_on;
  };
  auto deleted = Object(MakePod("p"), "2");
  deleted->metadata.deletion_time = Time{};
  const std::vector<Case> cases = {
      {"another pod changes", [&] { cycle().PodChanged(Info(MakePod("q"), "2")); }, true},
      {"the pod changes", [&] { cycle().PodChanged(Info(MakePod("p").Label("a", "b"), "2")); }, true},
      {"another pod goes", [&] { cycle().PodDeleted("uid-default-q"); }, true},
      {"the pod goes", [&] { cycle().PodDeleted("uid-default-p"); }, false},
      {"the pod is being deleted", [&] { cycle().PodChanged(state().MakePodInfo(*deleted)); }, false},
      {"somebody else binds it", [&] { cycle().PodChanged(Info(MakePod("p").Node("a"), "2")); }, false},
      {"it is another scheduler's", [&] { cycle().PodChanged(Info(MakePod("p").SchedulerName("x"), "2")); }, false},
      {"the scheduler ends", [&] { cycle().CancelWaiting("the scheduler ends"); }, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    WaitForExtenders();
    c.happens();
    EXPECT_EQ(cycle().waiting_pod() != nullptr, c.goes_on);
    EXPECT_TRUE(Take().empty());
    cycle().CancelWaiting("the case ends");
    EXPECT_EQ(state().queue.in_flight_count(), 0u);
    EXPECT_TRUE(bindings_.started.empty());
  }
}

}  // namespace
}  // namespace berth::scheduler
