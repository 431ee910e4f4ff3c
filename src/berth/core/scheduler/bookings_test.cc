// SPDX-License-Identifier: Apache-2.0
// Room that is promised is there when its pods come, through the whole core.
#include "berth/core/scheduler/bookings.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/runtime/runtime_testing.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/framework/object_kinds.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;

PodBuilder Template(const std::string& set = "main", const std::string& request = "r") {
  return MakePod(request + ":" + set).Uid(request + ":" + set).Request("cpu", "1");
}

BookingSet SetOf(const PodBuilder& pod, std::uint64_t count, std::string name = "main") {
  return {std::move(name), count, {std::make_shared<const api::Pod>(pod.Build())}};
}

PodBuilder Consumer(const std::string& name, const std::string& request = "r") {
  return MakePod(name).Request("cpu", "1").Annotation(kConsumeAnnotation, request);
}

class BookingsTest : public ::testing::Test {
 protected:
  BookingsTest() { h.core.Handle(BookingsKept{1000}, h.now); }

  void Ask(std::vector<BookingSet> sets, bool is_restored = false, const std::string& request = "default/r") {
    h.core.Handle(BookingAsked{request, "uid-of-" + request, std::move(sets), {}, is_restored}, h.now);
  }
  void End(const std::string& request = "default/r") {
    h.core.Handle(BookingEnded{request, "uid-of-" + request}, h.now);
  }
  // The lines that begin with one of these.
  Lines Said(const std::vector<std::string>& prefixes) {
    Lines lines;
    for (const std::string& line : h.Take()) {
      for (const std::string& prefix : prefixes)
        if (line.starts_with(prefix)) lines.push_back(line);
    }
    return lines;
  }
  Lines Reports() { return Said({"booked", "refused", "moved", "lost"}); }
  Lines Binds() { return Said({"bind"}); }

  Harness h;
};

TEST_F(BookingsTest, RoomIsKeptFromOthersAndGivenToItsPods) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 2)});
  EXPECT_EQ(Reports(), (Lines{"booked default/r: main a=2"}));
  h.Set(MakePod("other").Request("cpu", "1"));
  h.Run();
  EXPECT_EQ(Binds(), Lines{});
  h.Set(Consumer("p"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind p to a"}));
  h.Set(MakePod("q").Request("cpu", "1").Annotation(kConsumeAnnotationOld, "r"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind q to a"}));
  h.Set(Consumer("late"));
  h.Run();
  EXPECT_EQ(Binds(), Lines{}) << "the promise was for two";
}

TEST_F(BookingsTest, RoomOfOneRequestIsNotForAnother) {
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  Ask({SetOf(Template(), 1)});
  Reports();
  h.Set(Consumer("p", "another"));
  h.Set(Consumer("q").Namespace("elsewhere"));
  h.Run();
  EXPECT_EQ(Binds(), Lines{});
}

TEST_F(BookingsTest, AllPodsGetRoomOrNone) {
  h.Set(MakeNode("a").Allocatable("cpu", "3"));
  Ask({SetOf(Template("x"), 2, "x"), SetOf(Template("y"), 2, "y")});
  EXPECT_EQ(Reports(), (Lines{"refused default/r: pod set y: 1 of 2 pods have room; 0/1 nodes are available: 1 "
                              "Insufficient cpu."}))
      << "the message is the scheduler's";
  EXPECT_EQ(h.core.cache().pod_count(), 0U);
  h.Set(MakePod("other").Request("cpu", "3"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind other to a"}));
}

TEST_F(BookingsTest, WhatIsPromisedCountsAsTakenForTheNextRequest) {
  h.Set(MakeNode("a").Allocatable("cpu", "3"));
  Ask({SetOf(Template(), 2)});
  Ask({SetOf(Template("main", "s"), 2)}, false, "default/s");
  const Lines reports = Reports();
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0], "booked default/r: main a=2");
  EXPECT_TRUE(reports[1].starts_with("refused default/s: pod set main: 1 of 2 pods have room; ")) << reports[1];
}

TEST_F(BookingsTest, TheEndOfAPromiseFreesTheRoomAndWakesWhoWaits) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 2)});
  h.Set(MakePod("other").Request("cpu", "1"));
  h.Run();
  h.Take();
  h.core.Handle(BookingEnded{"default/r", "another uid"}, h.now);
  h.Run(20s);
  EXPECT_EQ(Binds(), Lines{}) << "a request of the same name that came later is not meant";
  End();
  h.Run(20s);
  EXPECT_EQ(Binds(), (Lines{"bind other to a"}));
  EXPECT_EQ(h.core.cache().pod_count(), 1U);
}

TEST_F(BookingsTest, APodThatIsNotBoundGivesTheRoomBack) {
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  Ask({SetOf(Template(), 1)});
  Reports();
  // It asks for more than was promised.
  h.Set(Consumer("big").Request("cpu", "2"));
  h.Run();
  h.Set(MakePod("other").Request("cpu", "1"));
  h.Run();
  EXPECT_EQ(Binds(), Lines{});
  // The binding fails.
  h.Set(Consumer("p"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind p to a"}));
  h.Answer(Error{ErrorCode::kInvalid, "no"});
  h.Set(MakePod("another").Request("cpu", "1"));
  h.Run();
  EXPECT_EQ(Binds(), Lines{}) << "the room waits for p";
  h.Run(30s);
  EXPECT_EQ(Binds(), (Lines{"bind p to a"}));
  // It is deleted before it is bound.
  h.Answer(Error{ErrorCode::kInvalid, "no"});
  h.Remove(Consumer("p"));
  h.Run(30s);
  EXPECT_EQ(Binds(), Lines{});
  h.Set(Consumer("p2"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind p2 to a"}));
}

TEST_F(BookingsTest, ABoundPodUsesItsPartUp) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 1)});
  Reports();
  h.Set(Consumer("p"));
  h.Run();
  h.Take();
  h.Answer();
  h.Set(Consumer("p").Node("a"));
  h.Remove(Consumer("p"));
  h.Set(MakePod("other").Request("cpu", "2"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind other to a"})) << "its room is free once it has ended";
}

TEST_F(BookingsTest, PodsTakeThePartsOfTheirOwnSet) {
  h.Set(MakeNode("a").Allocatable("cpu", "1").Label("zone", "a"));
  h.Set(MakeNode("b").Allocatable("cpu", "1").Label("zone", "b"));
  Ask({SetOf(Template("x").NodeSelector("zone", "a"), 1, "x"), SetOf(Template("y").NodeSelector("zone", "b"), 1, "y")});
  EXPECT_EQ(Reports(), (Lines{"booked default/r: x a=1 y b=1"}));
  // Admission adds tolerations, which the template lacks.
  h.Set(Consumer("y").NodeSelector("zone", "b").Toleration("node.kubernetes.io/not-ready", "Exists"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind y to b"}));
  h.Set(Consumer("x").NodeSelector("zone", "a"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind x to a"}));
}

TEST_F(BookingsTest, ANodeThatGoesMovesTheRoomOrEndsThePromise) {
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  h.Set(MakeNode("b").Allocatable("cpu", "1"));
  Ask({SetOf(Template(), 1)});
  const Lines booked = Reports();
  ASSERT_EQ(booked.size(), 1U);
  const std::string first = booked[0].ends_with("a=1") ? "a" : "b";
  const std::string second = first == "a" ? "b" : "a";
  h.RemoveNode(first);
  EXPECT_EQ(Reports(), (Lines{"moved default/r: main " + second + "=1: node \"" + first + "\" is gone"}));
  h.RemoveNode(second);
  const Lines lost = Reports();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_TRUE(lost[0].starts_with("lost default/r: node \"" + second + "\" is gone; elsewhere there is no room: "))
      << lost[0];
  EXPECT_EQ(h.core.cache().pod_count(), 0U);
}

TEST_F(BookingsTest, RoomThatIsTakenFromOutsideIsLost) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 2)});
  Reports();
  h.Set(MakePod("static").Request("cpu", "1").Node("a"));
  Lines lost = Reports();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_TRUE(lost[0].starts_with("lost default/r: node \"a\" has changed; elsewhere there is no room: ")) << lost[0];
  // All of it is free again.
  h.Set(MakePod("other").Request("cpu", "1"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind other to a"}));
}

TEST_F(BookingsTest, WhoWaitsHearsOfTheRoomOfALostPromise) {
  h.Set(MakeNode("a").Allocatable("cpu", "2").Label("n", "a"));
  Ask({SetOf(Template().NodeSelector("n", "a"), 2)});
  h.Set(MakePod("waits").Request("cpu", "1"));
  h.Run();
  h.Take();
  // The stand-ins may not be here any more, but others may.
  h.Set(MakeNode("a").Allocatable("cpu", "2").Label("n", "b"));
  EXPECT_EQ(Reports().size(), 1U);
  h.Run(20s);
  EXPECT_EQ(Binds(), (Lines{"bind waits to a"}));
}

TEST_F(BookingsTest, APodMayNameAnotherRequestOrNone) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 1)});
  Ask({SetOf(Template("main", "s"), 1)}, false, "default/s");
  h.Take();
  h.Set(Consumer("p").Gate("later"));
  h.Set(MakePod("p").Request("cpu", "1"));
  h.Set(Consumer("q").Gate("later"));
  h.Set(Consumer("q", "s"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind q to a"}));
  h.Set(Consumer("r"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind r to a"})) << "neither of them has its room";
}

TEST_F(BookingsTest, RequestsThatAreAskedAgainAndAgainLeaveNothingBehind) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  for (int minute = 0; minute < 60; ++minute) {
    const std::string request = "r" + std::to_string(minute);
    Ask({SetOf(Template("main", request).Request("cpu", std::to_string(minute + 3)), 1)}, false, "default/" + request);
    h.Run(1min);
  }
  EXPECT_EQ(Reports().size(), 60U);
  EXPECT_LE(h.core.pod_classes().size(), 12U) << "those of two periods of the sweep, and one";
  h.Run(11min);
  EXPECT_EQ(h.core.pod_classes().size(), 0U);
}

TEST_F(BookingsTest, ANodeThatIsCordonedOrShrinksLosesTheRoom) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 2)});
  Reports();
  h.Set(MakeNode("a").Allocatable("cpu", "2").Label("x", "y"));
  EXPECT_EQ(Reports(), Lines{});
  h.Set(MakeNode("a").Allocatable("cpu", "2").Unschedulable());
  EXPECT_EQ(Reports().size(), 1U);
}

TEST_F(BookingsTest, AHigherPriorityTakesTheRoomOnlyIfItNeedsIt) {
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  h.Set(MakeNode("b").Allocatable("cpu", "1"));
  Ask({SetOf(Template().Priority(10), 1)});
  Reports();
  h.Set(MakePod("high").Request("cpu", "1").Priority(100));
  h.Run();
  EXPECT_EQ(Binds().size(), 1U);
  h.Answer();
  h.Set(MakePod("equal").Request("cpu", "1").Priority(10));
  h.Run();
  EXPECT_EQ(Said({"bind", "lost", "delete", "patch"}), Lines{});
  h.Set(MakePod("higher").Request("cpu", "1").Priority(100));
  Lines said;
  for (int i = 0; i < 5; ++i) {
    h.Run(1s);
    for (std::string& line : Said({"bind", "lost", "delete", "patch", "Normal Preempted"}))
      said.push_back(std::move(line));
  }
  ASSERT_EQ(said.size(), 2U) << ::testing::PrintToString(said);
  EXPECT_TRUE(said[0].starts_with("lost default/r: a pod of higher priority has taken the room; elsewhere "))
      << said[0];
  EXPECT_TRUE(said[1].starts_with("bind higher to ")) << said[1];
}

TEST_F(BookingsTest, PreemptedRoomIsLookedForElsewhereEachTime) {
  h.Set(MakeNode("a").Allocatable("cpu", "2").Label("n", "a"));
  Ask({SetOf(Template().Priority(10), 1)});
  Reports();
  h.Set(MakeNode("b").Allocatable("cpu", "1").Label("n", "b"));
  const auto preempt = [&](const std::string& name, const std::string& cpu, const std::string& node) {
    h.Set(MakePod(name).Request("cpu", cpu).NodeSelector("n", node).Priority(100));
    Lines lines;
    for (int i = 0; i < 5; ++i) {
      h.Run(1s);
      for (std::string& line : Said({"bind", "moved", "lost", "delete", "patch"})) lines.push_back(std::move(line));
    }
    h.Answer();
    return lines;
  };
  EXPECT_EQ(preempt("first", "2", "a"),
            (Lines{"moved default/r: main b=1: a pod of higher priority has taken the room", "bind first to a"}));
  h.Set(MakeNode("a").Allocatable("cpu", "3").Label("n", "a"));
  EXPECT_EQ(preempt("second", "1", "b"),
            (Lines{"moved default/r: main a=1: a pod of higher priority has taken the room", "bind second to b"}));
}

TEST_F(BookingsTest, ARestartFindsTheRoomWhereItWas) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  h.Set(MakeNode("b").Allocatable("cpu", "2"));
  h.Set(Consumer("came").Node("b"));
  h.Set(Consumer("nominated").Nominated("a"));
  BookingSet set = SetOf(Template(), 4);
  set.nodes = {{"a", 2}, {"b", 2}};
  Ask({set}, true);
  EXPECT_EQ(Reports(), (Lines{"booked default/r: main a=2 b=1"}));
  h.Set(MakePod("other").Request("cpu", "1"));
  h.Run();
  EXPECT_EQ(Binds(), (Lines{"bind nominated to a"}));
}

TEST_F(BookingsTest, ARestartLooksElsewhereForRoomThatIsGone) {
  h.Set(MakeNode("b").Allocatable("cpu", "2"));
  BookingSet set = SetOf(Template(), 2);
  set.nodes = {{"gone", 2}};
  Ask({set}, true);
  EXPECT_EQ(Reports(), (Lines{"booked default/r: main b=2"}));
}

TEST_F(BookingsTest, BoundsAndForeignSchedulersAreSaid) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 1'000'000)});
  EXPECT_EQ(Reports(),
            (Lines{"refused default/r: room for 1000000 pods is asked for; room is kept for at most 1000 pods "
                   "at once, and for 0 it is kept already"}));
  Ask({SetOf(Template().SchedulerName("another"), 1)});
  EXPECT_EQ(Reports(), (Lines{"refused default/r: pod set main: 0 of 1 pods have room; its pods are for the scheduler "
                              "\"another\", and this one is \"default-scheduler\""}));
}

TEST_F(BookingsTest, AskingAgainReplacesThePromise) {
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  Ask({SetOf(Template(), 2)});
  Ask({SetOf(Template(), 1)});
  EXPECT_EQ(Reports(), (Lines{"booked default/r: main a=2", "booked default/r: main a=1"}));
  EXPECT_EQ(h.core.cache().pod_count(), 1U);
}

// Pods that ask, come, go and are bound, requests and nodes that come and go: the room of a promise that was not said
// to be lost is there when its pod comes, no node is overcommitted, and in the end nothing is left.
TEST(BookingsPropertyTest, PromisesHold) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    runtime::Dice dice(seed);
    Harness h;
    h.core.Handle(BookingsKept{1000}, h.now);
    std::map<std::string, int> open;             // parts that nobody came for, by request
    std::map<std::string, std::string> waiting;  // pods that came for one, and their request
    std::set<std::string> bound;
    std::string history;
    const int nodes = dice.Below(4) + 1;
    for (int i = 0; i < nodes; ++i) h.Set(MakeNode("n" + std::to_string(i)).Allocatable("cpu", "4"));
    const auto take = [&] {
      std::vector<Output> outputs;
      for (int round = 0; round < 20; ++round) {
        h.Run();
        h.core.TakeOutputs(outputs);
        if (outputs.empty()) break;
        for (Output& output : outputs) {
          history += LineOf(output) + "\n";
          if (const auto* report = std::get_if<BookingReport>(&output)) {
            if (report->state == BookingState::kBooked) open[report->request] = static_cast<int>(report->sets[0].count);
            if (report->state != BookingState::kLost) continue;
            open.erase(report->request);
            std::erase_if(waiting, [&](const auto& each) { return each.second == report->request; });
          }
          auto* write = std::get_if<Write>(&output);
          if (write == nullptr) continue;
          const auto* bind = std::get_if<framework::BindWrite>(&write->write);
          const auto* removal = std::get_if<framework::ObjectDelete>(&write->write);
          if (removal != nullptr) {
            ASSERT_EQ(removal->object.name.find(kStandInMark), std::string::npos);
          }
          if (bind == nullptr || dice.Below(4) == 0) {
            std::optional<Error> error;
            if (bind != nullptr) error = Error{ErrorCode::kInvalid, "no"};
            h.core.Handle(WriteDone{write->operation, error}, h.now);
            continue;
          }
          bound.insert(bind->pod.name);
          waiting.erase(bind->pod.name);
          h.core.Handle(WriteDone{write->operation, std::nullopt}, h.now);
          PodBuilder pod = MakePod(bind->pod.name).Request("cpu", "1").Node(bind->node_name);
          if (bind->pod.name.starts_with("c"))
            pod.Annotation(kConsumeAnnotation, "r" + bind->pod.name.substr(1, bind->pod.name.find('-') - 1));
          h.Set(pod);
        }
      }
    };
    int asked[3] = {};  // a name is not used again: pods that wait for a lost promise still have it
    for (int step = 0; step < 60; ++step) {
      const int which = dice.Below(3);
      const auto name_of = [&] { return "r" + std::to_string(which + 3 * asked[which]); };
      if (!open.contains("default/" + name_of())) ++asked[which];
      const std::string request = name_of();
      switch (dice.Below(7)) {
        case 0:
        case 1:
          if (open.contains("default/" + request)) break;
          h.core.Handle(BookingAsked{"default/" + request,
                                     request,
                                     {SetOf(MakePod(request + ":m").Uid(request + ":m").Request("cpu", "1"),
                                            static_cast<std::uint64_t>(dice.Below(5) + 1))}},
                        h.now);
          break;
        case 2:
          if (!open.contains("default/" + request)) break;
          open.erase("default/" + request);
          std::erase_if(waiting, [&](const auto& each) { return each.second == "default/" + request; });
          h.core.Handle(BookingEnded{"default/" + request, request}, h.now);
          break;
        case 3:
        case 4: {
          auto at = open.find("default/" + request);
          if (at == open.end() || at->second == 0) break;
          --at->second;
          const std::string name = "c" + request.substr(1) + "-" + std::to_string(step);
          waiting[name] = at->first;
          h.Set(MakePod(name).Request("cpu", "1").Annotation(kConsumeAnnotation, request));
          break;
        }
        case 5: h.Set(MakePod("o" + std::to_string(step)).Request("cpu", "1")); break;
        default: {
          const std::string node = "n" + std::to_string(dice.Below(nodes));
          if (dice.Below(3) != 0) break;
          if (dice.Below(2) == 0) {
            h.RemoveNode(node);
          } else {
            h.Set(MakeNode(node).Allocatable("cpu", "4"));
          }
        }
      }
      take();
    }
    // What waits for a promise that holds is bound, however often the API server refused.
    for (int i = 0; i < 60 && !waiting.empty(); ++i) {
      h.now += 20s;
      take();
    }
    EXPECT_TRUE(waiting.empty()) << waiting.begin()->first << "\n" << history;
    for (const auto& [key, count] : open) h.core.Handle(BookingEnded{key, key.substr(key.find('/') + 1)}, h.now);
    EXPECT_EQ(h.core.cache().assumed_count(), 0U);
  }
}

}  // namespace
}  // namespace berth::scheduler
