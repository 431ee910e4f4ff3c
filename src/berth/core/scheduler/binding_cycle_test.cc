// SPDX-License-Identifier: Apache-2.0
// The binding cycle, extension point by extension point: what plugins see, what is written, and what happens to the pod
// after a failure or an unknown outcome.
#include <stdexcept>

#include <gtest/gtest.h>

#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using framework::Operation;
using framework::PermitResult;
using framework::PodInfo;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kScheduled = "Normal Scheduled p: Successfully assigned default/p to a";

class BindingTest : public ::testing::Test {
 protected:
  // Must be called before the first use of the core.
  Actor& Add(std::string name) { return Enable(*profiles_.front(), std::make_shared<Actor>(std::move(name), calls_)); }
  Harness& Start() {
    harness_ = std::make_unique<Harness>(std::move(profiles_));
    harness_->Set(MakeNode("a"));
    harness_->Set(pod_);
    harness_->Run();
    return *harness_;
  }
  // The condition and event of a failed attempt.
  static Lines Failed(const std::string& reason, const std::string& message) {
    return {"status p " + reason + ": " + message, "Warning FailedScheduling p: " + message};
  }
  queue::Place Place() const { return harness_->core.queue().Find("uid-default-p")->place; }

  Lines calls_;
  Profiles profiles_ = DefaultProfiles();
  std::unique_ptr<Harness> harness_;
  testing::PodBuilder pod_ = MakePod("p").Request("cpu", "1");
};

TEST_F(BindingTest, Succeeds) {
  Add("X");
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  EXPECT_EQ(h.core.binding_count(), 1u);
  EXPECT_TRUE(h.core.cache().IsAssumed("uid-default-p"));
  h.Answer();
  EXPECT_EQ(h.Take(), Lines{kScheduled});
  EXPECT_EQ(calls_, (Lines{"X.Reserve a", "X.Permit a", "X.Bind a", "X.PostBind a"}));
  EXPECT_EQ(h.core.counts().scheduled, 1u);
  // The assumption ends when the watch shows the binding.
  EXPECT_TRUE(h.core.cache().IsAssumed("uid-default-p"));
  h.Set(pod_.Node("a"));
  EXPECT_FALSE(h.core.cache().IsAssumed("uid-default-p"));
  EXPECT_TRUE(h.IsIdle());
  EXPECT_TRUE(h.Take().empty());
}

TEST_F(BindingTest, TheWatchIsFasterThanTheAnswer) {
  Harness& h = Start();
  h.Take();
  h.Set(pod_.Node("a"));
  EXPECT_TRUE(h.Take().empty());
  h.Answer();
  EXPECT_EQ(h.Take(), Lines{kScheduled});
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(BindingTest, AStaleWatchDoesNotQueueABoundPodAgain) {
  Harness& h = Start();
  h.Take();
  h.Set(pod_);  // the watch still shows no node
  h.Answer();
  h.Take();
  h.Set(pod_);
  h.Run(1min);
  EXPECT_TRUE(h.Take().empty());
  EXPECT_TRUE(h.core.cache().IsAssumed("uid-default-p"));
}

TEST_F(BindingTest, ReserveFails) {
  const struct {
    const char* name;
    std::function<Status(const PodInfo&)> reserve;
    Lines want;
    queue::Place place;
  } cases[] = {
      {"refuses", [](const PodInfo&) { return Status::Unschedulable("full"); },
       Failed("Unschedulable", "0/1 nodes are available: 1 full."), queue::Place::kUnschedulable},
      {"is pending", [](const PodInfo&) { return Status(framework::Code::kPending, {"later"}); },
       Failed("Unschedulable", "0/1 nodes are available: 1 later."), queue::Place::kUnschedulable},
      {"errs", [](const PodInfo&) { return Status::Error("oops"); },
       Failed("SchedulerError", "running Reserve plugin \"Y\": oops"), queue::Place::kErrorBackoff},
      {"throws", [](const PodInfo&) -> Status { throw std::runtime_error("oops"); },
       Failed("SchedulerError", "running Reserve plugin \"Y\": panic: oops"), queue::Place::kErrorBackoff},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    calls_.clear();
    profiles_ = DefaultProfiles();
    Add("X").unreserve = [] { throw std::runtime_error("must not hinder the others"); };
    Add("Y").reserve = test.reserve;
    Add("Z");
    Harness& h = Start();
    EXPECT_EQ(h.Take(), test.want);
    // All plugins are unreserved in reverse order, also those that Reserve did not reach.
    EXPECT_EQ(calls_, (Lines{"X.Reserve a", "Y.Reserve a", "Z.Unreserve a", "Y.Unreserve a", "X.Unreserve a"}));
    EXPECT_EQ(h.core.cache().assumed_count(), 0u);
    EXPECT_EQ(Place(), test.place);
  }
}

TEST_F(BindingTest, PermitRefuses) {
  Add("X").permit = [](const PodInfo&) { return PermitResult{Status::Unschedulable("not now")}; };
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Failed("Unschedulable", "0/1 nodes are available: 1 not now."));
  EXPECT_EQ(calls_, (Lines{"X.Reserve a", "X.Permit a", "X.Unreserve a"}));
  const auto standing = h.core.queue().Find("uid-default-p");
  EXPECT_EQ(standing->unschedulable_plugins, Lines{"X"});
}

TEST_F(BindingTest, PermitErrs) {
  Add("X").permit = [](const PodInfo&) -> PermitResult { throw std::runtime_error("oops"); };
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Failed("SchedulerError", "running Permit plugin \"X\": panic: oops"));
  EXPECT_EQ(Place(), queue::Place::kErrorBackoff);
}

PermitResult WaitFor(Duration timeout) { return {Status::Wait(), timeout}; }

TEST_F(BindingTest, PermitWaitsForAll) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Add("Y").permit = [](const PodInfo&) { return WaitFor(20s); };
  Harness& h = Start();
  // The nomination is written, so that other schedulers leave the room alone.
  EXPECT_EQ(h.Take(), Lines{"status p nominates a"});
  EXPECT_TRUE(h.core.queue().IsInFlight("uid-default-p"));
  h.Decide(pod_, "X", true);
  h.Decide(pod_, "X", true);
  h.Decide(pod_, "Nobody", false, "no");
  h.Decide(MakePod("other"), "Y", false, "no");
  EXPECT_TRUE(h.Take().empty());
  h.Run(15s);  // after X's time-out
  h.Decide(pod_, "Y", true);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  EXPECT_FALSE(h.core.queue().IsInFlight("uid-default-p"));
  h.Run(20s);
  h.Answer();
  EXPECT_EQ(h.Take(), Lines{kScheduled});
}

TEST_F(BindingTest, TheWaitIsNotAnnouncedIn134) {
  profiles_ = ProfilesOf({.release_minor = 34});
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  EXPECT_TRUE(h.Take().empty());
  h.Decide(pod_, "X", true);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST_F(BindingTest, TwoMayWaitUntilTheSameMoment) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Add("Y").permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  h.Take();
  h.Decide(pod_, "X", true);
  h.Run(10s);
  EXPECT_EQ(h.Take(),
            TakenBack(Failed("Unschedulable",
                             "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Y.")));
}

TEST_F(BindingTest, PermitRejectsLater) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  h.Take();
  h.Decide(pod_, "X", false, "changed my mind");
  EXPECT_EQ(h.Take(), TakenBack(Failed("Unschedulable", "0/1 nodes are available: 1 changed my mind.")));
  EXPECT_EQ(calls_, (Lines{"X.Reserve a", "X.Permit a", "X.Unreserve a"}));
  EXPECT_EQ(Place(), queue::Place::kUnschedulable);
  EXPECT_EQ(h.core.queue().Find("uid-default-p")->unschedulable_plugins, Lines{"X"});
  ASSERT_TRUE(h.core.NextWake().has_value());  // the queue's flush; no Permit deadline is left
  EXPECT_GT(*h.core.NextWake(), h.now + 10s);
}

TEST_F(BindingTest, WhatHappenedDuringTheWaitIsNotLost) {
  Actor& actor = Add("X");
  actor.permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  h.Take();
  h.Set(MakeNode("b"));  // X registered for no event, so that any event wakes the pod
  h.Decide(pod_, "X", false, "no");
  EXPECT_EQ(Place(), queue::Place::kBackoff);
}

TEST_F(BindingTest, PermitTimesOut) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(90s); };
  Harness& h = Start();
  h.Take();
  EXPECT_EQ(h.core.NextWake(), h.now + 90s);
  h.Run(89s);
  EXPECT_TRUE(h.Take().empty());
  h.Run(1s);
  EXPECT_EQ(h.Take(),
            TakenBack(Failed("Unschedulable",
                             "0/1 nodes are available: 1 rejected due to timeout after waiting 1m30s at plugin X.")));
}

TEST_F(BindingTest, PermitWaitsAreCapped) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(24h); };
  Harness& h = Start();
  h.Take();
  h.Run(15min);
  EXPECT_EQ(h.Take(),
            TakenBack(Failed("Unschedulable",
                             "0/1 nodes are available: 1 rejected due to timeout after waiting 15m0s at plugin X.")));
}

TEST_F(BindingTest, ADeletedPodStopsWaiting) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  h.Take();
  h.Set(pod_.Deleted(h.now));
  EXPECT_EQ(h.core.binding_count(), 0u);
  EXPECT_EQ(h.core.cache().assumed_count(), 0u);
  h.Remove(pod_);
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(BindingTest, PreBindWritesAndWorks) {
  Add("X").pre_bind = [](const PodInfo& pod) {
    framework::ObjectPatch write;
    write.object.name = pod.name;
    return Operation::WriteAll({write, write}, {});
  };
  Add("Y").pre_bind = [](const PodInfo&) { return Operation::Run([] { return Status(); }); };
  Add("Z").pre_flight = [] { return Status::Skip(); };
  Harness& h = Start();
  EXPECT_EQ(h.Take(), (Lines{"status p nominates a", "patch p"}));
  EXPECT_FALSE(h.core.queue().IsInFlight("uid-default-p"));
  h.Answer();
  EXPECT_EQ(h.Take(), Lines{"patch p"});
  h.Answer();
  EXPECT_EQ(h.Take(), Lines{"work"});
  h.AnswerWork();
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  EXPECT_EQ(calls_, (Lines{"X.Reserve a", "Y.Reserve a", "Z.Reserve a", "X.Permit a", "Y.Permit a", "Z.Permit a",
                           "X.PreBind a", "Y.PreBind a", "X.Bind a", "Y.Bind a", "Z.Bind a"}));
}

TEST_F(BindingTest, PreBindFails) {
  const struct {
    const char* name;
    std::function<Operation(const PodInfo&)> pre_bind;
    const char* reason;
    const char* message;
  } cases[] = {
      {"at once", [](const PodInfo&) { return Operation::Done(Status::Error("oops")); }, "SchedulerError",
       "running PreBind plugin \"X\": oops"},
      {"refuses", [](const PodInfo&) { return Operation::Done(Status::Unschedulable("gone")); }, "Unschedulable",
       "gone"},
      {"throws", [](const PodInfo&) -> Operation { throw std::runtime_error("oops"); }, "SchedulerError",
       "running PreBind plugin \"X\": panic: oops"},
      {"work", [](const PodInfo&) { return Operation::Run([] { return Status::Error("oops"); }); }, "SchedulerError",
       "running PreBind plugin \"X\": oops"},
      {"write", [](const PodInfo&) { return Operation::Write(framework::ObjectPatch{}); }, "SchedulerError",
       "running PreBind plugin \"X\": conflict"},
      {"a write that nobody answers", [](const PodInfo&) { return Operation::Write(framework::PodStatusWrite{}); },
       "SchedulerError",
       "running PreBind plugin \"X\": an operation with a PodStatusWrite: an ObjectPatch of the pod's status is meant"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    calls_.clear();
    profiles_ = DefaultProfiles();
    Add("X").pre_bind = test.pre_bind;
    Harness& h = Start();
    Lines lines = h.Take();
    if (lines.back() == "work") h.AnswerWork();
    if (lines.back() == "patch ") h.Answer(Error{ErrorCode::kConflict, "conflict"});
    const Lines more = h.Take();
    lines.insert(lines.end(), more.begin(), more.end());
    const Lines want = TakenBack(Failed(test.reason, test.message));
    ASSERT_GE(lines.size(), 2u);
    EXPECT_EQ(Lines(lines.end() - 2, lines.end()), want);
    EXPECT_EQ(calls_.back(), "X.Unreserve a");
    // No queueing hint is needed: the pod comes back by itself.
    EXPECT_EQ(Place(), queue::Place::kErrorBackoff);
    EXPECT_EQ(h.core.cache().assumed_count(), 0u);
  }
}

TEST_F(BindingTest, PreFlightFails) {
  const struct {
    Status said;
    const char* message;
  } cases[] = {
      {Status::Error("oops"), "running PreBindPreFlight \"X\": oops"},
      {Status::Unschedulable("no"),
       "PreBindPreFlight X returned \"Unschedulable\", which is unsupported. It is supposed to return Success, Skip, "
       "or "
       "Error status"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.message);
    profiles_ = DefaultProfiles();
    Add("X").pre_flight = [&test] { return test.said; };
    Harness& h = Start();
    EXPECT_EQ(h.Take(), Failed("SchedulerError", test.message));
    EXPECT_EQ(Place(), queue::Place::kErrorBackoff);
  }
}

TEST_F(BindingTest, BindersAreAskedUntilOneTakesThePod) {
  Add("X");
  Add("Y").bind = [](const PodInfo&) { return Operation::Run([] { return Status(); }); };
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Lines{"work"});
  h.AnswerWork();
  EXPECT_EQ(h.Take(), Lines{kScheduled});
}

TEST_F(BindingTest, ABinderFails) {
  Add("X").bind = [](const PodInfo&) { return Operation::Done(Status::Error("oops")); };
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Failed("SchedulerError", "running Bind plugin \"X\": oops"));
}

TEST_F(BindingTest, NobodyBinds) {
  Add("X");
  profiles_.front()->bind.pop_back();
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Failed("SchedulerError", "no bind plugin took the pod"));
}

TEST_F(BindingTest, PostBindMayWriteAndFail) {
  Add("X").post_bind = [](const PodInfo&) -> Operation { throw std::runtime_error("oops"); };
  Add("Y").post_bind = [](const PodInfo&) { return Operation::Run([] { return Status::Error("oops"); }); };
  Harness& h = Start();
  h.Take();
  h.Answer();
  EXPECT_EQ(h.Take(), (Lines{kScheduled, "work"}));
  h.AnswerWork();
  EXPECT_TRUE(h.Take().empty());
  EXPECT_EQ(h.core.counts().scheduled, 1u);
}

TEST_F(BindingTest, ADefiniteFailure) {
  Add("X");
  Harness& h = Start();
  h.Take();
  h.Answer(Error{ErrorCode::kInvalid, "no bindings for you"});
  EXPECT_EQ(h.Take(), Failed("SchedulerError", "running Bind plugin \"DefaultBinder\": no bindings for you"));
  EXPECT_EQ(calls_.back(), "X.Unreserve a");
  EXPECT_EQ(h.core.cache().assumed_count(), 0u);
  EXPECT_EQ(Place(), queue::Place::kErrorBackoff);
  h.Run(2s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

// An API server that has just started forbids everything for a moment, an overloaded one answers 429, and a conflict
// may be with an earlier post. None of these may keep the room taken forever.
TEST_F(BindingTest, ARefusalThatMayPassIsTriedAgainAFewTimes) {
  const ErrorCode codes[] = {ErrorCode::kForbidden,     ErrorCode::kUnauthorized, ErrorCode::kConflict,
                             ErrorCode::kAlreadyExists, ErrorCode::kNotFound,     ErrorCode::kTooManyRequests};
  // Refuses the binding `times` times and accepts the next one.
  const auto refuse = [&](ErrorCode code, int times) {
    profiles_ = DefaultProfiles();
    Harness& h = Start();
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(h.Take(), Lines{"bind p to a"});
      h.Answer(Error{code, "not yet"});
      EXPECT_EQ(h.core.cache().assumed_count(), 1u) << "the room stays taken";
      h.Run(10s);
      ASSERT_EQ(h.Take(), Lines{"read p"});
      h.AnswerRead(h.Object(pod_));
    }
  };
  for (const ErrorCode code : codes) {
    SCOPED_TRACE(ToString(code));
    refuse(code, 3);
    EXPECT_EQ(harness_->Take(), Lines{"bind p to a"});
    harness_->Answer();
    EXPECT_EQ(harness_->Take(), Lines{kScheduled});

    refuse(code, 6);
    EXPECT_EQ(harness_->Take(), Failed("SchedulerError", "running Bind plugin \"DefaultBinder\": not yet"));
    EXPECT_EQ(harness_->core.cache().assumed_count(), 0u) << "the room is given back";
    EXPECT_EQ(Place(), queue::Place::kErrorBackoff);
  }
}

// An API server that is not ready forbids reads as well, without a limit.
TEST_F(BindingTest, ReadsThatFailAreNoRefusals) {
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  h.Answer(Error{ErrorCode::kForbidden, "not yet"});
  for (int i = 0; i < 20; ++i) {
    h.Run(10s);
    ASSERT_EQ(h.Take(), Lines{"read p"});
    h.FailRead();
  }
  h.Run(10s);
  ASSERT_EQ(h.Take(), Lines{"read p"});
  h.AnswerRead(h.Object(pod_));
  ASSERT_EQ(h.Take(), Lines{"bind p to a"});
  h.Answer(Error{ErrorCode::kForbidden, "not yet"});
  EXPECT_EQ(h.core.cache().assumed_count(), 1u) << "the room stays taken";
}

// ---- Lost answers ----

class UnknownOutcomeTest : public BindingTest {
 protected:
  // The state after the answer to the binding was lost, with the read under way.
  Harness& StartLost(Error error = {ErrorCode::kTimeout, "no answer", true}) {
    Add("X");
    Harness& h = Start();
    EXPECT_EQ(h.Take(), Lines{"bind p to a"});
    h.Answer(std::move(error));
    EXPECT_TRUE(h.core.cache().IsAssumed("uid-default-p"));
    h.Run();
    EXPECT_EQ(h.Take(), Lines{"read p"});
    return h;
  }
};

TEST_F(UnknownOutcomeTest, WhatIsUnknown) {
  const Error errors[] = {
      {ErrorCode::kUnavailable, "reset", true},
      {ErrorCode::kInternal, "500", true},
      {ErrorCode::kConflict, "409"},
      {ErrorCode::kAlreadyExists, "409"},
      {ErrorCode::kNotFound, "404"},
      {ErrorCode::kUnavailable, "refused"},
      {ErrorCode::kTimeout, "504"},
      {ErrorCode::kTooManyRequests, "429"},
  };
  for (const Error& error : errors) {
    SCOPED_TRACE(error.message);
    profiles_ = DefaultProfiles();
    StartLost(error);
    EXPECT_EQ(harness_->core.counts().bindings_unknown, 1u);
  }
}

TEST_F(UnknownOutcomeTest, ItIsBound) {
  Harness& h = StartLost();
  h.AnswerRead(h.Object(pod_.Node("a")));
  EXPECT_EQ(h.Take(), Lines{kScheduled});
  h.Set(pod_);
  EXPECT_TRUE(h.Take().empty());
  EXPECT_TRUE(h.IsIdle());
  EXPECT_EQ(h.core.counts().scheduled, 1u);
}

TEST_F(UnknownOutcomeTest, TheWatchSaysSoFirst) {
  Harness& h = StartLost();
  const std::uint64_t read = h.operation;
  h.Set(pod_.Node("a"));
  EXPECT_EQ(h.Take(), Lines{kScheduled});
  h.operation = read;
  h.AnswerRead(h.Object(pod_));
  EXPECT_TRUE(h.Take().empty());
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(UnknownOutcomeTest, ItIsNotBoundYet) {
  Harness& h = StartLost();
  h.AnswerRead(h.Object(pod_));
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
  EXPECT_TRUE(h.core.cache().IsAssumed("uid-default-p"));
  // The first request has arrived after all, so that the second one is refused.
  h.Answer(Error{ErrorCode::kConflict, "already assigned"});
  h.Run(1s);
  EXPECT_EQ(h.Take(), Lines{"read p"});
  h.AnswerRead(h.Object(pod_.Node("a")));
  EXPECT_EQ(h.Take(), Lines{kScheduled});
}

// The refusal is of the second request alone; the first one may have taken effect.
TEST_F(UnknownOutcomeTest, ARefusalOfTheNextRequestGivesNoRoomAway) {
  Harness& h = StartLost();
  h.AnswerRead(h.Object(pod_));
  ASSERT_EQ(h.Take(), Lines{"bind p to a"});
  h.Answer(Error{ErrorCode::kInvalid, "a webhook says no"});
  EXPECT_TRUE(h.core.cache().IsAssumed("uid-default-p"));
  h.Run(1s);
  EXPECT_EQ(h.Take(), Lines{"read p"});
  h.AnswerRead(h.Object(pod_.Node("a")));
  EXPECT_EQ(h.Take(), Lines{kScheduled});
}

TEST_F(UnknownOutcomeTest, ABindersOwnBindingIsPostedAgainAsItWas) {
  Add("Y").bind = [](const PodInfo& pod) {
    return Operation::Write(framework::BindWrite{{pod.namespace_name(), "own-" + pod.name, pod.uid, {}}, "elsewhere"});
  };
  Harness& h = Start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(h.Take(), Lines{"bind own-p to elsewhere"});
    h.LoseAnswer();
    h.Run(10s);
    EXPECT_EQ(h.Take().back(), "read p") << "behind what the pod is told";
    h.AnswerRead(h.Object(pod_));
  }
}

TEST_F(UnknownOutcomeTest, SomebodyElseBoundIt) {
  Harness& h = StartLost();
  h.Set(MakeNode("b"));
  h.AnswerRead(h.Object(pod_.Node("b")));
  EXPECT_TRUE(h.Take().empty());
  EXPECT_EQ(calls_.back(), "X.Unreserve a");
  EXPECT_EQ((*h.core.cache().FindPod("uid-default-p"))->node_name, "b");
  EXPECT_TRUE(h.IsIdle());
  EXPECT_EQ(h.core.counts().scheduled, 0u);
}

TEST_F(UnknownOutcomeTest, ItIsGone) {
  Harness& h = StartLost();
  h.AnswerRead(nullptr);
  EXPECT_TRUE(h.Take().empty());
  EXPECT_EQ(calls_.back(), "X.Unreserve a");
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(UnknownOutcomeTest, AnotherPodHasItsName) {
  Harness& h = StartLost();
  h.AnswerRead(h.Object(MakePod("p").Uid("another")));
  EXPECT_TRUE(h.Take().empty());
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(UnknownOutcomeTest, ItIsBeingDeletedUnbound) {
  Harness& h = StartLost();
  h.AnswerRead(h.Object(pod_.Deleted(h.now)));
  EXPECT_TRUE(h.Take().empty());
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(UnknownOutcomeTest, ReadsBackOff) {
  Harness& h = StartLost();
  Duration waited{0};
  std::vector<Duration> delays;
  for (int i = 0; i < 9; ++i) {
    h.FailRead();
    const Time failed = h.now;
    ASSERT_TRUE(h.core.NextWake().has_value());
    h.Run(*h.core.NextWake() - h.now);
    ASSERT_EQ(h.Take(), Lines{"read p"});
    delays.push_back(h.now - failed);
    waited += delays.back();
    EXPECT_TRUE(h.core.cache().IsAssumed("uid-default-p"));
  }
  EXPECT_EQ(delays, (std::vector<Duration>{200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10s, 10s, 10s}));
  h.AnswerRead(h.Object(pod_.Node("a")));
  EXPECT_EQ(h.Take(), Lines{kScheduled});
}

TEST_F(UnknownOutcomeTest, TheNodeHasGone) {
  Harness& h = StartLost();
  h.RemoveNode("a");
  h.AnswerRead(h.Object(pod_));
  EXPECT_EQ(h.Take(), Failed("SchedulerError", "node \"a\" was deleted before the pod was bound to it"));
  EXPECT_EQ(h.core.cache().assumed_count(), 0u);
  EXPECT_EQ(Place(), queue::Place::kErrorBackoff);
}

TEST_F(UnknownOutcomeTest, ThePodIsDeletedMeanwhile) {
  Harness& h = StartLost();
  h.Remove(pod_);
  EXPECT_TRUE(h.IsIdle());
  EXPECT_EQ(calls_.back(), "X.Unreserve a");
  h.AnswerRead(nullptr);
  EXPECT_TRUE(h.Take().empty());
}

// ---- Nodes and pods that are deleted or change during the cycle ----

TEST_F(BindingTest, TheNodeGoesBeforeTheBindingIsPosted) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  h.Take();
  h.RemoveNode("a");
  h.Decide(pod_, "X", true);
  EXPECT_EQ(h.Take(), TakenBack(Failed("SchedulerError", "node \"a\" was deleted before the pod was bound to it")));
  EXPECT_EQ(h.core.cache().assumed_count(), 0u);
}

TEST_F(BindingTest, TheNodeGoesAfterTheBindingIsPosted) {
  Harness& h = Start();
  h.Take();
  h.RemoveNode("a");
  h.Answer();
  const Lines lines = h.Take();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], kScheduled);
  EXPECT_EQ(lines[1],
            "Warning NodeNotFound p: node \"a\" was deleted while the pod was being bound to it: the pod runs nowhere "
            "until it is "
            "deleted");
}

TEST_F(BindingTest, ThePodGoesInEachPhase) {
  const struct {
    const char* name;
    std::function<void(Harness&, Actor&)> until;
  } phases[] = {
      {"waits at Permit", [](Harness&, Actor&) {}},
      {"PreBind works", [](Harness& h, Actor&) { h.Decide(MakePod("p"), "X", true); }},
      {"the binding is posted",
       [](Harness& h, Actor&) {
         h.Decide(MakePod("p"), "X", true);
         h.Take();
         h.AnswerWork();
       }},
      {"bound, answered, not confirmed",
       [](Harness& h, Actor&) {
         h.Decide(MakePod("p"), "X", true);
         h.Take();
         h.AnswerWork();
         h.Take();
         h.Answer();
       }},
      {"bound, confirmed, not answered",
       [](Harness& h, Actor&) {
         h.Decide(MakePod("p"), "X", true);
         h.Take();
         h.AnswerWork();
         h.Set(MakePod("p").Request("cpu", "1").Node("a"));
       }},
  };
  for (const auto& phase : phases) {
    SCOPED_TRACE(phase.name);
    profiles_ = DefaultProfiles();
    Actor& actor = Add("X");
    actor.permit = [](const PodInfo&) { return WaitFor(10s); };
    actor.pre_bind = [](const PodInfo&) { return Operation::Run([] { return Status(); }); };
    Harness& h = Start();
    phase.until(h, actor);
    h.Take();
    const std::uint64_t operation = h.operation;
    h.Remove(pod_);
    EXPECT_TRUE(h.IsIdle());
    EXPECT_EQ(h.core.cache().pod_count(), 0u);
    // Late outcomes of the ended cycle are ignored.
    h.core.Handle(WorkDone{operation, Status()}, h.now);
    h.core.Handle(WriteDone{operation, Error{ErrorCode::kNotFound, "gone"}}, h.now);
    h.Run(1min);
    EXPECT_TRUE(h.Take().empty());
    EXPECT_TRUE(h.IsIdle());
  }
}

TEST_F(BindingTest, ThePodChangesMeanwhile) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  h.Take();
  h.Set(pod_.Label("new", "label"));
  h.Decide(pod_, "X", false, "no");
  h.Take();
  // The pod returns to the queue with its newest object.
  const auto standing = h.core.queue().Find("uid-default-p");
  EXPECT_NE(standing->pod->labels().Find("new"), nullptr);
  EXPECT_TRUE(standing->pod->node_name.empty());
}

TEST_F(BindingTest, SomebodyElseBindsItMeanwhile) {
  Add("X").permit = [](const PodInfo&) { return WaitFor(10s); };
  Harness& h = Start();
  h.Take();
  h.Set(MakeNode("b"));
  h.Set(pod_.Node("b"));
  EXPECT_EQ(calls_.back(), "X.Unreserve a");
  EXPECT_TRUE(h.IsIdle());
  h.Run(1min);
  EXPECT_TRUE(h.Take().empty());
}

TEST_F(BindingTest, APodThatGoesMakesRoomForOthers) {
  Harness& h = Start();
  h.Set(MakePod("q").Request("cpu", "4"));
  h.Run();
  h.Take();
  h.Remove(pod_);
  h.Run(2s);
  EXPECT_EQ(h.Take(), Lines{"bind q to a"});
}

TEST_F(BindingTest, FailureMakesRoomForOthers) {
  Harness& h = Start();
  h.Take();
  h.Set(MakePod("q").Request("cpu", "4"));
  h.Run();
  EXPECT_EQ(h.core.queue().Find("uid-default-q")->place, queue::Place::kUnschedulable);
  h.Take();
  h.Answer(Error{ErrorCode::kInvalid, "no"});
  EXPECT_NE(h.core.queue().Find("uid-default-q")->place, queue::Place::kUnschedulable);
}

// Like a pod's deletion, a failed binding wakes only pods that could use the room.
TEST_F(BindingTest, FailureWakesNobodyWhoWouldNotFit) {
  Harness& h = Start();
  h.Take();
  h.Set(MakePod("large").Request("cpu", "8"));
  h.Run();
  h.Take();
  const std::uint64_t cycles = h.core.counts().cycles;
  h.Answer(Error{ErrorCode::kInvalid, "no"});
  h.Run();
  EXPECT_EQ(h.core.queue().Find("uid-default-large")->place, queue::Place::kUnschedulable);
  EXPECT_EQ(h.core.counts().cycles, cycles);
}

}  // namespace
}  // namespace berth::scheduler
