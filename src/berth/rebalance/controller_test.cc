// SPDX-License-Identifier: Apache-2.0
// The controller on a small cluster in memory, whose controllers and kubelets the tests play.
#include "berth/rebalance/controller.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/rebalance/controller_metrics.h"
#include "berth/rebalance/node_mark.h"
#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using whatif::RunningPod;
using Result = RoundReport::Result;

constexpr Duration kMinute = std::chrono::minutes(1);
const char* const kTaints = "[{name: RemovePodsViolatingNodeTaints}]";
const char* const kDescheduleTaints = "deschedule: {enabled: [RemovePodsViolatingNodeTaints]}";

testing::NodeBuilder Gpu(const std::string& name) {
  return MakeNode(name).Taint("gpu", "yes", api::TaintEffect::kNoSchedule);
}

std::shared_ptr<const api::PodDetails> ReadyDetails(const api::Pod& pod) {
  auto details = std::make_shared<api::PodDetails>(*DetailsOf(pod));
  details->status.conditions.push_back({"Ready", "True", {}, {}});
  return details;
}

class FakeOutside final : public ControllerOutside {
 public:
  FakeOutside(const std::vector<testing::NodeBuilder>& nodes, const std::vector<testing::PodBuilder>& pods,
              Policy with = PolicyOf(kTaints, kDescheduleTaints))
      : policy(std::move(with)) {
    state = whatif::StateOf(nodes, pods);
    for (const auto& pod : state.pods) state.pod_details.push_back(ReadyDetails(*pod));
  }

  Expected<whatif::ClusterState> Read() override {
    ++reads;
    if (read_error) return *read_error;
    return state;
  }
  Expected<Measurements> Measure(Time) override {
    if (measure_error) return *measure_error;
    return measurements;
  }
  Expected<RebalancePlan> Plan(const whatif::ClusterState& of, const PlanOptions& options) override {
    const auto cluster = whatif::ClusterOf(of);
    return PlanRebalance(*cluster, of, policy, options);
  }
  Expected<std::string> LoadLedger() override { return ledger; }
  Expected<void> SaveLedger(const std::string& text) override {
    ++saves;
    if (save_error) return *std::exchange(save_error, std::nullopt);
    ledger = text;
    return {};
  }
  Expected<void> Evict(const PlannedMove& move) override {
    tried.push_back(move.key);
    EXPECT_THAT(ledger, HasSubstr(move.uid)) << "the ledger was written before";
    if (on_evict) {
      if (auto error = on_evict(move)) return *error;
    }
    Delete(move.uid);
    evicted.push_back(move);
    return {};
  }
  Expected<void> MarkNode(const api::Node& node, const NodeMark& mark) override {
    const std::string& name = node.metadata.name;
    if (on_mark) on_mark(name);
    for (auto& each : state.nodes) {
      if (each->metadata.name != name) continue;
      if (each->metadata.resource_version != node.metadata.resource_version) {
        marks.push_back(name + " conflict");
        return Error{ErrorCode::kConflict, "the object has been modified"};
      }
      if (mark_error) return *mark_error;
      break;
    }
    marks.push_back(name + (mark.is_cordoned ? " cordoned" : mark.consolidating.empty() ? " uncordoned" : " noted"));
    Change(name, [&](api::Node& changed) {
      changed.unschedulable = mark.is_cordoned || (changed.unschedulable && !IsConsolidating(changed));
      changed.metadata.annotations = {};
      if (!mark.consolidating.empty()) changed.metadata.annotations.Set(kConsolidatingAnnotation, mark.consolidating);
    });
    return {};
  }
  bool IsEnding() override { return is_ending; }
  void OnEvicted(const PlannedMove& move) override { eviction_notices.push_back(move.key); }
  void OnNotEvicted(const PlannedMove&, const Error&) override {}
  void OnChange(const MoveChange& change) override {
    outcomes.push_back(change.record.key + " " + std::string(ToString(change.kind)));
  }

  void Change(const std::string& name, const std::function<void(api::Node&)>& how) {
    for (auto& each : state.nodes) {
      if (each->metadata.name != name) continue;
      api::Node changed = *each;
      changed.metadata.resource_version = "v" + std::to_string(++versions);
      how(changed);
      each = std::make_shared<const api::Node>(std::move(changed));
    }
  }
  // As `kubectl cordon` and `kubectl uncordon` do, which know nothing of annotations.
  void Cordon(const std::string& name, bool is_cordoned) {
    Change(name, [&](api::Node& node) { node.unschedulable = is_cordoned; });
  }

  void Delete(const std::string& uid) {
    for (std::size_t i = 0; i < state.pods.size(); ++i) {
      if (state.pods[i]->metadata.uid != uid) continue;
      state.pods.erase(state.pods.begin() + static_cast<std::ptrdiff_t>(i));
      state.pod_details.erase(state.pod_details.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  void Add(api::Pod pod) {
    state.pod_details.push_back(ReadyDetails(pod));
    state.pods.push_back(std::make_shared<const api::Pod>(std::move(pod)));
  }
  // What controller, scheduler and kubelet make of the eviction; empty: the scheduler finds no node.
  void Replace(const PlannedMove& move, const std::string& node) {
    api::Pod pod = *move.pod;
    pod.metadata.name += "-new";
    pod.metadata.uid += "-new";
    pod.metadata.creation_time = kTestNow;
    pod.spec.node_name = node;
    Add(std::move(pod));
  }
  void ReplaceAll() {
    for (const PlannedMove& move : std::exchange(evicted, {})) Replace(move, move.to);
  }

  Policy policy;
  whatif::ClusterState state;
  std::string ledger;
  Measurements measurements;
  std::vector<std::string> marks;
  std::optional<Error> read_error, measure_error, save_error, mark_error;
  std::function<void(const std::string& node)> on_mark;  // before its version is compared
  std::function<std::optional<Error>(const PlannedMove&)> on_evict;
  bool is_ending = false;
  int reads = 0, saves = 0, versions = 0;
  std::vector<std::string> tried, eviction_notices, outcomes;
  std::vector<PlannedMove> evicted;  // and not replaced yet
};

ControllerOptions Executing() {
  ControllerOptions options;
  options.executes = true;
  options.limits.per_workload = {100, true};
  options.limits.cool_down = Duration{0};
  return options;
}

std::vector<std::string> Keys(const std::vector<PlannedMove>& moves) {
  std::vector<std::string> keys;
  for (const PlannedMove& move : moves) keys.push_back(move.key);
  return keys;
}

// "default/web-1: rollout".
std::vector<std::string> Held(const RoundReport& report) {
  std::vector<std::string> held;
  for (const StayingPod& pod : report.staying) held.push_back(pod.key + ": " + std::string(pod.hold));
  return held;
}

std::vector<testing::PodBuilder> Two(const std::string& app = "web") {
  return {RunningPod(app, app + "-1", "n1"), RunningPod(app, app + "-2", "n1")};
}

TEST(ControllerTest, WritesNothingUnlessItExecutes) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  ControllerOptions options = Executing();
  options.executes = false;
  Controller controller(outside, options);
  for (int i = 0; i < 2; ++i) {
    const RoundReport report = controller.RunRound(kTestNow);
    EXPECT_EQ(report.result, Result::kWouldMove);
    EXPECT_THAT(Keys(report.moves), ElementsAre("default/web-1", "default/web-2"));
    EXPECT_EQ(report.next, options.interval);
  }
  EXPECT_THAT(outside.tried, IsEmpty());
  EXPECT_EQ(outside.saves, 0);
}

TEST(ControllerTest, MovesAndIsQuietAfterwards) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  Controller controller(outside, Executing());
  const RoundReport report = controller.RunRound(kTestNow);
  EXPECT_EQ(report.result, Result::kMoved);
  EXPECT_THAT(outside.eviction_notices, ElementsAre("default/web-1", "default/web-2"));
  outside.ReplaceAll();
  EXPECT_EQ(controller.RunRound(kTestNow + kMinute).result, Result::kQuiet);
  EXPECT_THAT(outside.outcomes, UnorderedElementsAre("default/web-1 as_proved", "default/web-2 as_proved"));
  EXPECT_EQ(controller.RunRound(kTestNow + 2 * kMinute).result, Result::kQuiet);
  EXPECT_EQ(outside.tried.size(), 2u);
  EXPECT_EQ(outside.saves, 1);
}

TEST(ControllerTest, MovesFewOfAnOwnerAtOnceAndPausesBetween) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  ControllerOptions options = Executing();
  options.limits.per_workload = {1, false};
  options.limits.cool_down = 5 * kMinute;
  Controller controller(outside, options);
  EXPECT_THAT(Held(controller.RunRound(kTestNow)), ElementsAre("default/web-2: per_owner"));
  EXPECT_THAT(Held(controller.RunRound(kTestNow + kMinute)), ElementsAre("default/web-2: replacement"));
  outside.ReplaceAll();
  EXPECT_THAT(Held(controller.RunRound(kTestNow + 2 * kMinute)), ElementsAre("default/web-2: cool_down"));
  EXPECT_THAT(Keys(controller.RunRound(kTestNow + 5 * kMinute).moves), ElementsAre("default/web-2"));
}

TEST(ControllerTest, AShareOfAnOwnersPodsIsAtLeastOne) {
  EXPECT_EQ((WorkloadShare{25, true}).Of(3), 1u);
  EXPECT_EQ((WorkloadShare{25, true}).Of(8), 2u);
  EXPECT_EQ((WorkloadShare{3, false}).Of(2), 3u);
}

TEST(ControllerTest, AShareIsANumberOrAPercentage) {
  EXPECT_EQ(WorkloadShare::Parse("25%").value().Of(8), 2u);
  EXPECT_EQ(WorkloadShare::Parse("3").value().Of(100), 3u);
  for (const char* const text : {"", "%", "0", "0%", "101%", "-1", "3 ", "1000001"})
    EXPECT_FALSE(WorkloadShare::Parse(text)) << text;
}

TEST(ControllerTest, MovesFewWithinAnHour) {
  std::vector<testing::PodBuilder> pods;
  for (const char* const app : {"a", "b", "c"}) pods.push_back(RunningPod(app, app, "n1"));
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, pods);
  ControllerOptions options = Executing();
  options.limits.per_hour = 2;
  Controller controller(outside, options);
  EXPECT_THAT(Held(controller.RunRound(kTestNow)), ElementsAre("default/c: per_hour"));
  outside.ReplaceAll();
  EXPECT_THAT(Held(controller.RunRound(kTestNow + 59 * kMinute)), ElementsAre("default/c: per_hour"));
  EXPECT_THAT(Keys(controller.RunRound(kTestNow + 60 * kMinute).moves), ElementsAre("default/c"));
}

TEST(ControllerTest, LeavesAnOwnerAloneThatIsNotWhole) {
  const auto held = [](const testing::PodBuilder& more) {
    auto pods = Two();
    pods.push_back(more);
    FakeOutside outside({Gpu("n1"), MakeNode("n2")}, pods);
    Controller controller(outside, Executing());
    const RoundReport report = controller.RunRound(kTestNow);
    EXPECT_THAT(outside.tried, IsEmpty());
    EXPECT_EQ(outside.saves, 0);
    return Held(report);
  };
  const auto both = [](const std::string& cause) {
    return ElementsAre("default/web-1: " + cause, "default/web-2: " + cause);
  };
  EXPECT_THAT(held(RunningPod("web", "web-3", "")), both("pending"));
  EXPECT_THAT(held(RunningPod("web", "web-3", "n2").Deleted(kTestNow)), both("deletion"));
  EXPECT_THAT(held(MakePod("web-3")
                       .Label("app", "web")
                       .Label("pod-template-hash", "77f")
                       .Controller("apps/v1", "ReplicaSet", "web-77f")
                       .Node("n2")),
              both("rollout"));
}

TEST(ControllerTest, OwnersDoNotHoldEachOther) {
  auto pods = Two("web");
  pods.push_back(RunningPod("web", "web-3", ""));
  for (const auto& pod : Two("db")) pods.push_back(pod);
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, pods);
  Controller controller(outside, Executing());
  EXPECT_THAT(Keys(controller.RunRound(kTestNow).moves), ElementsAre("default/db-1", "default/db-2"));
}

TEST(ControllerTest, WaitsWhileTheClusterIsNotWell) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  ControllerOptions options = Executing();
  options.health = {.pending_max = 0, .not_ready_max = 0};
  Controller controller(outside, options);
  const auto cause = [&] {
    const RoundReport report = controller.RunRound(kTestNow);
    EXPECT_EQ(report.result, Result::kWaiting) << report.wait.why;
    EXPECT_THAT(report.moves, IsEmpty());
    return std::string(report.wait.cause) + ": " + report.wait.why;
  };

  outside.read_error = Error{ErrorCode::kUnavailable, "connection refused"};
  EXPECT_EQ(cause(), "api_errors: connection refused");
  outside.read_error.reset();

  outside.state.left_out = {"csinodes: forbidden: no"};
  EXPECT_EQ(cause(), "unreadable: no proof would hold: csinodes: forbidden: no");
  outside.state.left_out = {"resourceslices: not served: the server could not find it"};

  const auto ready = outside.state.nodes;
  api::Node sick = *ready[1];
  sick.conditions = {{"Ready", "Unknown"}};
  outside.state.nodes[1] = std::make_shared<const api::Node>(sick);
  EXPECT_EQ(cause(), "nodes_not_ready: 1 node is not ready, n2 for one: more than 0 (--not-ready-max)");
  outside.state.nodes = ready;

  outside.Add(RunningPod("other", "gated", "").Gate("later").Build());
  outside.Add(RunningPod("other", "other-1", "").Build());
  EXPECT_EQ(cause(), "pods_pending: 1 pod is pending, default/other-1 for one: more than 0 (--pending-max)");
  EXPECT_THAT(outside.tried, IsEmpty());
  outside.state.pods.pop_back();
  outside.state.pod_details.pop_back();
  EXPECT_EQ(controller.RunRound(kTestNow).result, Result::kMoved);
}

TEST(ControllerTest, AReplacementThatDoesNotComeStopsItsOwner) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  ControllerOptions options = Executing();
  options.limits.per_workload = {1, false};
  Controller controller(outside, options);
  controller.RunRound(kTestNow);
  outside.Replace(outside.evicted.front(), "");
  for (const int minutes : {5, 30, 59}) {
    const RoundReport report = controller.RunRound(kTestNow + minutes * kMinute);
    EXPECT_THAT(Held(report), ElementsAre("default/web-2: not_placed"));
    EXPECT_THAT(report.staying[0].why, StartsWith("the replacement of default/web-1 was not ready in time"));
  }
  EXPECT_THAT(outside.outcomes, ElementsAre("default/web-1 not_placed"));
  // It has come after all.
  outside.Delete(outside.state.pods.back()->metadata.uid);
  outside.ReplaceAll();
  EXPECT_THAT(Keys(controller.RunRound(kTestNow + 59 * kMinute).moves), ElementsAre("default/web-2"));
}

TEST(ControllerTest, APodIsNotMovedForTheSameReasonAgain) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2"), Gpu("n3")}, {RunningPod("web", "web-1", "n1")});
  Controller controller(outside, Executing());
  controller.RunRound(kTestNow);
  // The scheduler has another mind than the one that was asked.
  outside.Replace(outside.evicted.front(), "n3");
  EXPECT_THAT(Held(controller.RunRound(kTestNow + kMinute)), ElementsAre("default/web-1-new: same_reason"));
  EXPECT_THAT(outside.outcomes, ElementsAre("default/web-1 elsewhere"));
  EXPECT_EQ(controller.RunRound(kTestNow + 59 * kMinute).result, Result::kQuiet);
  EXPECT_EQ(controller.RunRound(kTestNow + 60 * kMinute).result, Result::kMoved) << "the cluster may have changed";
}

TEST(ControllerTest, ARefusedEvictionEndsTheRoundAndIsTriedLaterAndLater) {
  std::vector<testing::PodBuilder> pods;
  for (const char* const app : {"a", "b", "c"}) pods.push_back(RunningPod(app, app, "n1"));
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, pods);
  outside.on_evict = [](const PlannedMove& move) -> std::optional<Error> {
    if (move.key != "default/b") return std::nullopt;
    return Error{ErrorCode::kTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget."};
  };
  Controller controller(outside, Executing());
  const RoundReport first = controller.RunRound(kTestNow);
  EXPECT_EQ(first.result, Result::kMoved);
  EXPECT_THAT(Keys(first.moves), ElementsAre("default/a"));
  EXPECT_EQ(first.wait.cause, "eviction_refused");
  EXPECT_THAT(first.wait.why, HasSubstr("disruption budget"));
  EXPECT_EQ(first.later, 2u);
  EXPECT_EQ(first.next, Controller::kSoon);
  outside.ReplaceAll();
  const RoundReport second = controller.RunRound(kTestNow + Controller::kSoon);
  EXPECT_THAT(Keys(second.moves), ElementsAre("default/c"));
  EXPECT_THAT(Held(second), ElementsAre("default/b: refused"));
  outside.ReplaceAll();

  // Each pause is twice as long as the one before.
  outside.tried.clear();
  std::vector<int> seconds;
  for (int i = 0; i < 2000; i += 10) {
    const std::size_t before = outside.tried.size();
    controller.RunRound(kTestNow + std::chrono::seconds(i));
    if (outside.tried.size() > before) seconds.push_back(i);
  }
  EXPECT_THAT(seconds, ElementsAre(30, 90, 210, 450, 930, 1530));
  outside.on_evict = {};
  EXPECT_EQ(controller.RunRound(kTestNow + std::chrono::seconds(2200)).result, Result::kMoved);
}

TEST(ControllerTest, ANewBeginningInMidRoundEvictsNothingTwice) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  outside.on_evict = [&](const PlannedMove&) -> std::optional<Error> {
    outside.is_ending = true;  // after this one
    return std::nullopt;
  };
  ControllerOptions options = Executing();
  options.limits.per_hour = 2;
  EXPECT_THAT(Keys(Controller(outside, options).RunRound(kTestNow).moves), ElementsAre("default/web-1"));
  outside.is_ending = false;
  outside.on_evict = {};

  Controller again(outside, options);
  EXPECT_THAT(Held(again.RunRound(kTestNow + kMinute)), ElementsAre("default/web-2: replacement"));
  EXPECT_THAT(outside.outcomes, UnorderedElementsAre("default/web-1 found_evicted", "default/web-2 not_evicted"));
  outside.ReplaceAll();
  EXPECT_THAT(Keys(again.RunRound(kTestNow + 2 * kMinute).moves), ElementsAre("default/web-2"));
  EXPECT_THAT(outside.tried, ElementsAre("default/web-1", "default/web-2"));

  // The hour's limit outlives the process.
  outside.ReplaceAll();
  outside.Add(RunningPod("late", "late-1", "n1").Build());
  EXPECT_THAT(Held(Controller(outside, options).RunRound(kTestNow + 3 * kMinute)),
              ElementsAre("default/late-1: per_hour"));
}

TEST(ControllerTest, FindsOutWhetherAnEvictionWithoutAnAnswerTookEffect) {
  for (const bool took_effect : {true, false}) {
    SCOPED_TRACE(took_effect);
    FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
    outside.on_evict = [&](const PlannedMove& move) -> std::optional<Error> {
      if (took_effect) outside.Delete(move.uid);
      return Error{ErrorCode::kTimeout, "no answer", true, 0};
    };
    Controller controller(outside, Executing());
    const RoundReport report = controller.RunRound(kTestNow);
    EXPECT_EQ(report.result, Result::kWaiting);
    EXPECT_EQ(report.wait.cause, "eviction_failed");
    EXPECT_THAT(outside.tried, ElementsAre("default/web-1")) << "the round ends with it";
    outside.on_evict = {};
    controller.RunRound(kTestNow + kMinute);
    if (took_effect) {
      EXPECT_THAT(outside.outcomes, ElementsAre("default/web-1 found_evicted"));
      EXPECT_EQ(outside.tried.size(), 1u) << "its replacement is awaited";
    } else {
      EXPECT_THAT(outside.outcomes, ElementsAre("default/web-1 not_evicted"));
      EXPECT_THAT(outside.tried, ElementsAre("default/web-1", "default/web-1", "default/web-2"));
    }
  }
}

TEST(ControllerTest, EvictsNothingThatTheLedgerDoesNotRecord) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  outside.save_error = Error{ErrorCode::kConflict, "the object has been modified"};
  Controller controller(outside, Executing());
  const RoundReport report = controller.RunRound(kTestNow);
  EXPECT_EQ(report.result, Result::kWaiting);
  EXPECT_EQ(report.wait.why, "the ledger cannot be written: the object has been modified");
  EXPECT_THAT(outside.tried, IsEmpty());
  // The one that it reads anew tells that another process has moved one.
  MoveLedger others;
  MoveRecord record;
  record.key = "default/web-0";
  record.uid = "gone";
  record.workload = "default/Deployment web";
  record.to = "n2";
  record.at = kTestNow;
  record.newest = kTestNow;
  others.Intend(record);
  outside.ledger = others.Text();
  EXPECT_THAT(Held(controller.RunRound(kTestNow + kMinute)),
              ElementsAre("default/web-1: replacement", "default/web-2: replacement"));
  EXPECT_THAT(outside.tried, IsEmpty());
}

TEST(ControllerTest, ALedgerThatIsNotItsOwnStopsIt) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, Two());
  outside.ledger = "hello";
  Controller controller(outside, Executing());
  const RoundReport report = controller.RunRound(kTestNow);
  EXPECT_EQ(report.result, Result::kWaiting);
  EXPECT_THAT(report.wait.why, StartsWith("the ledger is not one of berth's: "));
  EXPECT_EQ(outside.reads, 0);
}

TEST(ControllerTest, WhatNeedsRoomWaitsUntilItIsMade) {
  // web-1 has to leave n1 for n3, which is full until db-1 has left it for n2.
  FakeOutside outside(
      {Gpu("n1"), MakeNode("n2").Label("db", "yes"), MakeNode("n3").Taint("db", "no", api::TaintEffect::kNoSchedule)},
      {RunningPod("web", "web-1", "n1").Request("cpu", "3").Toleration("db", "Exists"),
       RunningPod("other", "other-1", "n2").Request("cpu", "2"), RunningPod("db", "db-1", "n3").Request("cpu", "2")});
  Controller controller(outside, Executing());
  const RoundReport report = controller.RunRound(kTestNow);
  EXPECT_THAT(Keys(report.moves), ElementsAre("default/db-1"));
  EXPECT_EQ(report.later, 1u);
  EXPECT_EQ(report.next, Controller::kSoon);
  outside.ReplaceAll();
  EXPECT_THAT(Keys(controller.RunRound(kTestNow + kMinute).moves), ElementsAre("default/web-1"));
}

TEST(ControllerTest, AChainIsMadeRoundByRound) {
  // Each pod is as large as the one in its way: web-1 has to leave n1 for n2, db-1 can go from there to n3, and cache-1
  // from there to n4. They like these nodes better than their own.
  const auto from_to = [](const std::string& app, const std::string& from, const std::string& to) {
    const auto on = [](const std::vector<std::string>& names) {
      return testing::Term({testing::In("kubernetes.io/hostname", names)});
    };
    return RunningPod(app, app + "-1", from)
        .Request("cpu", "3")
        .RequiredTerms({on({from, to})})
        .Preferred(100, on({to}));
  };
  FakeOutside outside({Gpu("n1"), MakeNode("n2"), MakeNode("n3"), MakeNode("n4")},
                      {from_to("web", "n1", "n2"), from_to("db", "n2", "n3"), from_to("cache", "n3", "n4")});
  Controller controller(outside, Executing());
  std::size_t later = 2;
  Time now = kTestNow;
  for (const std::string key : {"default/cache-1", "default/db-1", "default/web-1"}) {
    const RoundReport report = controller.RunRound(now);
    EXPECT_THAT(Keys(report.moves), ElementsAre(key));
    EXPECT_EQ(report.later, later--);
    outside.ReplaceAll();
    now += kMinute;
  }
  EXPECT_EQ(controller.RunRound(now).result, Result::kQuiet);
}

TEST(ControllerTest, FinishedPodsAreRemovedWhateverBecomesOfTheirOwner) {
  FakeOutside outside({MakeNode("n1"), MakeNode("n2")}, {RunningPod("web", "web-2", "")},
                      PolicyOf("[{name: RemoveFailedPods}]", "deschedule: {enabled: [RemoveFailedPods]}"));
  api::Pod failed = RunningPod("web", "web-1", "n1").Created(kTestNow - std::chrono::hours(3)).Build();
  failed.status.phase = api::PodPhase::kFailed;
  auto details = std::make_shared<api::PodDetails>(*DetailsOf(failed));
  details->status.phase = "Failed";
  outside.state.finished_pods.push_back(std::make_shared<const api::Pod>(failed));
  outside.state.finished_pod_details.push_back(std::move(details));
  Controller controller(outside, Executing());
  EXPECT_THAT(Keys(controller.RunRound(kTestNow).moves), ElementsAre("default/web-1"));
  outside.state.finished_pods.clear();
  outside.state.finished_pod_details.clear();
  EXPECT_EQ(controller.RunRound(kTestNow + kMinute).result, Result::kQuiet);
  EXPECT_THAT(outside.outcomes, ElementsAre("default/web-1 gone"));
}

// --- Measurements and cordons ----------------------------------------------------------------------------------------

TEST(ControllerTest, NothingMovesWithoutMeasurements) {
  FakeOutside outside({Gpu("n1"), MakeNode("n2")}, {RunningPod("web", "web-1", "n1")});
  outside.measure_error = Error{ErrorCode::kTimeout, "Prometheus: no answer within 10s"};
  Controller controller(outside, Executing());
  const RoundReport report = controller.RunRound(kTestNow);
  EXPECT_EQ(report.result, Result::kWaiting);
  EXPECT_EQ(report.wait.cause, "metrics");
  EXPECT_EQ(report.wait.why, "Prometheus: no answer within 10s");
  EXPECT_THAT(outside.evicted, IsEmpty());
  outside.measure_error.reset();
  EXPECT_EQ(controller.RunRound(kTestNow + kMinute).result, Result::kMoved);
}

// Of two pods on n1, which goes into n2, whatever else is said of n1.
FakeOutside ToConsolidate(const testing::NodeBuilder& n1 = MakeNode("n1")) {
  return {{n1, MakeNode("n2")},
          {RunningPod("web", "web-1", "n1").Request("cpu", "500m"),
           RunningPod("web", "web-2", "n1").Request("cpu", "500m"), RunningPod("db", "db-1", "n2").Request("cpu", "2")},
          PolicyOf("[{name: Consolidate, args: {thresholds: {cpu: 30}}}]", "balance: {enabled: [Consolidate]}")};
}

ControllerOptions OneOfAnOwner() {
  ControllerOptions options = Executing();
  options.limits.per_workload = {1, false};
  return options;
}

// With it there, n1 cannot be emptied.
api::Pod BareOnN1() {
  api::Pod bare = MakePod("bare").Node("n1").Build();
  bare.status.phase = api::PodPhase::kRunning;
  return bare;
}

TEST(ControllerTest, ANodeIsCordonedBeforeItsPodsLeaveAndUncordonedWhenThatIsGivenUp) {
  FakeOutside outside = ToConsolidate();
  outside.on_evict = [&](const PlannedMove&) -> std::optional<Error> {
    EXPECT_THAT(outside.marks, ElementsAre("n1 cordoned"));
    return std::nullopt;
  };
  Controller controller(outside, OneOfAnOwner());
  EXPECT_EQ(controller.RunRound(kTestNow).result, Result::kMoved);
  EXPECT_THAT(outside.evicted, ::testing::SizeIs(1)) << "one of its owner at once";
  outside.ReplaceAll();
  // Meanwhile somebody has put a pod there that nobody makes anew: the node cannot be emptied any more.
  outside.Add(BareOnN1());
  controller.RunRound(kTestNow + 10 * kMinute);
  EXPECT_THAT(outside.marks, ElementsAre("n1 cordoned", "n1 uncordoned"));
}

TEST(ControllerTest, ANodeThatSomebodyElseHasCordonedIsNeverUncordoned) {
  FakeOutside outside = ToConsolidate(MakeNode("n1").Unschedulable());
  Controller controller(outside, OneOfAnOwner());
  EXPECT_EQ(controller.RunRound(kTestNow).result, Result::kQuiet);
  outside.Add(BareOnN1());
  EXPECT_EQ(controller.RunRound(kTestNow + 10 * kMinute).result, Result::kQuiet);
  EXPECT_THAT(outside.marks, IsEmpty());
  EXPECT_THAT(outside.evicted, IsEmpty());
}

TEST(ControllerTest, ANodeThatSomebodyElseHasUncordonedIsTheirsForAWhile) {
  FakeOutside outside = ToConsolidate();
  Controller controller(outside, OneOfAnOwner());
  EXPECT_EQ(controller.RunRound(kTestNow).result, Result::kMoved);
  outside.ReplaceAll();
  outside.Cordon("n1", false);
  // Also while the mark cannot be written.
  outside.mark_error = Error{ErrorCode::kForbidden, "no"};
  EXPECT_EQ(controller.RunRound(kTestNow + 5 * kMinute).result, Result::kQuiet);
  outside.mark_error.reset();
  EXPECT_EQ(controller.RunRound(kTestNow + 10 * kMinute).result, Result::kQuiet);
  EXPECT_THAT(outside.marks, ElementsAre("n1 cordoned", "n1 noted"));
  // What they cordon now is not berth's to take back.
  outside.Cordon("n1", true);
  outside.Add(BareOnN1());
  EXPECT_EQ(controller.RunRound(kTestNow + 20 * kMinute).result, Result::kQuiet);
  outside.Cordon("n1", false);
  outside.Delete(BareOnN1().metadata.uid);
  EXPECT_EQ(controller.RunRound(kTestNow + 69 * kMinute).result, Result::kQuiet);
  EXPECT_THAT(outside.marks, ElementsAre("n1 cordoned", "n1 noted"));
  EXPECT_EQ(Controller(outside, OneOfAnOwner()).RunRound(kTestNow + 70 * kMinute).result, Result::kMoved);
  EXPECT_THAT(outside.marks, ElementsAre("n1 cordoned", "n1 noted", "n1 cordoned"));
}

TEST(ControllerTest, WithoutExecuteNoNodeIsMarked) {
  FakeOutside outside = ToConsolidate(MakeNode("n1").Annotation(kConsolidatingAnnotation, "true"));
  ControllerOptions options = OneOfAnOwner();
  options.executes = false;
  EXPECT_EQ(Controller(outside, options).RunRound(kTestNow).result, Result::kQuiet);
  EXPECT_THAT(outside.marks, IsEmpty());
}

TEST(ControllerTest, ANodeThatHasChangedSinceItWasReadIsLookedAtAgain) {
  FakeOutside outside = ToConsolidate();
  Controller controller(outside, OneOfAnOwner());
  outside.on_mark = [&](const std::string& node) { outside.Cordon(node, true); };
  const RoundReport report = controller.RunRound(kTestNow);
  EXPECT_EQ(report.result, Result::kWaiting);
  EXPECT_EQ(report.wait.cause, "node_changed");
  EXPECT_EQ(report.wait.why, "node n1 has changed since it was read");
  EXPECT_EQ(report.next, Controller::kSoon);
  EXPECT_THAT(outside.tried, IsEmpty());
  EXPECT_EQ(controller.RunRound(kTestNow + kMinute).result, Result::kQuiet) << "somebody else has cordoned it";
  EXPECT_THAT(outside.marks, ElementsAre("n1 conflict"));
}

TEST(ControllerTest, ANodeThatChangesWhileItIsGivenUpHoldsNobodyElse) {
  FakeOutside outside = ToConsolidate(MakeNode("n1").Unschedulable().Annotation(kConsolidatingAnnotation, "true"));
  outside.Add(BareOnN1());
  Controller controller(outside, OneOfAnOwner());
  outside.on_mark = [&](const std::string& node) { outside.Cordon(node, true); };
  EXPECT_EQ(controller.RunRound(kTestNow).result, Result::kQuiet);
  outside.on_mark = {};
  EXPECT_EQ(controller.RunRound(kTestNow + kMinute).result, Result::kQuiet);
  EXPECT_THAT(outside.marks, ElementsAre("n1 conflict", "n1 uncordoned"));
}

}  // namespace
}  // namespace berth::rebalance
