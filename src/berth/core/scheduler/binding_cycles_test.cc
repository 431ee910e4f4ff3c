// SPDX-License-Identifier: Apache-2.0
// Tests BindingCycles without a scheduling cycle: the tests assume pods and give answers. binding_cycle_test.cc tests a
// whole core as plugins, users and the queue see it.
#include "berth/core/scheduler/binding_cycles.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/scheduler/core_state_testing.h"

namespace berth::scheduler {
namespace {

using framework::Operation;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using testing::MakePod;

class BindingCyclesTest : public CoreStateTest {
 protected:
  // Assumes the pod p on node a, with these Permit waits.
  void Start(std::vector<PermitWait> permits = {}) {
    SetNode("a");
    queue::QueuedPodInfo queued = Pop(MakePod("p"));
    const PodInfoPtr assumed = Info(MakePod("p").Node("a"));
    const framework::NodeIndex row = state().cache.nodes().Find("a");
    state().cache.AssumePod(assumed, row);
    bindings().StartBinding(profile(), std::move(queued), assumed, row, std::move(permits));
  }
  PermitWait Wait(std::string plugin, Duration timeout) { return {std::move(plugin), timeout, state().now + timeout}; }
  BindingCycles& bindings() {
    if (!bindings_) {
      background_.emplace(state().outputs, state().operations);
      bindings_.emplace(state(), *background_);
    }
    return *bindings_;
  }
  // Assumes a pod of this name on the node, which must exist.
  void StartOn(const std::string& node, const std::string& name) {
    queue::QueuedPodInfo queued = Pop(MakePod(name));
    const PodInfoPtr assumed = Info(MakePod(name).Node(node));
    const framework::NodeIndex row = state().cache.nodes().Find(node);
    state().cache.AssumePod(assumed, row);
    bindings().StartBinding(profile(), std::move(queued), assumed, row, {});
  }
  void EndWrite(std::optional<Error> error = std::nullopt) {
    bindings().WriteEnded(operation_, {std::move(error), Status(), {}, state().now});
  }
  // Answers the read: the pod is bound to this node.
  PodInfoPtr Read(const std::string& node) {
    return bindings().PodWasRead({operation_, Object(MakePod("p").Node(node)), std::nullopt});
  }
  void Pass(Duration time) {
    state().now += time;
    bindings().Tick();
  }
  bool IsAssumed() { return state().cache.IsAssumed("uid-default-p"); }
  void ExpectBackInQueue() {
    EXPECT_TRUE(bindings().empty());
    EXPECT_FALSE(IsAssumed());
    EXPECT_TRUE(PlaceOf("p").has_value());
    EXPECT_FALSE(state().queue.IsInFlight("uid-default-p"));
  }

  std::optional<BackgroundOperations> background_;
  std::optional<BindingCycles> bindings_;
};

constexpr const char* kScheduled = "Normal Scheduled p: Successfully assigned default/p to a";

TEST_F(BindingCyclesTest, PostsABindingAndIsDoneWithItsAnswer) {
  Start();
  EXPECT_EQ(Take(), Lines{"bind p to a"});
  EXPECT_FALSE(state().queue.IsInFlight("uid-default-p")) << "the queue is not needed any more";
  EndWrite();
  EXPECT_EQ(Take(), Lines{kScheduled});
  EXPECT_TRUE(bindings().empty());
  EXPECT_TRUE(IsAssumed()) << "until the watch confirms it";
  EXPECT_EQ(state().counts.scheduled, 1u);
}

TEST_F(BindingCyclesTest, WaitsForAllPermits) {
  Start({Wait("X", 10s), Wait("Y", 10s)});
  EXPECT_EQ(Take(), Lines{"status p nominates a"}) << "what takes long is announced";
  bindings().PermitDecided({"uid-default-p", "Z", true, ""});  // Z does not wait for this pod
  bindings().PermitDecided({"uid-default-p", "X", true, ""});
  EXPECT_TRUE(Take().empty());
  EXPECT_EQ(bindings().NextWake(), state().now + 10s) << "of Y";
  bindings().PermitDecided({"uid-default-p", "Y", true, ""});
  EXPECT_EQ(Take(), Lines{"bind p to a"});
  EXPECT_EQ(bindings().NextWake(), state().now + state().options.binding_late_after);
}

// It would go back to the queue when the plugin refuses it, though it has its node.
TEST_F(BindingCyclesTest, APodThatSomebodyElseBindsWhileItWaitsIsDone) {
  Start({Wait("X", 10s)});
  Take();
  ASSERT_TRUE(IsAssumed());
  const PodInfoPtr seen = Info(MakePod("p").Node("a"));
  state().cache.SetPod(seen);
  bindings().PodAssigned(seen);
  EXPECT_TRUE(bindings().empty());
  EXPECT_FALSE(IsAssumed());
  Pass(20s);
  EXPECT_TRUE(Take().empty()) << "nothing is written of a wait that is over";
  EXPECT_FALSE(PlaceOf("p").has_value());
  EXPECT_FALSE(state().queue.IsInFlight("uid-default-p"));
  EXPECT_NE(state().cache.FindPod("uid-default-p"), nullptr) << "it keeps its place";
}

// The watch has left it out already, and would not tell that it goes.
TEST_F(BindingCyclesTest, APodThatIsReadAndHasEndedIsNotTakenIn) {
  Start();
  Take();
  EndWrite(Error{ErrorCode::kUnavailable, "lost", true});
  Pass(0s);
  EXPECT_EQ(Take(), Lines{"read p"});
  api::Pod ended = *Object(MakePod("p").Node("b"));
  ended.status.phase = api::PodPhase::kSucceeded;
  EXPECT_EQ(bindings().PodWasRead({operation_, std::make_shared<const api::Pod>(std::move(ended)), std::nullopt}),
            nullptr);
  EXPECT_TRUE(bindings().empty());
  EXPECT_FALSE(IsAssumed());
}

// Every unanswered binding waits until its time-out, but the pods of other namespaces go on.
TEST_F(BindingCyclesTest, WhatIsNotAnsweredIsNotBusyAndHoldsItsNamespaceBackOnly) {
  SetNode("a");
  for (int i = 0; i < 16; ++i) StartOn("a", "p" + std::to_string(i));
  EXPECT_EQ(bindings().busy_count(), 16u);
  EXPECT_FALSE(bindings().Throttle(*Info(MakePod("next"))));
  Take();
  Pass(1s);
  EXPECT_EQ(bindings().busy_count(), 0u);
  EXPECT_TRUE(bindings().Throttle(*Info(MakePod("next"))));
  EXPECT_FALSE(bindings().Throttle(*Info(MakePod("next").Namespace("other"))));
  EXPECT_TRUE(Take().empty()) << "nothing is said of what may still come";
  Pass(9s);
  const Lines reported = Take();
  ASSERT_EQ(reported.size(), 16u);
  EXPECT_EQ(reported.front(),
            "Warning FailedScheduling p0: binding to node \"a\": no answer for 10s; the pod keeps its place there");
  Pass(100s);
  EXPECT_TRUE(Take().empty()) << "once";
  EndWrite();  // ends the last pod's write
  EXPECT_FALSE(bindings().Throttle(*Info(MakePod("next"))));
}

// Held-back pods are activated when bindings of their namespace are answered.
TEST_F(BindingCyclesTest, WhoIsHeldBackIsLetGoWhenThereIsRoom) {
  SetNode("a");
  for (int i = 0; i < 16; ++i) StartOn("a", "p" + std::to_string(i));
  Take();
  const std::uint64_t last = operation_;
  Pass(1s);
  for (const char* name : {"x", "y", "z"}) {
    queue::QueuedPodInfo popped = Pop(MakePod(name));
    ASSERT_TRUE(bindings().Throttle(*popped.pod));
    state().queue.AddUnschedulable(std::move(popped), {}, {}, state().now);
    EXPECT_EQ(PlaceOf(name), queue::Place::kErrorBackoff);
  }
  operation_ = last;
  EndWrite();
  EXPECT_EQ(PlaceOf("x"), queue::Place::kActive);
  EXPECT_EQ(PlaceOf("y"), queue::Place::kErrorBackoff) << "one has ended";
  for (std::uint64_t operation = last - 1; operation + 16 > last; --operation) {
    operation_ = operation;
    EndWrite();
  }
  EXPECT_EQ(PlaceOf("z"), queue::Place::kActive);
}

// Bindings that take effect raise the limit on those in doubt.
TEST_F(BindingCyclesTest, WhatTakesEffectLetsMoreBeInDoubt) {
  SetNode("a");
  for (int i = 0; i < 16; ++i) StartOn("a", "p" + std::to_string(i));
  Pass(1s);
  ASSERT_TRUE(bindings().Throttle(*Info(MakePod("next"))));
  EXPECT_EQ(bindings().in_doubt_count(), 16u);
  for (int i = 0; i < 4; ++i) {
    StartOn("a", "quick-" + std::to_string(i));
    Take();
    EndWrite();
  }
  EXPECT_FALSE(bindings().Throttle(*Info(MakePod("next"))));
}

// The shell reads the in-doubt count before the process ends: every cycle whose write may take effect must be in it
// once it is no longer busy.
TEST_F(BindingCyclesTest, WhatMayTakeEffectIsInDoubtHoweverItGoesOn) {
  Start();
  Take();
  EXPECT_EQ(bindings().in_doubt_count(), 0u);
  EndWrite(Error{ErrorCode::kUnavailable, "lost", true});
  Pass(0s);
  EXPECT_EQ(Take(), Lines{"read p"});
  bindings().PodWasRead({operation_, nullptr, Error{ErrorCode::kUnavailable, "down"}});
  EXPECT_EQ(bindings().busy_count(), 0u) << "it is read again a little later";
  EXPECT_EQ(bindings().in_doubt_count(), 1u);
  Pass(200ms);
  Take();
  EXPECT_EQ(Read("a"), nullptr);
  EXPECT_EQ(bindings().in_doubt_count(), 0u);
}

TEST_F(BindingCyclesTest, AnExtenderThatBindsSlowlyIsInDoubt) {
  config::Extender extender;
  extender.url_prefix = "x";
  extender.bind_verb = "bind";
  options_.extenders = {extender};
  Start();
  Take();
  EXPECT_EQ(bindings().busy_count(), 1u);
  Pass(1s);
  EXPECT_EQ(bindings().busy_count(), 0u);
  EXPECT_EQ(bindings().in_doubt_count(), 1u);
}

TEST_F(BindingCyclesTest, ABindingThatIsTriedAgainAndAgainSaysWhy) {
  Start();
  Take();
  const Error error{ErrorCode::kInternal, "etcd is away", true};
  EndWrite(error);
  Pass(0s);
  EXPECT_EQ(Take(), Lines{"read p"}) << "answers are lost now and then";
  Read("");
  EXPECT_EQ(Take(), Lines{"bind p to a"});
  EndWrite(error);
  const std::string why =
      "binding to node \"a\": etcd is away; it may have taken effect all the same, so the pod keeps "
      "its place there, and the binding is tried again";
  // An event instead of a condition, which could arrive after a binding that has taken effect.
  EXPECT_EQ(Take(), Lines{"Warning FailedScheduling p: " + why});
  Pass(10s);
  EXPECT_EQ(Take(), Lines{"read p"});
  Read("");
  EXPECT_EQ(Take(), Lines{"bind p to a"});
  EndWrite(error);
  EXPECT_TRUE(Take().empty()) << "it has been said";
  EXPECT_TRUE(IsAssumed());
}

TEST_F(BindingCyclesTest, EndsOfAPermitWait) {
  struct Case {
    const char* name;
    std::function<void()> end;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"rejected", [&] { bindings().PermitDecided({"uid-default-p", "X", false, "no"}); },
       "Unschedulable: 0/1 nodes are available: 1 no."},
      {"timed out", [&] { Pass(10s); },
       "Unschedulable: 0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin X."},
      {"cancelled", [&] { EXPECT_TRUE(bindings().Cancel("uid-default-p", "DefaultPreemption", "preempted")); },
       "SchedulerError: waiting on permit for pod: preempted"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Start({Wait("X", 10s)});
    Take();
    c.end();
    EXPECT_EQ(Take().front(), "status p " + c.message + " nominates ");
    ExpectBackInQueue();
    state().queue.Delete("uid-default-p", state().now);
  }
}

TEST_F(BindingCyclesTest, WhatAFailedWriteSaysAboutTheBinding) {
  struct Case {
    const char* name;
    Error error;
    bool is_unknown;  // the pod is read; otherwise it goes back into the queue
  };
  const std::vector<Case> cases = {
      {"the answer was lost", {ErrorCode::kInternal, "reset", true}, true},
      {"changed meanwhile", {ErrorCode::kConflict, "conflict"}, true},
      {"not there", {ErrorCode::kNotFound, "gone"}, true},
      {"an API server that is down", {ErrorCode::kUnavailable, "down"}, true},
      {"an API server without its rules yet", {ErrorCode::kForbidden, "forbidden"}, true},
      {"refused", {ErrorCode::kInvalid, "no"}, false},
      {"denied by admission", {ErrorCode::kDeniedByAdmission, "no"}, false},
      {"not sent", {ErrorCode::kCancelled, "slow"}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Start();
    Take();
    EndWrite(c.error);
    if (c.is_unknown) {
      EXPECT_TRUE(IsAssumed()) << "the room stays taken";
      Pass(0s);
      EXPECT_EQ(Take(), Lines{"read p"});
      bindings().PodDeleted("uid-default-p");
    } else {
      EXPECT_EQ(Take().front(), "status p SchedulerError: running Bind plugin \"DefaultBinder\": " + c.error.message);
      ExpectBackInQueue();
    }
    EXPECT_TRUE(bindings().empty());
    state().queue.Delete("uid-default-p", state().now);
  }
}

TEST_F(BindingCyclesTest, WhatAReadOfThePodReports) {
  const auto lose = [&] {
    Start();
    Take();
    EndWrite(Error{ErrorCode::kTimeout, "lost", true});
    Pass(0s);
    EXPECT_EQ(Take(), Lines{"read p"});
  };
  lose();
  EXPECT_EQ(Read(""), nullptr) << "not bound yet: the same binding again";
  EXPECT_EQ(Take(), Lines{"bind p to a"});
  EndWrite(Error{ErrorCode::kInvalid, "no"});
  EXPECT_TRUE(Take().empty()) << "an earlier post may have taken effect: a second read";
  Pass(200ms);
  EXPECT_EQ(Take(), Lines{"read p"});
  EXPECT_EQ(Read("a"), nullptr);
  EXPECT_EQ(Take(), Lines{kScheduled});
  state().cache.RemovePod("uid-default-p");

  lose();
  const PodInfoPtr elsewhere = Read("b");
  ASSERT_NE(elsewhere, nullptr) << "somebody else bound it: for the intake";
  EXPECT_EQ(elsewhere->node_name, "b");
  EXPECT_FALSE(IsAssumed());
  EXPECT_TRUE(bindings().empty());

  lose();
  EXPECT_EQ(bindings().PodWasRead({operation_, nullptr, std::nullopt}), nullptr) << "it is gone";
  EXPECT_FALSE(IsAssumed());
  EXPECT_TRUE(bindings().empty());

  lose();
  bindings().PodWasRead({operation_, nullptr, Error{ErrorCode::kUnavailable, "down"}});
  EXPECT_TRUE(IsAssumed()) << "nothing is known yet";
  EXPECT_EQ(bindings().NextWake(), state().now + 200ms);
}

TEST_F(BindingCyclesTest, TheWatchMayBeFasterThanTheAnswer) {
  Start();
  Take();
  EndWrite(Error{ErrorCode::kTimeout, "lost", true});
  bindings().PodAssigned(Info(MakePod("p").Node("a")));
  EXPECT_EQ(Take(), Lines{kScheduled});
  EXPECT_TRUE(bindings().empty());
  EXPECT_EQ(bindings().NextWake(), std::nullopt) << "the read is not needed any more";
}

TEST_F(BindingCyclesTest, APodThatRunsElsewhereIsDropped) {
  AddPlugin("X");
  Start();
  Take();
  bindings().PodAssigned(Info(MakePod("p").Node("b")));
  EXPECT_TRUE(bindings().empty());
  EXPECT_EQ(calls_.back(), "X.Unreserve a");
  EndWrite();  // an answer that comes too late
  EXPECT_TRUE(Take().empty());
}

TEST_F(BindingCyclesTest, ANodeThatGoesWhileAPodWaits) {
  Start({Wait("X", 10s)});
  Take();
  state().cache.RemoveNode("a");
  bindings().PermitDecided({"uid-default-p", "X", true, ""});
  EXPECT_EQ(Take().front(),
            "status p SchedulerError: node \"a\" was deleted before the pod was bound to it nominates ");
  ExpectBackInQueue();
}

TEST_F(BindingCyclesTest, PreBindRunsBeforeBindAndPostBindInTheBackground) {
  Actor& x = AddPlugin("X");
  const framework::ObjectPatch patch{{"v1", "persistentvolumes", "", "one"}, "", framework::PatchType::kMerge, "{}"};
  x.pre_bind = [&](const PodInfo&) { return Operation::Write(patch); };
  x.post_bind = x.pre_bind;
  Start();
  EXPECT_EQ(Take(), (Lines{"status p nominates a", "patch one"}));
  EXPECT_FALSE(bindings().Cancel("uid-default-q", "Y", "no such pod"));
  EndWrite();
  EXPECT_EQ(Take(), Lines{"bind p to a"});
  EXPECT_FALSE(bindings().Cancel("uid-default-p", "Y", "too late"));
  EndWrite();
  EXPECT_EQ(Take(), (Lines{kScheduled, "patch one"}));
  EXPECT_TRUE(bindings().empty());
  EXPECT_EQ(background_->size(), 1u);
}

TEST_F(BindingCyclesTest, AnExtenderBinds) {
  config::Extender extender;
  extender.url_prefix = "x";
  extender.bind_verb = "bind";
  config::Extender ignorable = extender;
  ignorable.ignorable = true;
  options_.extenders = {ignorable, extender};
  Start();
  EXPECT_EQ(Take(), Lines{"ask 0 bind p: a"});
  bindings().TakeExtenderAnswer({operation_, Error{ErrorCode::kUnavailable, "down"}});
  EXPECT_EQ(Take(), Lines{"ask 1 bind p: a"}) << "the first is ignorable";
  bindings().TakeExtenderAnswer({operation_, Error{ErrorCode::kUnavailable, "down"}});
  Pass(0s);
  EXPECT_EQ(Take(), Lines{"read p"}) << "it may have bound the pod before it failed";
  EXPECT_EQ(Read(""), nullptr);
  EXPECT_EQ(Take().front(), "status p SchedulerError: down");
  ExpectBackInQueue();
}

}  // namespace
}  // namespace berth::scheduler
