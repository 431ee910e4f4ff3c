// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/scheduling_queue.h"

#include <gtest/gtest.h>

#include "berth/core/queue/queue_testing.h"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::EventObjects;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::QueueingHint;
using Names = std::vector<std::string>;
using Set = std::set<std::string>;

// The default profile has the gates GateA and GateB. Fit registers for deleted pods and new nodes, Affinity for labels,
// Picky has a hint that reads the node's name, Slow answers kPending and registers for new nodes, Any registers for
// everything.
class SchedulingQueueTest : public ::testing::Test {
 protected:
  SchedulingQueueTest() { Reset({}); }

  void Reset(SchedulingQueue::Options options) {
    ProfileHooks hooks;
    hooks.pre_enqueue = {&gate_a, &gate_b};
    hooks.events = {
        {"Fit", {events::kPodDelete, nullptr}},
        {"Fit", {events::kNodeAdd, nullptr}},
        {"Affinity", {events::kNodeLabel, nullptr}},
        {"Picky",
         {events::kNodeAdd,
          [](const PodInfo&, const EventObjects& event) {
            return event.new_node->metadata.name == "good" ? QueueingHint::kQueue : QueueingHint::kSkip;
          }}},
        {"Throws",
         {events::kNodeAdd,
          [](const PodInfo&, const EventObjects&) -> QueueingHint { throw std::runtime_error("!"); }}},
        {"Slow", {events::kNodeAdd, nullptr}},
        {"Any", {events::kWildcard, nullptr}},
        {"Tolerates", {events::kPodToleration, nullptr}},
        {"GateA", {events::kGatesGone, nullptr}},
        {"GateB", {events::kNodeLabel, nullptr}},
    };
    queue = std::make_unique<SchedulingQueue>(
        options, sort, absl::flat_hash_map<std::string, ProfileHooks>{{"default-scheduler", hooks}});
    now = kStart;
  }

  PodInfoPtr Add(const PodSketch& sketch) {
    PodInfoPtr pod = MakePodInfo(sketch);
    queue->Add(pod, now);
    return pod;
  }
  std::string PopName() {
    const auto popped = queue->Pop(now);
    return popped ? popped->pod->name : "";
  }
  // Adds a pod and lets it fail once. Its place depends on the rejectors and the events in between.
  QueuedPodInfo AddFailed(const PodSketch& sketch, const Set& unschedulable, const Set& pending = {}) {
    Add(sketch);
    return Fail(unschedulable, pending);
  }
  QueuedPodInfo Fail(const Set& unschedulable, const Set& pending = {}) {
    const auto popped = queue->Pop(now);
    EXPECT_TRUE(popped);
    EXPECT_TRUE(queue->AddUnschedulable(*popped, unschedulable, pending, now));
    return *popped;
  }
  std::optional<Place> PlaceOf(const std::string& name) const {
    const auto standing = queue->Find("uid-" + name);
    return standing ? std::optional(standing->place) : std::nullopt;
  }
  void Move(const ClusterEvent& event, EventSource source = {}, MoveLimit limit = {}) {
    if (event.resource == framework::EventResource::kNode && source.new_node == nullptr)
      source.new_node = MakeNode("n1");
    queue->Move(event, source, now, limit);
  }

  PriorityThenTime sort;
  Names gate_calls;
  Gate gate_a{"GateA", &gate_calls};
  Gate gate_b{"GateB", &gate_calls};
  std::unique_ptr<SchedulingQueue> queue;
  Time now = kStart;
};

// ---- Pop ----

TEST_F(SchedulingQueueTest, PopsByPriorityThenTimeThenArrival) {
  Add({.name = "low", .priority = 1});
  Add({.name = "first", .priority = 5});
  Add({.name = "second", .priority = 5});
  now += 1ms;
  Add({.name = "later", .priority = 5});
  Add({.name = "high", .priority = 9});
  EXPECT_EQ((Names{PopName(), PopName(), PopName(), PopName(), PopName(), PopName()}),
            (Names{"high", "first", "second", "later", "low", ""}));
}

TEST_F(SchedulingQueueTest, CountsAttemptsAndKeepsTheFirstAttemptTime) {
  Add({.name = "a"});
  const Time first = now;
  now += 10s;
  auto popped = queue->Pop(now);
  EXPECT_EQ(popped->attempts, 1);
  EXPECT_EQ(popped->timestamp, first);
  EXPECT_EQ(popped->initial_attempt_timestamp, first);
  EXPECT_TRUE(queue->AddUnschedulable(*popped, {}, {}, now));
  popped = queue->Pop(now += 5s);
  ASSERT_TRUE(popped);
  EXPECT_EQ(popped->attempts, 2);
  EXPECT_EQ(popped->timestamp, first + 10s);
  EXPECT_EQ(popped->initial_attempt_timestamp, first);
}

TEST_F(SchedulingQueueTest, AnEmptyActiveQueueTakesFromBackoffButNeverFromErrorBackoff) {
  AddFailed({.name = "error", .priority = 9}, {});
  Add({.name = "refused"});
  const auto popped = queue->Pop(now);
  Move(events::kNodeAdd);
  EXPECT_TRUE(queue->AddUnschedulable(*popped, {"Fit"}, {}, now));
  EXPECT_EQ(PlaceOf("error"), Place::kErrorBackoff);
  EXPECT_EQ(PlaceOf("refused"), Place::kBackoff);
  EXPECT_EQ(queue->backoff_count(), 2U);
  Add({.name = "ready"});
  EXPECT_EQ(PopName(), "ready");
  EXPECT_EQ(PopName(), "refused");
  EXPECT_EQ(PopName(), "");
  EXPECT_FALSE(queue->HasReadyPod());
  now += 3s;
  EXPECT_EQ(PopName(), "error");
}

TEST_F(SchedulingQueueTest, PodsOfOneBackoffWindowComeByPriority) {
  for (const auto& [name, priority, after] :
       {std::tuple{"early", 1, 0ms}, {"late-high", 9, 900ms}, {"next-window", 99, 1100ms}}) {
    now = kStart + after;
    Add({.name = name, .priority = priority});
    auto popped = queue->Pop(now);
    Move(events::kNodeAdd);
    EXPECT_TRUE(queue->AddUnschedulable(*popped, {"Fit"}, {}, now));
  }
  EXPECT_EQ((Names{PopName(), PopName(), PopName()}), (Names{"late-high", "early", "next-window"}));
}

// ---- Back-off ----

TEST_F(SchedulingQueueTest, BackoffEndsWithTheWindowThatItExpiresIn) {
  now = kStart + 300ms;
  AddFailed({.name = "a"}, {});
  EXPECT_EQ(queue->Find("uid-a")->backoff_expiration, kStart + 1s);
  EXPECT_EQ(queue->NextWake(), kStart + 2s);
  queue->Tick(kStart + 1999ms);
  EXPECT_EQ(PlaceOf("a"), Place::kErrorBackoff);
  queue->Tick(kStart + 2s);
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
  EXPECT_EQ(queue->NextWake(), std::nullopt);
}

TEST_F(SchedulingQueueTest, BackoffDoublesUpToItsMaximum) {
  Add({.name = "a"});
  for (const auto expected : {1s, 2s, 4s, 8s, 10s, 10s}) {
    Fail({});
    EXPECT_EQ(queue->Find("uid-a")->backoff_expiration, now + expected);
    now += expected + 1s;
    queue->Tick(now);
  }
}

TEST_F(SchedulingQueueTest, ErrorsAndRefusalsAreCountedApart) {
  Add({.name = "a"});
  const auto fail = [&](const Set& rejectors) {
    const auto popped = queue->Pop(now);
    Move(events::kNodeAdd);
    EXPECT_TRUE(queue->AddUnschedulable(*popped, rejectors, {}, now));
    const auto length = *queue->Find("uid-a")->backoff_expiration - now;
    now += length + 1s;
    queue->Tick(now);
    return length;
  };
  EXPECT_EQ(fail({"Fit"}), 1s);  // first refusal
  EXPECT_EQ(fail({"Fit"}), 2s);  // second refusal
  EXPECT_EQ(fail({}), 1s);       // first error: only errors count
  EXPECT_EQ(fail({}), 2s);       // second error in a row
  EXPECT_EQ(fail({"Fit"}), 4s);  // third refusal; resets the errors, not the refusals
  EXPECT_EQ(fail({}), 1s);       // first error again
}

TEST_F(SchedulingQueueTest, AMaximumOfZeroTurnsBackoffOff) {
  Reset({.max_backoff = Duration(0)});
  AddFailed({.name = "a"}, {});
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
}

TEST_F(SchedulingQueueTest, APodWhoseBackoffIsOverGoesStraightToActive) {
  AddFailed({.name = "a"}, {"Fit"});
  now += 10s;
  Move(events::kNodeAdd);
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
}

TEST_F(SchedulingQueueTest, AFailedPodGoesBehindItsPeers) {
  Add({.name = "c"});
  const auto c = queue->Pop(now);
  now += 1s;
  Add({.name = "a"});
  Add({.name = "b"});
  now += 1ms;
  EXPECT_TRUE(queue->AddUnschedulable(*c, {}, {}, now));
  EXPECT_EQ(PopName(), "a");
  now += 5s;
  EXPECT_EQ(PopName(), "b");
  EXPECT_EQ(PopName(), "c");
}

// ---- Gates ----

TEST_F(SchedulingQueueTest, AGatedPodWaitsForAnEventOfItsGatingPlugin) {
  const PodInfoPtr gated = Add({.name = "a", .gates = {"GateA"}});
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  EXPECT_EQ(queue->gated_count(), 1U);
  EXPECT_EQ(queue->unschedulable_count(), 0U);
  const auto standing = queue->Find("uid-a");
  EXPECT_EQ(standing->gating_plugin, "GateA");
  EXPECT_EQ(standing->gating_message, "held by GateA");
  EXPECT_EQ(standing->unschedulable_plugins, Names{"GateA"});

  // PreEnqueue does not run at events of other plugins, or at updates that change nothing relevant.
  gate_calls.clear();
  Move(events::kNodeAdd);
  Move(events::kNodeLabel);
  queue->Update(gated, MakePodInfo({.name = "a", .gates = {"GateA"}, .labels = {{"x", "y"}}}), now);
  EXPECT_EQ(gate_calls, Names{});

  now += 1min;
  queue->Update(nullptr, MakePodInfo({.name = "a"}), now);
  EXPECT_EQ(gate_calls, (Names{"GateA", "GateB"}));
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
  EXPECT_EQ(queue->gated_count(), 0U);
  const auto popped = queue->Pop(now);
  EXPECT_EQ(popped->attempts, 1);
  EXPECT_EQ(popped->timestamp, kStart);
  EXPECT_EQ(popped->initial_attempt_timestamp, now);  // time at the gate does not count
}

TEST_F(SchedulingQueueTest, TheGatingPluginIsAskedFirst) {
  Add({.name = "a", .gates = {"GateB"}});
  EXPECT_EQ(gate_calls, (Names{"GateA", "GateB"}));
  gate_calls.clear();
  Move(events::kNodeLabel);
  EXPECT_EQ(gate_calls, Names{"GateB"});
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
}

TEST_F(SchedulingQueueTest, TheNextGateMayCloseWhenTheFirstOpens) {
  Add({.name = "a", .gates = {"GateA"}});
  gate_b.extra = [](const PodInfo&) { return true; };
  queue->Update(nullptr, MakePodInfo({.name = "a"}), now);
  EXPECT_EQ(queue->Find("uid-a")->gating_plugin, "GateB");
  EXPECT_EQ(queue->Find("uid-a")->unschedulable_plugins, (Names{"GateA", "GateB"}));
  gate_b.extra = nullptr;
  Move(events::kNodeLabel);
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
}

TEST_F(SchedulingQueueTest, AGateThatThrowsHoldsThePodAndSaysWhy) {
  Add({.name = "a", .gates = {"GateA-throws"}});
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  EXPECT_EQ(queue->Find("uid-a")->gating_message, "panic: no idea");
}

TEST_F(SchedulingQueueTest, TheGateIsAskedOnTheWayToBackoffAndNotAgainAfterIt) {
  AddFailed({.name = "a"}, {"Fit"});
  gate_calls.clear();
  Move(events::kNodeAdd);
  EXPECT_EQ(PlaceOf("a"), Place::kBackoff);
  EXPECT_EQ(gate_calls, (Names{"GateA", "GateB"}));
  gate_calls.clear();
  queue->Tick(now += 5s);
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
  EXPECT_EQ(gate_calls, Names{});
}

TEST_F(SchedulingQueueTest, AFailedPodCanBeGatedAndKeepsItsRejectors) {
  Add({.name = "a"});
  const auto popped = queue->Pop(now);
  gate_b.extra = [](const PodInfo&) { return true; };
  EXPECT_TRUE(queue->AddUnschedulable(*popped, {"Fit"}, {}, now));
  EXPECT_EQ(PlaceOf("a"), Place::kUnschedulable);  // PreEnqueue only runs on the way to activeQ and the back-off heaps
  Move(events::kNodeAdd);
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  EXPECT_EQ(queue->Find("uid-a")->unschedulable_plugins, (Names{"Fit", "GateB"}));
  // Fit has registered for this event, but the gating plugin has not.
  gate_b.extra = nullptr;
  Move(events::kNodeAdd);
  EXPECT_EQ(PlaceOf("a"), Place::kGated);
  now += 5s;
  Move(events::kNodeLabel);
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
}

// ---- Events ----

// A hint would look at each thing that the pod asks for, at each event.
TEST_F(SchedulingQueueTest, NoHintIsAskedAboutALargePod) {
  AddFailed({.name = "large", .tolerations = 1000}, {"Picky"});
  AddFailed({.name = "ordinary", .tolerations = 900}, {"Picky"});
  Move(events::kNodeAdd, {.new_node = MakeNode("bad")});
  EXPECT_EQ(PlaceOf("large"), Place::kBackoff);
  EXPECT_EQ(PlaceOf("ordinary"), Place::kUnschedulable);
}

TEST_F(SchedulingQueueTest, AnEventMovesThePodsWhoseRejectorsWantIt) {
  struct Case {
    const char* name;
    Set unschedulable;
    Set pending;
    ClusterEvent event;
    EventSource source;
    Place place;
  };
  const EventSource good{.new_node = MakeNode("good")};
  const EventSource bad{.new_node = MakeNode("bad")};
  const std::vector<Case> cases = {
      {"registered", {"Fit"}, {}, events::kNodeAdd, bad, Place::kBackoff},
      {"registered as Pod, incoming AssignedPod", {"Fit"}, {}, events::kAssignedPodDelete, {}, Place::kBackoff},
      {"another action", {"Fit"}, {}, events::kAssignedPodAdd, {}, Place::kUnschedulable},
      {"another plugin's", {"Affinity"}, {}, events::kNodeAdd, bad, Place::kUnschedulable},
      {"one of two rejectors", {"Affinity", "Fit"}, {}, events::kNodeAdd, bad, Place::kBackoff},
      {"hint says queue", {"Picky"}, {}, events::kNodeAdd, good, Place::kBackoff},
      {"hint says skip", {"Picky"}, {}, events::kNodeAdd, bad, Place::kUnschedulable},
      {"hint throws", {"Throws"}, {}, events::kNodeAdd, bad, Place::kBackoff},
      {"pending plugin: no back-off", {}, {"Slow"}, events::kNodeAdd, bad, Place::kActive},
      {"pending plugin beside a refusing one", {"Fit"}, {"Slow"}, events::kNodeAdd, bad, Place::kActive},
      {"pending plugin does not want it, the other does",
       {"Fit"},
       {"Slow"},
       events::kAssignedPodDelete,
       {},
       Place::kBackoff},
      {"wildcard registration", {"Any"}, {}, events::kAssignedPodAdd, {}, Place::kBackoff},
      {"wildcard event", {"Affinity"}, {}, events::kWildcard, {}, Place::kBackoff},
      {"wildcard event does not skip back-off", {}, {"Slow"}, events::kWildcard, {}, Place::kBackoff},
      {"wildcard event for another pod",
       {"Affinity"},
       {},
       events::kWildcard,
       {.new_pod = MakePodInfo({.name = "b"})},
       Place::kUnschedulable},
      {"wildcard event for this pod",
       {"Affinity"},
       {},
       events::kWildcard,
       {.new_pod = MakePodInfo({.name = "a"})},
       Place::kBackoff},
      {"unknown plugin", {"Extender"}, {}, events::kNodeAdd, good, Place::kUnschedulable},
      {"general update against one aspect",
       {"Affinity"},
       {},
       {framework::EventResource::kNode, framework::action::kUpdate},
       bad,
       Place::kUnschedulable},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Reset({});
    AddFailed({.name = "a"}, c.unschedulable, c.pending);
    EXPECT_EQ(PlaceOf("a"), Place::kUnschedulable);
    queue->Move(c.event, c.source, now);
    EXPECT_EQ(PlaceOf("a"), c.place);

    // An event during the attempt has the same effect after it.
    Reset({});
    Add({.name = "a"});
    const auto popped = queue->Pop(now);
    queue->Move(c.event, c.source, now);
    EXPECT_TRUE(queue->AddUnschedulable(*popped, c.unschedulable, c.pending, now));
    EXPECT_EQ(PlaceOf("a"), c.place);
    EXPECT_EQ(queue->in_flight_count(), 0U);
    EXPECT_EQ(queue->in_flight_event_count(), 0U);
  }
}

TEST_F(SchedulingQueueTest, APodWithoutAProfileIsTriedAgainAtAnyEventOfInterest) {
  AddFailed({.name = "a", .scheduler_name = "stranger"}, {"Fit"});
  Move({framework::EventResource::kNode, framework::action::kUpdateNodeCondition});
  EXPECT_EQ(PlaceOf("a"), Place::kBackoff);  // Any has registered for it, so that it is of interest
}

TEST_F(SchedulingQueueTest, AMoveCanBeLimitedByPriorityAndLeaveOutOnePod) {
  AddFailed({.name = "low", .priority = 1}, {"Fit"});
  AddFailed({.name = "same", .priority = 5}, {"Fit"});
  AddFailed({.name = "high", .priority = 6}, {"Fit"});
  Move(events::kAssignedPodDelete, {}, {.priority_max = 5, .excluded_uid = "uid-low"});
  EXPECT_EQ(PlaceOf("low"), Place::kUnschedulable);
  EXPECT_EQ(PlaceOf("same"), Place::kBackoff);
  EXPECT_EQ(PlaceOf("high"), Place::kUnschedulable);
}

TEST_F(SchedulingQueueTest, OnlyEventsDuringTheAttemptCount) {
  Add({.name = "a"});
  Add({.name = "b"});
  Move(events::kNodeAdd);
  const auto a = queue->Pop(now);
  EXPECT_EQ(queue->in_flight_event_count(), 0U);
  Move(events::kNodeAdd);
  const auto b = queue->Pop(now);
  EXPECT_EQ(queue->in_flight_event_count(), 1U);
  EXPECT_TRUE(queue->AddUnschedulable(*b, {"Fit"}, {}, now));
  EXPECT_EQ(PlaceOf("b"), Place::kUnschedulable);
  EXPECT_EQ(queue->in_flight_event_count(), 1U);
  EXPECT_TRUE(queue->AddUnschedulable(*a, {"Fit"}, {}, now));
  EXPECT_EQ(PlaceOf("a"), Place::kBackoff);
  EXPECT_EQ(queue->in_flight_event_count(), 0U);
}

TEST_F(SchedulingQueueTest, DoneEndsTheRecordingAndPrunesWhatNobodyNeeds) {
  Add({.name = "a"});
  Add({.name = "b"});
  const auto a = queue->Pop(now);
  Move(events::kNodeAdd);
  const auto b = queue->Pop(now);
  Move(events::kNodeLabel);
  EXPECT_EQ(queue->in_flight_event_count(), 2U);
  queue->Done("uid-a");
  queue->Done("uid-a");
  EXPECT_EQ(queue->in_flight_event_count(), 1U);
  EXPECT_FALSE(queue->IsInFlight("uid-a"));
  queue->Done("uid-b");
  EXPECT_EQ(queue->in_flight_event_count(), 0U);
  // A pod whose attempt fails after Done is tried again after its back-off, because the events since are not known.
  EXPECT_TRUE(queue->AddUnschedulable(*a, {"Fit"}, {}, now));
  EXPECT_EQ(PlaceOf("a"), Place::kBackoff);
  EXPECT_TRUE(queue->AddUnschedulable(*b, {}, {}, now));
  EXPECT_EQ(PlaceOf("b"), Place::kErrorBackoff);
}

TEST_F(SchedulingQueueTest, EventsThatNobodyWantsAreNotRecorded) {
  Reset({});
  ProfileHooks hooks;
  hooks.events = {{"Fit", {events::kNodeAdd, nullptr}}};
  SchedulingQueue small({}, sort, {{"default-scheduler", hooks}});
  small.Add(MakePodInfo({.name = "a"}), now);
  ASSERT_TRUE(small.Pop(now));
  small.Move(events::kAssignedPodAdd, {}, now);
  EXPECT_EQ(small.in_flight_event_count(), 0U);
  small.Move(events::kNodeAdd, {}, now);
  EXPECT_EQ(small.in_flight_event_count(), 1U);
}

TEST_F(SchedulingQueueTest, TooManyEventsInFlightMeanAnotherAttempt) {
  Add({.name = "a"});
  const auto a = queue->Pop(now);
  for (std::size_t i = 0; i <= SchedulingQueue::kInFlightEventsMax; ++i) Move(events::kNodeLabel);
  EXPECT_EQ(queue->in_flight_event_count(), 1U);
  Add({.name = "b"});
  const auto b = queue->Pop(now);
  EXPECT_TRUE(queue->AddUnschedulable(*a, {"Extender"}, {}, now));
  EXPECT_EQ(PlaceOf("a"), Place::kBackoff);
  EXPECT_TRUE(queue->AddUnschedulable(*b, {"Extender"}, {}, now));
  EXPECT_EQ(PlaceOf("b"), Place::kUnschedulable);
}

TEST_F(SchedulingQueueTest, ObjectsOfARecordedEventLiveAsLongAsItDoes) {
  Add({.name = "a"});
  const auto a = queue->Pop(now);
  queue->Move(events::kNodeAdd, {.new_node = MakeNode("good")}, now);
  EXPECT_TRUE(queue->AddUnschedulable(*a, {"Picky"}, {}, now));
  EXPECT_EQ(PlaceOf("a"), Place::kBackoff);
}

// ---- Update, Delete, Activate ----

TEST_F(SchedulingQueueTest, AnUpdateReplacesTheObjectInPlaceAndItsOrder) {
  Add({.name = "a", .priority = 1});
  Add({.name = "b", .priority = 2});
  queue->Update(nullptr, MakePodInfo({.name = "a", .priority = 3}), now);
  EXPECT_EQ(queue->active_count(), 2U);
  const auto popped = queue->Pop(now);
  EXPECT_EQ(popped->pod->priority(), 3);
}

TEST_F(SchedulingQueueTest, APodThatSomebodyElseNominatesIsTriedAgain) {
  const auto nominated = [](const std::string& name, const std::string& node) {
    return MakePodInfo({.name = name, .nominated_node_name = node});
  };
  for (const char* name : {"own", "others", "gated"}) AddFailed({.name = name}, {"Fit"});
  queue->nominator().AddNominatedPod(nominated("own", "n1"));
  gate_a.extra = [](const PodInfo& pod) { return pod.name == "gated"; };
  now += 20s;
  for (const char* name : {"own", "others", "gated"}) queue->Update(nullptr, nominated(name, "n1"), now);
  EXPECT_EQ(PlaceOf("own"), Place::kUnschedulable) << "the API server shows what was known";
  EXPECT_EQ(PlaceOf("others"), Place::kActive);
  EXPECT_EQ(PlaceOf("gated"), Place::kGated);
  EXPECT_EQ(PopName(), "others");
  queue->Update(nullptr, nominated("own", "n2"), now);
  EXPECT_EQ(PlaceOf("own"), Place::kActive) << "another node";
}

TEST_F(SchedulingQueueTest, AnUpdateInBackoffStaysThere) {
  AddFailed({.name = "error"}, {});
  queue->Update(nullptr, MakePodInfo({.name = "error", .tolerations = 1}), now);
  EXPECT_EQ(PlaceOf("error"), Place::kErrorBackoff);
  Add({.name = "refused"});
  const auto popped = queue->Pop(now);
  Move(events::kNodeAdd);
  EXPECT_TRUE(queue->AddUnschedulable(*popped, {"Fit"}, {}, now));
  queue->Update(nullptr, MakePodInfo({.name = "refused", .priority = 7}), now);
  EXPECT_EQ(PlaceOf("refused"), Place::kBackoff);
  EXPECT_EQ(queue->Pop(now)->pod->priority(), 7);
}

TEST_F(SchedulingQueueTest, AnUpdateOfAWaitingPodMovesItWhenARejectorWantsIt) {
  const PodInfoPtr before = MakePodInfo({.name = "a"});
  struct Case {
    const char* name;
    Set rejectors;
    PodSketch after;
    Place place;
  };
  for (const Case& c : {Case{"toleration", {"Tolerates"}, {.name = "a", .tolerations = 1}, Place::kBackoff},
                        Case{"label", {"Tolerates"}, {.name = "a", .labels = {{"x", "y"}}}, Place::kUnschedulable},
                        Case{"nothing known", {"Tolerates"}, {.name = "a"}, Place::kUnschedulable},
                        Case{"wildcard", {"Any"}, {.name = "a"}, Place::kBackoff},
                        Case{"another rejector", {"Fit"}, {.name = "a", .tolerations = 1}, Place::kUnschedulable}}) {
    SCOPED_TRACE(c.name);
    Reset({});
    AddFailed({.name = "a"}, c.rejectors);
    const PodInfoPtr after = MakePodInfo(c.after);
    queue->Update(before, after, now);
    EXPECT_EQ(PlaceOf("a"), c.place);
    EXPECT_EQ(queue->Find("uid-a")->pod, after);

    // For a pod in flight the update is recorded as an event.
    Reset({});
    Add({.name = "a"});
    const auto popped = queue->Pop(now);
    queue->Update(before, after, now);
    EXPECT_TRUE(queue->AddUnschedulable(*popped, c.rejectors, {}, now));
    EXPECT_EQ(PlaceOf("a"), c.place);
  }
}

// The cost of an event for waiting pods.
class WaitingClassesTest : public ::testing::Test {
 protected:
  static constexpr int kClasses = 3;
  static constexpr int kPodsAClass = 50;

  WaitingClassesTest() {
    const auto hint = [this](const PodInfo& pod, const EventObjects& event) {
      ++asked;
      const bool is_own = event.new_pod != nullptr && event.new_pod->uid == pod.uid;
      const bool is_helped = is_own || pod.uid == helped_uid || pod.priority() == helped;
      return is_helped ? QueueingHint::kQueue : QueueingHint::kSkip;
    };
    ProfileHooks hooks;
    hooks.events = {{"Fit", {events::kNodeAdd, hint, true}},
                    {"Fit", {events::kAssignedPodAdd, hint, true}},
                    {"Fit", {events::kNodeLabel, hint}},
                    {"Other", {events::kNodeTaint, hint}}};
    queue = std::make_unique<SchedulingQueue>(
        SchedulingQueue::Options(), sort, absl::flat_hash_map<std::string, ProfileHooks>{{"default-scheduler", hooks}});
    for (int c = 0; c < kClasses; ++c) {
      const PodInfoPtr model = MakePodInfo({.name = "model", .priority = c});
      for (int i = 0; i < kPodsAClass; ++i) {
        auto pod = std::make_shared<PodInfo>(*model);
        pod->name = "p" + std::to_string(c) + "-" + std::to_string(i);
        pod->uid = "uid-" + pod->name;
        pods.push_back(pod);
        queue->Add(pod, kStart);
      }
    }
    while (const auto popped = queue->Pop(kStart)) queue->AddUnschedulable(*popped, {"Fit"}, {}, kStart);
    EXPECT_EQ(queue->unschedulable_count(), pods.size());
  }

  // Sends the event after the back-off, so that pods that are helped are active; returns their number.
  std::size_t Move(const ClusterEvent& event, EventSource source = {}, MoveLimit limit = {}) {
    asked = 0;
    queue->Move(event, source, kStart + 10s, limit);
    return queue->active_count();
  }

  PriorityThenTime sort;
  int helped = -1;
  std::string helped_uid;
  int asked = 0;
  std::vector<PodInfoPtr> pods;
  std::unique_ptr<SchedulingQueue> queue;
};

TEST_F(WaitingClassesTest, NobodyIsAskedAboutAnEventThatNoRejectorWants) {
  EXPECT_EQ(Move(events::kNodeTaint), 0U);
  EXPECT_EQ(asked, 0);
}

TEST_F(WaitingClassesTest, AHintOfTheClassIsAskedOnceAClass) {
  EXPECT_EQ(Move(events::kNodeAdd), 0U);
  EXPECT_EQ(asked, kClasses);
  EXPECT_EQ(Move(events::kNodeAdd, {}, {.priority_max = 0}), 0U);
  EXPECT_EQ(asked, 1);
  helped = 1;
  EXPECT_EQ(Move(events::kNodeAdd, {}, {.excluded_uid = "uid-p1-49"}), kPodsAClass - 1U);
  EXPECT_LE(asked, kClasses + kPodsAClass);
  EXPECT_EQ(queue->Find("uid-p1-49")->place, Place::kUnschedulable);
}

TEST_F(WaitingClassesTest, AHintOfThePodIsAskedEachTime) {
  Move(events::kNodeLabel);
  EXPECT_EQ(asked, kClasses * kPodsAClass);
}

TEST_F(WaitingClassesTest, ThePodOfTheEventIsAskedItself) {
  const PodInfoPtr own = pods[kPodsAClass + 7];
  EXPECT_EQ(Move(events::kAssignedPodAdd, {.new_pod = own}), 1U);
  EXPECT_EQ(queue->Find(own->uid)->place, Place::kActive);
  // The event's own pod is recognised by uid: here its class has changed.
  const PodInfoPtr other = pods[3];
  auto changed = std::make_shared<PodInfo>(*other);
  changed->pod_class = pods.back()->pod_class;
  EXPECT_EQ(Move(events::kAssignedPodAdd, {.new_pod = changed}), 2U);
  EXPECT_EQ(queue->Find(other->uid)->place, Place::kActive);
}

// Room that other pods may not use is kept for nominated pods.
TEST_F(WaitingClassesTest, PodsThatAreNominatedForTheEventsNodeAreAskedThemselves) {
  // The newest pod of its class is the first one that would be asked for all.
  const PodInfoPtr nominated = pods[2 * kPodsAClass - 1];
  queue->nominator().AddNominatedPod(nominated, "n");
  queue->nominator().AddNominatedPod(pods[0], "elsewhere");
  const PodInfoPtr gone = MakePodInfo({.name = "gone", .node_name = "n"});
  helped_uid = nominated->uid;
  EXPECT_EQ(Move(events::kAssignedPodAdd, {.old_pod = gone}), 1U);
  EXPECT_EQ(queue->Find(nominated->uid)->place, Place::kActive);
  EXPECT_EQ(asked, kClasses + 1);
  helped_uid = pods[0]->uid;
  EXPECT_EQ(Move(events::kAssignedPodAdd, {.old_pod = gone}), 1U) << "nobody else";
  EXPECT_EQ(
      Move(events::kAssignedPodAdd, {.old_pod = MakePodInfo({.name = "gone", .nominated_node_name = "elsewhere"})}),
      2U);
}

TEST_F(WaitingClassesTest, AnUpdateTakesThePodToItsNewClass) {
  auto changed = std::make_shared<PodInfo>(*pods[5]);
  changed->pod_class = pods.back()->pod_class;
  queue->Update(pods[5], changed, kStart);
  for (const PodInfoPtr& pod : pods) {
    if (pod->pod_class == pods[0]->pod_class && pod != pods[5]) queue->Delete(pod->uid, kStart);
  }
  EXPECT_EQ(Move(events::kNodeAdd), 0U);
  EXPECT_EQ(asked, kClasses - 1);
  helped = changed->priority();
  EXPECT_EQ(Move(events::kNodeAdd), kPodsAClass + 1U);
}

TEST_F(SchedulingQueueTest, UpdateOfAnUnknownPodAddsIt) {
  queue->Update(nullptr, MakePodInfo({.name = "a"}), now);
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
}

TEST_F(SchedulingQueueTest, AddingAKnownPodUpdatesIt) {
  AddFailed({.name = "a"}, {"Fit"});
  Add({.name = "a", .priority = 3});
  EXPECT_EQ(PlaceOf("a"), Place::kUnschedulable);
  EXPECT_EQ(queue->Find("uid-a")->pod->priority(), 3);
}

TEST_F(SchedulingQueueTest, DeleteForgetsAPodInEveryPlaceButNotInFlight) {
  AddFailed({.name = "unschedulable"}, {"Fit"});
  AddFailed({.name = "error"}, {});
  Add({.name = "gated", .gates = {"GateA"}});
  Add({.name = "active"});
  Add({.name = "flying", .priority = 9});
  EXPECT_EQ(PopName(), "flying");
  for (const char* name : {"unschedulable", "error", "gated", "active"}) {
    EXPECT_TRUE(queue->Contains(std::string("uid-") + name));
    queue->Delete(std::string("uid-") + name, now);
    EXPECT_EQ(PlaceOf(name), std::nullopt) << name;
  }
  queue->Delete("uid-flying", now);
  queue->Delete("uid-unknown", now);
  EXPECT_TRUE(queue->IsInFlight("uid-flying"));
  EXPECT_FALSE(queue->Contains("uid-flying"));
  queue->Done("uid-flying");
  EXPECT_TRUE(queue->Dump().empty());
  EXPECT_EQ(queue->active_count() + queue->backoff_count() + queue->unschedulable_count() + queue->gated_count(), 0U);
  EXPECT_EQ(queue->NextWake(), std::nullopt);
}

TEST_F(SchedulingQueueTest, ANewPodOfTheSameNameReplacesTheOldOne) {
  for (const bool is_waiting : {false, true}) {
    Reset({});
    Add({.name = "a", .uid = "old", .nominated_node_name = "n1"});
    if (is_waiting) Fail({"Fit"});
    Add({.name = "a", .uid = "new"});
    EXPECT_FALSE(queue->Contains("old"));
    EXPECT_TRUE(queue->Contains("new"));
    EXPECT_TRUE(queue->nominator().empty());
    EXPECT_EQ(queue->Dump().size(), 1U);
  }
}

TEST_F(SchedulingQueueTest, AnAttemptOfAnOldPodDoesNotComeBackBesideTheNewOne) {
  Add({.name = "a", .uid = "old"});
  const auto old = queue->Pop(now);
  Add({.name = "a", .uid = "new"});
  EXPECT_TRUE(queue->IsInFlight("old"));
  EXPECT_FALSE(queue->AddUnschedulable(*old, {"Fit"}, {}, now));
  EXPECT_EQ(queue->in_flight_count(), 0U);
  EXPECT_EQ(queue->Dump().size(), 1U);
  // The same after Done.
  EXPECT_FALSE(queue->AddUnschedulable(*old, {"Fit"}, {}, now));
  queue->Delete("new", now);
  EXPECT_TRUE(queue->AddUnschedulable(*old, {"Fit"}, {}, now));
}

TEST_F(SchedulingQueueTest, APodThatIsQueuedAlreadyIsNotTakenTwice) {
  Add({.name = "a"});
  const auto popped = queue->Pop(now);
  EXPECT_TRUE(queue->AddUnschedulable(*popped, {"Fit"}, {}, now));
  EXPECT_FALSE(queue->AddUnschedulable(*popped, {}, {}, now));
  EXPECT_EQ(PlaceOf("a"), Place::kUnschedulable);
}

TEST_F(SchedulingQueueTest, ActivateSkipsBackoffButNotTheGate) {
  AddFailed({.name = "unschedulable"}, {"Fit"});
  AddFailed({.name = "error"}, {});
  Add({.name = "gated", .gates = {"GateA"}});
  const Names uids = {"uid-unschedulable", "uid-error", "uid-gated", "uid-unknown"};
  gate_calls.clear();
  queue->Activate(uids, now);
  EXPECT_EQ(PlaceOf("unschedulable"), Place::kActive);
  EXPECT_EQ(PlaceOf("error"), Place::kActive);
  EXPECT_EQ(PlaceOf("gated"), Place::kGated);
  // PreEnqueue does not run again for the pod from the back-off heap.
  EXPECT_EQ(gate_calls, (Names{"GateA", "GateB", "GateA"}));
}

TEST_F(SchedulingQueueTest, ActivateOfAPodInFlightBringsItBackAndNoOther) {
  Add({.name = "a"});
  Add({.name = "b"});
  const auto a = queue->Pop(now);
  const auto b = queue->Pop(now);
  queue->Activate(Names{"uid-a"}, now);
  EXPECT_TRUE(queue->AddUnschedulable(*a, {"Fit"}, {}, now));
  EXPECT_TRUE(queue->AddUnschedulable(*b, {"Fit"}, {}, now));
  EXPECT_EQ(PlaceOf("a"), Place::kBackoff);
  EXPECT_EQ(PlaceOf("b"), Place::kUnschedulable);
}

// ---- Timers ----

TEST_F(SchedulingQueueTest, PodsThatWaitTooLongAreTriedAgain) {
  now = kStart;  // a multiple of 30 seconds
  ASSERT_EQ(now.time_since_epoch() % 30s, 0s);
  AddFailed({.name = "a"}, {"Affinity"});
  Add({.name = "gated", .gates = {"GateA"}});
  EXPECT_EQ(queue->NextWake(), kStart + 5min + 30s);  // not at 5 minutes: the wait must be longer than that
  queue->Tick(kStart + 5min);
  EXPECT_EQ(PlaceOf("a"), Place::kUnschedulable);
  queue->Tick(kStart + 5min + 29s);
  EXPECT_EQ(PlaceOf("a"), Place::kUnschedulable);
  queue->Tick(*queue->NextWake());
  EXPECT_EQ(PlaceOf("a"), Place::kActive);
  EXPECT_EQ(PlaceOf("gated"), Place::kGated);
  EXPECT_EQ(queue->NextWake(), std::nullopt);
  const auto flushed = queue->Pop(kStart + 5min + 30s);
  ASSERT_NE(flushed->flushed_from, nullptr);
  EXPECT_EQ(queue->DescribeRescue(*flushed, kStart + 6min).rfind("Affinity: ", 0), 0U);
  EXPECT_EQ(queue->DescribeRescue(*flushed, kStart + 6min), "") << "said already";
  EXPECT_NE(queue->DescribeRescue(*flushed, kStart + 8min), "");
}

TEST_F(SchedulingQueueTest, AReleaseAsksTheGateAgainAfterALongTime) {
  Reset({.wildcards_reach_gated_pods = true});
  now = kStart;
  bool is_shut = true;
  gate_a.extra = [&](const PodInfo&) { return is_shut; };
  Add({.name = "gated"});
  EXPECT_EQ(PlaceOf("gated"), Place::kGated);
  gate_calls.clear();
  queue->Tick(*queue->NextWake());
  EXPECT_EQ(PlaceOf("gated"), Place::kGated);
  EXPECT_FALSE(gate_calls.empty());
  gate_calls.clear();
  EXPECT_EQ(queue->NextWake(), kStart + 11min) << "it counts from the flush";
  is_shut = false;
  queue->Tick(*queue->NextWake());
  EXPECT_EQ(PlaceOf("gated"), Place::kActive) << "no event told that the gate is open";
}

TEST_F(SchedulingQueueTest, TheFlushIsAnEventForPodsInFlight) {
  AddFailed({.name = "a"}, {"Affinity"});
  now += 10min;
  Add({.name = "b"});
  const auto b = queue->Pop(now);
  queue->Tick(now);
  EXPECT_TRUE(queue->AddUnschedulable(*b, {"Affinity"}, {}, now));
  EXPECT_EQ(PlaceOf("b"), Place::kBackoff);
}

// ---- Nominations ----

TEST_F(SchedulingQueueTest, NominationsFollowThePods) {
  const PodInfoPtr a = Add({.name = "a", .nominated_node_name = "n1"});
  EXPECT_EQ(queue->nominator().NominatedNode("uid-a"), "n1");
  queue->Update(a, MakePodInfo({.name = "a", .nominated_node_name = "n2"}), now);
  EXPECT_EQ(queue->nominator().NominatedNode("uid-a"), "n2");
  queue->Delete("uid-a", now);
  EXPECT_TRUE(queue->nominator().empty());
  // A gated new pod is not nominated, so that it holds no room.
  Add({.name = "gated", .nominated_node_name = "n1", .gates = {"GateA"}});
  EXPECT_TRUE(queue->nominator().empty());
}

TEST_F(SchedulingQueueTest, AReleaseNominatesPodsAtTheGate) {
  Reset({.nominates_gated_pods = true});
  Add({.name = "gated", .nominated_node_name = "n1", .gates = {"GateA"}});
  EXPECT_EQ(queue->nominator().NominatedNode("uid-gated"), "n1");
  Add({.name = "b"});
  EXPECT_EQ(queue->nominator().NominatedNode("uid-b"), "");
}

TEST_F(SchedulingQueueTest, DumpIsSortedByName) {
  Add({.name = "b"});
  Add({.name = "a"});
  AddFailed({.name = "c", .priority = 1}, {"Fit", "Affinity"}, {"Slow"});
  const auto dump = queue->Dump();
  ASSERT_EQ(dump.size(), 3U);
  EXPECT_EQ((Names{dump[0].pod->name, dump[1].pod->name, dump[2].pod->name}), (Names{"a", "b", "c"}));
  EXPECT_EQ(dump[2].unschedulable_plugins, (Names{"Affinity", "Fit"}));
  EXPECT_EQ(dump[2].pending_plugins, Names{"Slow"});
}

TEST_F(SchedulingQueueTest, APartOfTheDumpBeginsBehindAName) {
  for (const char* const name : {"d", "b", "a", "c"}) Add({.name = name});
  const std::string in = queue->Dump().front().pod->namespace_name();
  const auto names = [&](const PodRange& range) {
    Names found;
    for (const PodStanding& standing : queue->Dump(range)) found.push_back(standing.pod->name);
    return found;
  };
  EXPECT_EQ(names({.count_max = 2}), (Names{"a", "b"}));
  EXPECT_EQ(names({in, "b", 5}), (Names{"c", "d"}));
  EXPECT_EQ(names({in, "bb", 1}), Names{"c"}) << "the name need not be there";
  EXPECT_EQ(names({in, "d", 5}), Names{});
  EXPECT_EQ(names({"a-namespace-before", "z", 1}), Names{"a"});
}

TEST_F(SchedulingQueueTest, APodIsFoundByItsName) {
  const PodInfoPtr a = Add({.name = "a"});
  const std::string in = a->namespace_name();
  ASSERT_TRUE(queue->FindNamed(in, "a"));
  EXPECT_EQ(queue->FindNamed(in, "a")->place, Place::kActive);
  EXPECT_FALSE(queue->FindNamed(in, "b"));
  EXPECT_FALSE(queue->FindNamed("elsewhere", "a"));
  ASSERT_TRUE(queue->Pop(now));
  ASSERT_TRUE(queue->FindNamed(in, "a"));
  EXPECT_EQ(queue->FindNamed(in, "a")->place, Place::kInFlight);
}

}  // namespace
}  // namespace berth::queue
