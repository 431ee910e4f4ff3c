// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/executor.h"

#include <gtest/gtest.h>

#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::ObjectDelete;
using framework::ObjectPatch;
using framework::Operation;
using framework::PodInfoPtr;
using framework::StepResult;
using testing::MakePod;

constexpr Time kNow{std::chrono::sys_days{std::chrono::year{2030} / 1 / 1}};

Error Failure(ErrorCode code, bool outcome_unknown = false) { return {code, "it failed", outcome_unknown, 0}; }

class ExecutorTest : public ::testing::Test {
 protected:
  PodInfoPtr Victim(const std::string& name) {
    PodInfoPtr victim = MakePod(name).Node("n").Priority(1).Info();
    handle_.assigned[victim->uid] = victim;
    return victim;
  }
  void Preempt(std::vector<PodInfoPtr> victims) { executor_->Preempt(*preemptor_, "n", std::move(victims)); }
  static std::vector<framework::PodGroupMember> Members(const std::vector<std::string>& names) {
    std::vector<framework::PodGroupMember> members;
    for (const std::string& name : names) members.push_back({.pod = MakePod(name).Priority(5).Info()});
    return members;
  }
  bool IsRunning() const { return executor_->IsRunning(preemptor_->uid); }

  // What the operations under way want: "patch a", "delete a", "wait 10ms", in order.
  std::vector<std::string> Wanted() const {
    std::vector<std::string> wanted;
    for (const Operation& operation : handle_.started) wanted.push_back(Describe(operation));
    return wanted;
  }
  static std::string Describe(const Operation& operation) {
    if (operation.writes.empty()) return "wait " + FormatGoDuration(operation.delay);
    if (const auto* patch = std::get_if<ObjectPatch>(&operation.writes.front())) return "patch " + patch->object.name;
    return "delete " + std::get<ObjectDelete>(operation.writes.front()).object.name;
  }

  // Ends a step of the operation at `index`; what follows takes its place, or it is gone.
  void Step(std::size_t index, std::optional<Error> error = std::nullopt) {
    const Operation operation = handle_.started[index];
    now_ += std::chrono::milliseconds(100);
    Operation following = operation.next(StepResult{std::move(error), {}, {}, now_, kNow});
    if (following.is_done()) {
      handle_.started.erase(handle_.started.begin() + static_cast<std::ptrdiff_t>(index));
    } else {
      handle_.started[index] = std::move(following);
    }
  }

  Time now_{std::chrono::seconds(1000)};
  testing::FakeHandle handle_;
  const PodInfoPtr preemptor_ = MakePod("p").Priority(10).SchedulerName("mine").Info();
  std::shared_ptr<PreemptionExecutor> executor_ = std::make_shared<PreemptionExecutor>(handle_);
};

using Strings = std::vector<std::string>;

TEST_F(ExecutorTest, OneVictim) {
  EXPECT_FALSE(IsRunning());
  Preempt({Victim("a")});
  EXPECT_TRUE(IsRunning());
  EXPECT_EQ(Wanted(), Strings{"wait 0s"}) << "nothing happens within the scheduling cycle";
  Step(0);
  ASSERT_EQ(Wanted(), Strings{"patch a"});
  const auto& patch = std::get<ObjectPatch>(handle_.started[0].writes.front());
  EXPECT_EQ(patch.object.group_version, "v1");
  EXPECT_EQ(patch.object.resource, "pods");
  EXPECT_EQ(patch.object.namespace_name, "default");
  EXPECT_EQ(patch.subresource, "status");
  EXPECT_EQ(patch.type, framework::PatchType::kStrategicMerge);
  EXPECT_EQ(patch.body,
            R"({"metadata":{"uid":"uid-default-a"},"status":{"conditions":[{"type":"DisruptionTarget","status":"True",)"
            R"("reason":"PreemptionByScheduler","message":"mine: preempting to accommodate a higher priority pod",)"
            R"("lastProbeTime":null,"lastTransitionTime":"2030-01-01T00:00:00Z"}]}})");
  EXPECT_TRUE(handle_.events.empty());
  Step(0);
  ASSERT_EQ(Wanted(), Strings{"delete a"});
  EXPECT_EQ(std::get<ObjectDelete>(handle_.started[0].writes.front()).uid, "uid-default-a");
  EXPECT_TRUE(IsRunning());
  Step(0);
  EXPECT_TRUE(Wanted().empty());
  EXPECT_FALSE(IsRunning());
  EXPECT_EQ(executor_->running_count(), 0u);
  EXPECT_EQ(handle_.activated, Strings{"uid-default-p"}) << "it was held back when it was asked for";
  ASSERT_EQ(handle_.events.size(), 1u);
  const framework::PodEvent& event = handle_.events.front();
  EXPECT_EQ(event.regarding.name, "a");
  EXPECT_EQ(event.reporting_controller, "mine");
  EXPECT_FALSE(event.is_warning);
  EXPECT_EQ(event.reason, "Preempted");
  EXPECT_EQ(event.action, "Preempting");
  EXPECT_EQ(event.note, "Preempted by pod uid-default-p on node n");
}

TEST_F(ExecutorTest, OlderEventsAreRelatedToThePreemptor) {
  for (const auto& [minor, name] : {std::pair(35, "a"), std::pair(36, "b")}) {
    handle_.SetRelease(framework::ReleaseOf(minor));
    handle_.events.clear();
    Preempt({Victim(name)});
    for (int step = 0; step < 3; ++step) Step(0);
    ASSERT_EQ(handle_.events.size(), 1u);
    const std::optional<framework::PodRef>& related = handle_.events.front().related;
    ASSERT_EQ(related.has_value(), minor == 35);
    if (related) {
      EXPECT_EQ(related->uid, preemptor_->uid);
    }
  }
}

TEST_F(ExecutorTest, AConditionThatIsThereKeepsItsTime) {
  const PodInfoPtr victim =
      MakePod("a").Node("n").Condition({"DisruptionTarget", "True", "PreemptionByScheduler", ""}).Info();
  handle_.assigned[victim->uid] = victim;
  Preempt({victim});
  Step(0);
  const auto& patch = std::get<ObjectPatch>(handle_.started[0].writes.front());
  EXPECT_EQ(patch.body.find("lastTransitionTime"), std::string::npos) << patch.body;
}

TEST_F(ExecutorTest, AllButTheLastAtOnce) {
  Preempt({Victim("a"), Victim("b"), Victim("c")});
  Step(0);
  EXPECT_EQ(Wanted(), (Strings{"patch a", "patch b"}));
  Step(1);
  Step(1);
  EXPECT_EQ(Wanted(), Strings{"patch a"}) << "the last one waits for all others";
  Step(0);
  Step(0);
  EXPECT_EQ(Wanted(), Strings{"patch c"});
  EXPECT_TRUE(IsRunning());
  Step(0);
  Step(0);
  EXPECT_FALSE(IsRunning());
  EXPECT_EQ(handle_.events.size(), 3u);
}

TEST_F(ExecutorTest, EndsForThePreemptorWhenTheLastVictimIsSeenToGo) {
  const PodInfoPtr first = Victim("a"), last = Victim("b");
  Preempt({first, last});
  Step(0);
  handle_.assigned.erase(first->uid);
  EXPECT_TRUE(IsRunning()) << "there is another to come";
  Step(0);
  ASSERT_EQ(Wanted(), Strings{"patch b"}) << "who has left is not deleted";
  Step(0);
  ASSERT_EQ(Wanted(), Strings{"delete b"});
  EXPECT_TRUE(IsRunning());
  handle_.assigned[last->uid] = MakePod("b").Node("n").Deleted(kNow).Info();
  EXPECT_FALSE(IsRunning()) << "it is terminating";
  handle_.assigned.erase(last->uid);
  EXPECT_FALSE(IsRunning()) << "it is gone";

  // Scheduled again, it may preempt again; the answer to the first one's DELETE does not end the second.
  Preempt({Victim("c")});
  EXPECT_TRUE(IsRunning());
  Step(0);
  EXPECT_TRUE(IsRunning());
  Step(0);
  Step(0);
  Step(0);
  EXPECT_FALSE(IsRunning());
  EXPECT_EQ(executor_->running_count(), 0u);
}

TEST_F(ExecutorTest, ActivatesAPreemptorThatMissedTheEndOfItsVictims) {
  const struct {
    const char* name;
    bool was_gated, is_last_there;
  } cases[] = {
      {"the event came while it was held back", true, false},
      {"the event is still to come, and may not concern it", true, true},
      {"it was not held back", false, false},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    handle_ = testing::FakeHandle();
    executor_ = std::make_shared<PreemptionExecutor>(handle_);
    const PodInfoPtr first = Victim("a"), last = Victim("b");
    Preempt({first, last});
    Step(0);
    if (test.was_gated) {
      EXPECT_TRUE(IsRunning());
    }
    Step(0);
    Step(0);
    if (!test.is_last_there) handle_.assigned.erase(last->uid);
    Step(0, Failure(ErrorCode::kNotFound));
    EXPECT_FALSE(IsRunning());
    EXPECT_EQ(handle_.activated.empty(), !test.was_gated);
  }
}

TEST_F(ExecutorTest, ClearsNominationsOfLessImportantPods) {
  const PodInfoPtr low = MakePod("low").Priority(9).Info();
  handle_.nominated["n"] = {low, MakePod("equal").Priority(10).Info(), MakePod("high").Priority(11).Info()};
  handle_.nominated["other"] = {MakePod("elsewhere").Priority(1).Info()};
  Preempt({Victim("a")});
  EXPECT_TRUE(handle_.cleared.empty());
  Step(0);
  EXPECT_EQ(handle_.cleared, Strings{low->uid});
}

TEST_F(ExecutorTest, TakesBackAPodThatIsNotBoundYet) {
  handle_.is_binding_cancellable = true;
  Preempt({Victim("a"), Victim("b")});
  Step(0);
  EXPECT_TRUE(Wanted().empty());
  EXPECT_EQ(handle_.cancelled, (Strings{"uid-default-a", "uid-default-b"}));
  EXPECT_FALSE(IsRunning());
  ASSERT_EQ(handle_.events.size(), 2u);
  EXPECT_EQ(handle_.events[0].note, "Preempted by pod uid-default-p on node n (in kube-scheduler memory).");
}

TEST_F(ExecutorTest, Failures) {
  const struct {
    const char* name;
    std::vector<std::optional<Error>> answers;  // to patch and delete, and the waits between
    bool want_activation;
    std::size_t want_events;
    std::string want_after;     // what is wanted after the answers
    bool is_seen_gone = false;  // the victim, after the first answer
  } cases[] = {
      {"gone before the patch", {Failure(ErrorCode::kNotFound)}, false, 0, ""},
      {"gone before the delete", {{}, Failure(ErrorCode::kNotFound)}, false, 0, ""},
      {"another pod of its name", {{}, Failure(ErrorCode::kConflict)}, true, 0, "", true},
      {"the delete meets a conflict, and the victim is still there",
       {{}, Failure(ErrorCode::kConflict)},
       false,
       0,
       "wait 10ms"},
      {"and goes", {{}, Failure(ErrorCode::kConflict), {}, {}}, false, 1, ""},
      {"and meets conflicts four times",
       {{},
        Failure(ErrorCode::kConflict),
        {},
        Failure(ErrorCode::kConflict),
        {},
        Failure(ErrorCode::kConflict),
        {},
        Failure(ErrorCode::kConflict)},
       true,
       0,
       ""},
      {"the patch is forbidden", {Failure(ErrorCode::kForbidden)}, true, 0, ""},
      {"the delete is forbidden", {{}, Failure(ErrorCode::kForbidden)}, true, 0, ""},
      {"the patch is tried again", {Failure(ErrorCode::kUnavailable)}, false, 0, "wait 10ms"},
      {"and again", {Failure(ErrorCode::kInternal), {}, Failure(ErrorCode::kTimeout)}, false, 0, "wait 50ms"},
      {"denied by admission, it is tried again", {Failure(ErrorCode::kDeniedByAdmission)}, false, 0, "wait 10ms"},
      {"and succeeds", {Failure(ErrorCode::kTooManyRequests), {}, {}, {}}, false, 1, ""},
      {"a conflict is tried again", {Failure(ErrorCode::kConflict), {}}, false, 0, "patch a"},
      {"a conflict that stays is for the delete to find out",
       {Failure(ErrorCode::kConflict),
        {},
        Failure(ErrorCode::kConflict),
        {},
        Failure(ErrorCode::kConflict),
        {},
        Failure(ErrorCode::kConflict)},
       false,
       0,
       "delete a"},
      {"four times at most",
       {Failure(ErrorCode::kUnavailable),
        {},
        Failure(ErrorCode::kUnavailable),
        {},
        Failure(ErrorCode::kUnavailable),
        {},
        Failure(ErrorCode::kUnavailable)},
       true,
       0,
       ""},
      {"the delete's answer is lost", {{}, Failure(ErrorCode::kCancelled, true)}, false, 0, "wait 10ms"},
      {"and it was deleted",
       {{}, Failure(ErrorCode::kUnavailable, true), {}, Failure(ErrorCode::kNotFound)},
       false,
       1,
       ""},
      {"we are shutting down", {{}, Failure(ErrorCode::kCancelled)}, true, 0, ""},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    handle_ = testing::FakeHandle();
    executor_ = std::make_shared<PreemptionExecutor>(handle_);
    Preempt({Victim("a")});
    Step(0);
    for (const auto& answer : test.answers) {
      ASSERT_FALSE(handle_.started.empty());
      Step(0, answer);
      if (test.is_seen_gone) handle_.assigned.clear();
    }
    EXPECT_EQ(handle_.activated, test.want_activation ? Strings{"uid-default-p"} : Strings{});
    EXPECT_EQ(handle_.events.size(), test.want_events);
    EXPECT_EQ(Wanted(), test.want_after.empty() ? Strings{} : Strings{test.want_after});
    EXPECT_EQ(IsRunning(), !test.want_after.empty());
  }
}

TEST_F(ExecutorTest, AsksForAsLongAsTheServerSays) {
  Preempt({Victim("a")});
  Step(0);
  Step(0, Error{ErrorCode::kTooManyRequests, "slow down", false, 2000});
  EXPECT_EQ(Wanted(), Strings{"wait 2s"});
}

TEST_F(ExecutorTest, ALastVictimIsSparedWhenOthersStay) {
  Preempt({Victim("a"), Victim("b"), Victim("c")});
  Step(0);
  Step(0, Failure(ErrorCode::kForbidden));
  EXPECT_TRUE(IsRunning()) << "b is still under way";
  EXPECT_TRUE(handle_.activated.empty());
  Step(0);
  Step(0);
  EXPECT_TRUE(Wanted().empty());
  EXPECT_FALSE(IsRunning());
  EXPECT_EQ(handle_.activated, Strings{"uid-default-p"});
}

TEST_F(ExecutorTest, DoesNotEvictTwice) {
  const std::vector<PodInfoPtr> victims = {Victim("a"), MakePod("b").Node("n").Deleted(kNow).Info()};
  EXPECT_EQ(PreemptionExecutor::ToEvict(victims), std::vector<PodInfoPtr>{victims.front()});
}

// Another preemptor that chooses a pod that is being evicted waits for the same answers.
TEST_F(ExecutorTest, EachVictimIsEvictedOnce) {
  const PodInfoPtr a = Victim("a"), b = Victim("b");
  const PodInfoPtr other = MakePod("other").Priority(20).Info();
  Preempt({a});
  executor_->Preempt(*other, "n", {a, b});
  Step(0);
  Step(0);
  EXPECT_EQ(Wanted(), Strings{"patch a"});
  Step(0);
  EXPECT_EQ(Wanted(), Strings{"delete a"});
  EXPECT_FALSE(executor_->HasDeleted(a->uid));
  Step(0);
  EXPECT_TRUE(executor_->HasDeleted(a->uid));
  EXPECT_FALSE(IsRunning());
  EXPECT_EQ(Wanted(), Strings{"patch b"});
  // Deleted, and not seen to go yet.
  Preempt({a});
  Step(1);
  EXPECT_EQ(Wanted(), Strings{"patch b"});
  EXPECT_FALSE(IsRunning());
  Step(0);
  Step(0);
  EXPECT_FALSE(executor_->IsRunning(other->uid));
  EXPECT_EQ(handle_.events.size(), 2u) << "one for each pod";
  EXPECT_EQ(handle_.counted->Observed("scheduler_preemption_victims"), (std::vector<double>{1, 1}));
}

TEST_F(ExecutorTest, WhatFailsFailsForAllThatWaitForIt) {
  const PodInfoPtr a = Victim("a");
  const PodInfoPtr other = MakePod("other").Priority(20).Info();
  Preempt({a});
  executor_->Preempt(*other, "n", {a});
  Step(0);
  Step(0);
  Step(0, Failure(ErrorCode::kForbidden));
  EXPECT_EQ(handle_.activated, (Strings{"uid-default-p", "uid-default-other"}));
  Preempt({a});
  Step(0);
  EXPECT_EQ(Wanted(), Strings{"patch a"}) << "it is tried anew";
}

TEST_F(ExecutorTest, NothingIsWrittenToAVictimThatIsKnownToGo) {
  const PodInfoPtr gone = Victim("a"), going = Victim("b");
  Preempt({gone, going});
  handle_.assigned.erase(gone->uid);
  handle_.assigned[going->uid] = MakePod("b").Node("n").Deleted(kNow).Info();
  Step(0);
  EXPECT_TRUE(Wanted().empty());
  EXPECT_FALSE(IsRunning());
  EXPECT_TRUE(handle_.events.empty()) << "nobody was evicted";
}

// Its binding fails while it is evicted: it is pending again, and may come back to the node.
TEST_F(ExecutorTest, AVictimThatWasNotBoundAfterAllIsNotTakenForDeleted) {
  const PodInfoPtr a = Victim("a");
  Preempt({a});
  Step(0);
  handle_.assigned.erase(a->uid);
  Step(0);
  EXPECT_TRUE(Wanted().empty());
  EXPECT_FALSE(executor_->HasDeleted(a->uid));
  handle_.assigned[a->uid] = a;
  Preempt({a});
  Step(0);
  EXPECT_EQ(Wanted(), Strings{"patch a"}) << "it is evicted anew";
}

// Victims with a grace period bring the preemptor back when they leave; the others may have left already.
TEST_F(ExecutorTest, TheEndActivatesAPreemptorWhoseVictimsHaveAllLeft) {
  for (const bool have_left : {false, true}) {
    SCOPED_TRACE(have_left);
    handle_ = testing::FakeHandle();
    executor_ = std::make_shared<PreemptionExecutor>(handle_);
    const PodInfoPtr first = Victim("a"), last = Victim("b");
    Preempt({first, last});
    for (int i = 0; i < 4; ++i) Step(0);
    if (have_left) handle_.assigned.clear();
    Step(0);
    EXPECT_EQ(handle_.activated.size(), have_left ? 1U : 0U);
  }
}

TEST_F(ExecutorTest, EvictionsAreForgottenWhenThePodsAreGone) {
  for (int i = 0; i < 500; ++i) {
    const PodInfoPtr victim = Victim("v" + std::to_string(i));
    Preempt({victim});
    for (int step = 0; step < 3; ++step) Step(0);
    ASSERT_TRUE(executor_->HasDeleted(victim->uid));
    handle_.assigned.erase(victim->uid);
  }
  EXPECT_FALSE(executor_->HasDeleted("uid-default-v0"));
}

TEST_F(ExecutorTest, CountsAndTimesPreemptions) {
  const std::string counts = "scheduler_preemption_goroutines_execution_total,result=";
  const std::string durations = "scheduler_preemption_goroutines_duration_seconds,result=";
  Preempt({Victim("a"), Victim("b")});
  for (int i = 0; i < 4; ++i) Step(0);
  EXPECT_TRUE(handle_.counted->Keys("scheduler_").empty()) << "b is still to be deleted";
  Step(0);
  EXPECT_EQ(handle_.counted->Value(counts + "success"), 1);
  ASSERT_EQ(handle_.counted->Observed(durations + "success").size(), 1U);
  EXPECT_NEAR(handle_.counted->Observed(durations + "success").front(), 0.4, 1e-9) << "from the first step's end";

  EXPECT_EQ(handle_.counted->Observed("scheduler_preemption_victims"), std::vector<double>{2});

  Preempt({Victim("c"), Victim("d"), Victim("e")});
  Step(0);
  Step(0, Failure(ErrorCode::kForbidden));
  Step(0);
  Step(0);
  EXPECT_EQ(handle_.counted->Observed("scheduler_preemption_victims").back(), 1) << "d alone is evicted";
  EXPECT_EQ(handle_.counted->Value(counts + "success"), 1);
  EXPECT_EQ(handle_.counted->Value(counts + "error"), 1);
  ASSERT_EQ(handle_.counted->Observed(durations + "error").size(), 1U);
  EXPECT_NEAR(handle_.counted->Observed(durations + "error").front(), 0.3, 1e-9);

  handle_.is_binding_cancellable = true;
  Preempt({Victim("f")});
  Step(0);
  EXPECT_EQ(handle_.counted->Value(counts + "success"), 2);
  EXPECT_EQ(handle_.counted->Observed(durations + "success").back(), 0);
}

TEST_F(ExecutorTest, TimesPreemptionsByPreemptorWherePodGroupsAreOn) {
  const std::string of_group = "scheduler_preemption_execution_duration_seconds,preemptor=podgroup,result=success";
  const auto preempt = [this] {
    handle_.is_binding_cancellable = true;
    executor_->PreemptForGroup({"uid-g", "podgroup", 5}, Members({"m"}), {Victim("a")});
    Step(0);
  };
  preempt();
  EXPECT_TRUE(handle_.counted->Observed(of_group).empty());
  framework::Release release = framework::ReleaseOf(37);
  release.has_pod_groups = true;
  handle_.SetRelease(release);
  preempt();
  EXPECT_EQ(handle_.counted->Observed(of_group).size(), 1U);
  EXPECT_TRUE(handle_.counted->Observed("scheduler_preemption_execution_duration_seconds,preemptor=pod,result=success")
                  .empty());
}

// The member that events name may be gone: whichever is there activates the group.
TEST_F(ExecutorTest, AGroupIsActivatedByAllItsMembers) {
  executor_->PreemptForGroup({"uid-g", "podgroup", 5}, Members({"m", "n"}), {Victim("a")});
  Step(0);
  Step(0, Failure(ErrorCode::kInvalid));
  EXPECT_EQ(handle_.activated, (Strings{"uid-default-m", "uid-default-n"}));
}

TEST_F(ExecutorTest, OperationsOutliveTheExecutor) {
  Preempt({Victim("a")});
  executor_.reset();
  Step(0);
  Step(0);
  Step(0);
  EXPECT_EQ(handle_.events.size(), 1u);
}

}  // namespace
}  // namespace berth::plugins
