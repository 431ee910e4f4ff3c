// SPDX-License-Identifier: Apache-2.0
// The controller between a core that answers as told and an API server that keeps what is written.
#include "berth/provisioning/controller.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "berth/provisioning/provisioning_testing.h"

namespace berth::provisioning {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class ControllerTest : public ::testing::Test, public ControllerOutside {
 protected:
  void Push(scheduler::Input input) override {
    if (auto* asked = std::get_if<scheduler::BookingAsked>(&input)) {
      std::string line = (asked->is_restored ? "restore " : "ask ") + asked->request;
      for (const scheduler::BookingSet& set : asked->sets) {
        line += " " + set.name + "*" + std::to_string(set.count);
        for (const auto& [node, count] : set.nodes) line += " " + node + "=" + std::to_string(count);
      }
      pushed.push_back(line);
      asked_cpu = CpuOf(*asked->sets.at(0).pods.at(0));
    } else if (auto* ended = std::get_if<scheduler::BookingEnded>(&input)) {
      pushed.push_back("end " + ended->request);
    }
  }
  void PatchStatus(const ProvisioningRequest& request, std::string body) override {
    patches.emplace_back(request.Key(), std::move(body));
  }
  void RecordEvent(const ProvisioningRequest& request, bool is_warning, std::string reason, std::string note) override {
    events.push_back((is_warning ? "Warning " : "Normal ") + reason + " " + request.name + ": " + note);
  }

  Controller& Made() {
    if (!controller) controller.emplace(*this, ControllerOptions{.instance = "berth", .namespaces = {}});
    return *controller;
  }
  // A new process.
  void Restart() {
    controller.reset();
    pushed.clear();
    Made().sources().templates["jobs/main"] = MainTemplate();
    for (const auto& [key, request] : stored) Made().SetRequest(request, now);
    Made().Lead(now);
  }
  void Store(const ProvisioningRequest& request) {
    stored[request.Key()] = std::make_shared<const ProvisioningRequest>(request);
    Made().SetRequest(stored[request.Key()], now);
  }
  void Delete(const std::string& key) {
    stored.erase(key);
    Made().RequestGone(key);
  }
  // The API server takes what was sent.
  void Write() {
    for (auto& [key, body] : std::exchange(patches, {})) {
      stored[key] = Patched(*stored[key], body);
      Made().Written(key, stored[key]->uid, std::nullopt, now);
      Made().SetRequest(stored[key], now);
    }
  }
  void Refuse(ErrorCode code) {
    for (auto& [key, body] : std::exchange(patches, {})) Made().Written(key, stored[key]->uid, Error{code, "no"}, now);
  }
  void Answer(const std::string& name, scheduler::BookingState state, std::string why = "",
              std::vector<std::pair<std::string, std::uint64_t>> nodes = {{"a", 2}}) {
    scheduler::BookingReport report{"jobs/" + name, "uid-of-" + name, state, std::move(why), {{"main", 2, 2}}};
    report.sets[0].nodes = std::move(nodes);
    Made().Take(report, now);
  }
  void Pass(Duration time) {
    const Time end = now + time;
    while (const std::optional<Time> wake = Made().NextWake()) {
      if (*wake > end) break;
      now = std::max(now, *wake);
      Made().Tick(now);
      if (*wake >= now && Made().NextWake() == wake) break;
    }
    now = end;
    Made().Tick(now);
  }
  Lines Pushed() { return std::exchange(pushed, {}); }
  Lines Events() { return std::exchange(events, {}); }
  // "Accepted=True Provisioned=True:CapacityIsFound"
  std::string Conditions(const std::string& name) {
    std::string text;
    for (const Condition& each : stored["jobs/" + name]->conditions)
      text += (text.empty() ? "" : " ") + each.type + "=" + each.status + ":" + each.reason;
    return text;
  }
  std::string MessageOf(const std::string& name, std::string_view type) {
    const Condition* const condition = stored["jobs/" + name]->Find(type);
    return condition == nullptr ? "" : condition->message;
  }

  ControllerTest() {
    Made().sources().templates["jobs/main"] = MainTemplate();
    Made().Lead(now);
  }

  using enum scheduler::BookingState;
  static std::int64_t CpuOf(const api::Pod& pod) { return pod.spec.containers.at(0).requests.at(0).second.Value(); }

  Time now{std::chrono::seconds(1'800'000'000)};
  std::optional<Controller> controller;
  Lines pushed;
  std::int64_t asked_cpu = 0;  // of the pods that were asked about last
  Lines events;
  std::vector<std::pair<std::string, std::string>> patches;
  std::map<std::string, RequestPtr> stored;
};

TEST_F(ControllerTest, RoomThatIsFoundIsPromisedForTenMinutes) {
  Store(MakeRequest("r", now));
  EXPECT_EQ(Pushed(), (Lines{"ask jobs/r main*2"}));
  Answer("r", kBooked);
  Write();
  EXPECT_EQ(Conditions("r"), "Accepted=True:Accepted Provisioned=True:CapacityIsFound");
  EXPECT_EQ(MessageOf("r", kProvisioned), "Capacity is found in the cluster");
  EXPECT_EQ(PlacesOf(stored["jobs/r"]->details, 1), (Places{{{"a", 2}}}));
  Pass(9min + 59s);
  EXPECT_EQ(patches.size(), 0U);
  Pass(1s);
  EXPECT_EQ(Pushed(), Lines{}) << "the room is kept until the end of the promise is written";
  Write();
  EXPECT_EQ(
      Conditions("r"),
      "Accepted=True:Accepted Provisioned=True:CapacityIsFound BookingExpired=True:CapacityReservationTimeExpired");
  EXPECT_EQ(Pushed(), (Lines{"end jobs/r"}));
  Pass(1h);
  EXPECT_EQ(Pushed(), Lines{});
}

TEST_F(ControllerTest, RoomThatIsNotFoundIsLookedForAgainAfterLongerWaits) {
  Store(MakeRequest("r", now));
  std::vector<Duration> waits;
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(Pushed(), (Lines{"ask jobs/r main*2"}));
    Answer("r", kRefused, "pod set main: 1 of 2 pods have room; 0/3 nodes are available: 3 Insufficient cpu.");
    Write();
    const Time before = now;
    while (pushed.empty() && now - before < 5min) Pass(1s);
    waits.push_back(now - before);
  }
  EXPECT_EQ(waits, (std::vector<Duration>{5s, 10s, 20s, 40s, 60s, 60s}));
  EXPECT_EQ(Conditions("r"), "Accepted=True:Accepted Provisioned=False:CapacityIsNotFound");
  EXPECT_EQ(
      MessageOf("r", kProvisioned),
      "Capacity is not found, berth will try to find it later: pod set main: 1 of 2 pods have room; 0/3 nodes are "
      "available: 3 Insufficient cpu.");
  EXPECT_EQ(stored["jobs/r"]->resource_version, "2") << "the same answer is written once";
  Answer("r", kBooked);
  Write();
  EXPECT_EQ(Conditions("r"), "Accepted=True:Accepted Provisioned=True:CapacityIsFound");
}

TEST_F(ControllerTest, NoRetryFailsAtOnce) {
  ProvisioningRequest request = MakeRequest("r", now);
  request.parameters["noRetry"] = "true";
  Store(request);
  Answer("r", kRefused, "no room");
  Write();
  EXPECT_EQ(Conditions("r"), "Accepted=True:Accepted Failed=True:CapacityIsNotFound");
  EXPECT_EQ(MessageOf("r", kFailed), "Capacity is not found: no room");
  Pushed();
  Pass(1h);
  EXPECT_EQ(Pushed(), Lines{});
}

TEST_F(ControllerTest, ARequestThatFindsNoRoomForAWeekFails) {
  Store(MakeRequest("r", now - 7 * 24h - 1s));
  EXPECT_EQ(Pushed(), Lines{});
  Write();
  EXPECT_EQ(Conditions("r"), "Accepted=True:Accepted Failed=True:Expired");
}

TEST_F(ControllerTest, TemplatesMayComeALittleLater) {
  Made().sources().templates.clear();
  Store(MakeRequest("r", now));
  Store(MakeRequest("s", now));
  Pass(20s);
  EXPECT_EQ(Pushed(), Lines{});
  EXPECT_EQ(patches.size(), 0U);
  Made().sources().templates["jobs/main"] = MainTemplate();
  Pass(5s);
  EXPECT_EQ(Pushed(), (Lines{"ask jobs/r main*2", "ask jobs/s main*2"}));
  Answer("r", kRefused, "no");
  Made().sources().templates.clear();
  Write();
  Pass(10s);
  Write();
  EXPECT_EQ(Conditions("r"),
            "Accepted=True:Accepted Provisioned=False:CapacityIsNotFound Failed=True:FailedToCreatePods");
  EXPECT_EQ(MessageOf("r", kFailed), "PodTemplate \"main\" not found in namespace jobs");
}

// What was promised stays, until a new process makes the pods again.
TEST_F(ControllerTest, ATemplateThatChangesCountsForTheNextQuestion) {
  Store(MakeRequest("promised", now));
  Answer("promised", kBooked);
  Write();
  Store(MakeRequest("waits", now));
  Answer("waits", kRefused, "no");
  Write();
  EXPECT_EQ(asked_cpu, 1);
  Pushed();
  const auto changed =
      MakeTemplate(R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2"}}}]})");
  Made().sources().templates["jobs/main"] = changed;
  Pass(5s);
  EXPECT_EQ(Pushed(), (Lines{"ask jobs/waits main*2"}));
  EXPECT_EQ(asked_cpu, 2);
  Delete("jobs/waits");
  controller.reset();
  Made().sources().templates["jobs/main"] = changed;
  Made().SetRequest(stored["jobs/promised"], now);
  Made().Lead(now);
  EXPECT_EQ(Pushed(), (Lines{"end jobs/waits", "restore jobs/promised main*2 a=2"}));
  EXPECT_EQ(asked_cpu, 2);
}

TEST_F(ControllerTest, OthersRequestsAreLeftAlone) {
  ProvisioningRequest other = MakeRequest("other", now);
  other.parameters["processorInstance"] = "cluster-autoscaler";
  Store(other);
  ProvisioningRequest atomic = MakeRequest("atomic", now);
  atomic.class_name = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
  Store(atomic);
  Pass(1h);
  EXPECT_EQ(Pushed(), Lines{});
  EXPECT_EQ(patches.size(), 0U);
}

TEST_F(ControllerTest, ARequestThatIsDeletedOrReplacedGivesItsRoomBack) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  Write();
  Delete("jobs/r");
  EXPECT_EQ(Pushed(), (Lines{"ask jobs/r main*2", "end jobs/r"}));
  Store(MakeRequest("r", now));
  ProvisioningRequest second = MakeRequest("r", now);
  second.uid = "another";
  Store(second);
  EXPECT_EQ(Pushed(), (Lines{"ask jobs/r main*2", "end jobs/r", "ask jobs/r main*2"}));
  Answer("r", kBooked);  // of the first one, late
  EXPECT_EQ(patches.size(), 0U);
}

TEST_F(ControllerTest, LostRoomIsSaidAtOnce) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  Write();
  Events();
  Answer("r", kMoved, "node \"a\" is gone", {{"b", 2}});
  EXPECT_EQ(Events(), (Lines{"Normal CapacityIsMoved r: The room is kept on other nodes: node \"a\" is gone"}));
  Pass(1s);
  Write();
  EXPECT_EQ(PlacesOf(stored["jobs/r"]->details, 1), (Places{{{"b", 2}}}));
  Answer("r", kLost, "node \"b\" is gone; elsewhere there is no room: x");
  EXPECT_EQ(Events(), (Lines{"Warning CapacityRevoked r: The room is not kept any more: node \"b\" is gone; elsewhere "
                             "there is no room: x"}));
  Pass(1s);
  Write();
  EXPECT_EQ(Conditions("r"),
            "Accepted=True:Accepted Provisioned=True:CapacityIsFound CapacityRevoked=True:CapacityIsRevoked");
  Pushed();
  Pass(1h);
  EXPECT_EQ(Pushed(), Lines{}) << "it does not expire as well";
  EXPECT_EQ(patches.size(), 0U);
}

TEST_F(ControllerTest, APromiseThatNobodyReadIsLookedForAnew) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  Refuse(ErrorCode::kUnavailable);
  Answer("r", kLost, "node gone");
  EXPECT_EQ(Events(), Lines{});
  Pushed();
  Pass(5s);
  EXPECT_EQ(Pushed(), (Lines{"ask jobs/r main*2"}));
}

TEST_F(ControllerTest, AClockThatIsSetHoldsNothingUp) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  Write();
  Made().SetWallAhead(-2h);
  Answer("r", kLost, "node gone");
  Pass(1s);
  Write();
  EXPECT_TRUE(stored["jobs/r"]->Is(kCapacityRevoked));
  Store(MakeRequest("s", now));
  Answer("s", kBooked);
  Write();
  EXPECT_EQ(stored["jobs/s"]->Find(kProvisioned)->transition_time, now - 2h);
  Made().SetWallAhead(2h);
  Pass(1s);
  Write();
  EXPECT_TRUE(stored["jobs/s"]->Is(kBookingExpired)) << "ten minutes of the time of day";
}

TEST_F(ControllerTest, WritesAreRepeatedUntilTheyAreTaken) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  const Time promised_at = now;
  Refuse(ErrorCode::kConflict);
  ProvisioningRequest changed = *stored["jobs/r"];
  changed.resource_version = "5";
  Store(changed);
  EXPECT_EQ(patches.size(), 0U);
  Pass(1s);
  ASSERT_EQ(patches.size(), 1U);
  EXPECT_NE(patches[0].second.find(R"("resourceVersion":"5")"), std::string::npos);
  Write();
  EXPECT_EQ(Conditions("r"), "Accepted=True:Accepted Provisioned=True:CapacityIsFound");
  EXPECT_EQ(stored["jobs/r"]->Find(kProvisioned)->transition_time, promised_at);
}

TEST_F(ControllerTest, ARestartHoldsTheRoomAgainWhereItWas) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  Write();
  now += 1min;
  Store(MakeRequest("a", now));
  Answer("a", kBooked, "", {{"b", 1}, {"c", 1}});
  Write();
  Store(MakeRequest("waits", now));
  now += 1min;
  Restart();
  EXPECT_EQ(Pushed(), (Lines{"restore jobs/r main*2 a=2", "restore jobs/a main*2 b=1 c=1", "ask jobs/waits main*2"}))
      << "the oldest promise first";
  Answer("r", kBooked);
  EXPECT_EQ(patches.size(), 0U) << "there is nothing new to say";
  Answer("a", kRefused, "node b is gone");
  Write();
  EXPECT_EQ(Conditions("a"),
            "Accepted=True:Accepted Provisioned=True:CapacityIsFound CapacityRevoked=True:CapacityIsRevoked");
  Pass(8min);
  Write();
  EXPECT_EQ(
      Conditions("r"),
      "Accepted=True:Accepted Provisioned=True:CapacityIsFound BookingExpired=True:CapacityReservationTimeExpired")
      << "ten minutes from the promise, not from the restart";
}

TEST_F(ControllerTest, WhatRanOutMeanwhileIsSaidAfterARestart) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  Write();
  now += 1h;
  Restart();
  EXPECT_EQ(Pushed(), Lines{});
  Write();
  EXPECT_EQ(
      Conditions("r"),
      "Accepted=True:Accepted Provisioned=True:CapacityIsFound BookingExpired=True:CapacityReservationTimeExpired");
}

TEST_F(ControllerTest, ARestartWithoutTheTemplatesEndsThePromise) {
  Store(MakeRequest("r", now));
  Answer("r", kBooked);
  Write();
  controller.reset();
  for (const auto& [key, request] : stored) Made().SetRequest(request, now);
  Made().Lead(now);
  Write();
  EXPECT_EQ(MessageOf("r", kCapacityRevoked),
            "The room is not kept any more: the pods cannot be made after a restart: PodTemplate \"main\" not found in "
            "namespace jobs");
}

// The other one's promise is in the request: room is held for it as well.
TEST_F(ControllerTest, TwoOfTheSameNameAgreeByTheVersionOfTheRequest) {
  Store(MakeRequest("r", now));
  ProvisioningRequest by_other = *stored["jobs/r"];
  by_other.resource_version = "2";
  by_other.conditions = {{"Accepted", "True", "Accepted", "m", 1, now},
                         {"Provisioned", "True", "CapacityIsFound", "m", 1, now}};
  Answer("r", kBooked);
  Refuse(ErrorCode::kConflict);
  Store(by_other);
  Pass(2s);
  Write();
  EXPECT_EQ(Conditions("r"), "Accepted=True:Accepted Provisioned=True:CapacityIsFound");
  EXPECT_EQ(Pushed(), (Lines{"ask jobs/r main*2"})) << "the room stays";
}

TEST_F(ControllerTest, TheCoreHasABoundedNumberOfQuestions) {
  for (int i = 0; i < 100; ++i) Store(MakeRequest("r" + std::to_string(i), now + Duration(100 - i)));
  EXPECT_EQ(Pushed().size(), Controller::kAskedMax);
  for (int i = 0; i < 32; ++i) Answer("r" + std::to_string(i), kRefused, "no");
  EXPECT_EQ(Pushed().size(), Controller::kAskedMax);
}

TEST_F(ControllerTest, NothingIsAskedBeforeThisProcessLeads) {
  controller.reset();
  Store(MakeRequest("r", now));
  EXPECT_EQ(Pushed(), Lines{});
  EXPECT_EQ(Made().NextWake(), std::nullopt);
}

}  // namespace
}  // namespace berth::provisioning
