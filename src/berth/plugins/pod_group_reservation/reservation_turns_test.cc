// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_reservation/reservation_turns.h"

#include <gtest/gtest.h>

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;
using framework::PodGroupKey;

const PodGroupKey kA{"default", "a", false};
const PodGroupKey kB{"default", "b", false};
const PodGroupKey kC{"default", "c", false};
constexpr auto kAllWait = [](const PodGroupKey&) { return true; };

TEST(ReservationTurns, PriorityComesBeforeAge) {
  ReservationTurns turns;
  turns.Note(kA, 0, Time(10s));
  turns.Note(kB, 0, Time(5s));
  turns.Note(kC, 7, Time(20s));
  EXPECT_TRUE(turns.IsTurnOf(kC, kAllWait));
  EXPECT_FALSE(turns.IsTurnOf(kB, kAllWait));
  turns.GiveUp(kC, Time(20s));
  EXPECT_TRUE(turns.IsTurnOf(kB, kAllWait));
  EXPECT_FALSE(turns.IsTurnOf(kA, kAllWait));
}

TEST(ReservationTurns, WhoWaitsNoMoreMakesWay) {
  ReservationTurns turns;
  turns.Note(kA, 0, Time(1s));
  turns.Note(kB, 0, Time(2s));
  EXPECT_TRUE(turns.IsTurnOf(kB, [](const PodGroupKey& group) { return group != kA; }));
  EXPECT_EQ(turns.size(), 1u);
}

TEST(ReservationTurns, NodesStayWithAGroupWhoseRankChanges) {
  ReservationTurns turns;
  turns.Note(kA, 0, Time(1s));
  turns.NodesOf(kA).insert("n1");
  turns.Note(kB, 0, Time(2s));
  EXPECT_TRUE(turns.IsRoomKeptBeside(kB, kAllWait));
  EXPECT_FALSE(turns.IsRoomKeptBeside(kB, [](const PodGroupKey&) { return false; }));
  EXPECT_FALSE(turns.IsRoomKeptBeside(kA, kAllWait));
  turns.Note(kA, 3, Time(1s));
  EXPECT_EQ(turns.NodesOf(kA), std::set<std::string>{"n1"});
  EXPECT_EQ(turns.size(), 2u);
}

TEST(ReservationTurns, WhoGivesUpIsLeftOutForAWhile) {
  ReservationTurns turns;
  turns.Note(kA, 0, Time(1s));
  turns.Note(kB, 0, Time(2s));
  turns.GiveUp(kA, Time(100s));
  EXPECT_TRUE(turns.HasGivenUp(kA, Time(100s)));
  EXPECT_TRUE(turns.IsTurnOf(kB, kAllWait));
  EXPECT_FALSE(turns.HasGivenUp(kA, Time(100s) + ReservationTurns::kRetryAfter));
  EXPECT_FALSE(turns.HasGivenUp(kC, Time(100s)));
}

}  // namespace
}  // namespace berth::plugins
