// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/server_pace.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ServerPaceTest : public ::testing::Test {
 protected:
  // Answers now `count` writes that were sent `took` ago.
  void Answer(std::uint64_t cause, Duration took, int count = 1) {
    std::vector<std::uint64_t> numbers;
    const Time now = loop.Now();
    loop.SetNow(now - took);
    for (int i = 0; i < count; ++i) numbers.push_back(pace->Sent(cause));
    loop.SetNow(now);
    for (const std::uint64_t number : numbers) pace->Ended(number, true);
  }

  FakeLoop loop;
  std::vector<Duration> reports;
  std::shared_ptr<ServerPace> pace =
      std::make_shared<ServerPace>(loop, [this](Duration p99) { reports.push_back(p99); });
};

TEST_F(ServerPaceTest, FarSoonerAreMostOthersOfTheSameTime) {
  loop.Advance(seconds(10));
  const Time since = loop.Now() - milliseconds(1200);
  Answer(2, milliseconds(1300), 100);
  EXPECT_FALSE(pace->FarSoonerSince(1, since)) << "they were sent before";
  Answer(2, milliseconds(5), 7);
  EXPECT_FALSE(pace->FarSoonerSince(1, since)) << "seven say little";
  Answer(3, milliseconds(20));
  EXPECT_EQ(pace->FarSoonerSince(1, since), milliseconds(20));
  Answer(2, milliseconds(400), 2);
  EXPECT_EQ(pace->FarSoonerSince(1, since), milliseconds(20));
  Answer(1, milliseconds(900));
  EXPECT_FALSE(pace->FarSoonerSince(1, since)) << "fewer than three fourths: its own that were answered count";
}

// A slow server has so far answered only its quickest requests.
TEST_F(ServerPaceTest, WhatIsStillUnderWayCounts) {
  loop.Advance(seconds(10));
  const Time since = loop.Now();
  for (int i = 0; i < 4; ++i) (void)pace->Sent(1);
  for (int i = 0; i < 4; ++i) (void)pace->Sent(2);
  loop.Advance(seconds(2));
  Answer(2, milliseconds(300), 8);
  EXPECT_FALSE(pace->FarSoonerSince(1, since));
  Answer(2, milliseconds(300), 4);
  EXPECT_EQ(pace->FarSoonerSince(1, since), milliseconds(300));
}

TEST_F(ServerPaceTest, RemembersTheLatestOnly) {
  loop.Advance(seconds(10));
  Answer(2, milliseconds(1), 1000);
  Answer(2, milliseconds(900), ServerPace::kLatestMax);
  EXPECT_FALSE(pace->FarSoonerSince(1, loop.Now() - seconds(1)));
}

TEST_F(ServerPaceTest, ReportsTheLastMinutesPercentile) {
  Answer(1, milliseconds(10), 990);
  Answer(1, seconds(3), 9);
  loop.Advance(seconds(10));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_GE(reports.back(), milliseconds(10));
  EXPECT_LE(reports.back(), milliseconds(13)) << "fewer than a hundredth were slower";
  Answer(1, seconds(3), 20);
  loop.Advance(seconds(10));
  EXPECT_GE(reports.back(), seconds(3));
  EXPECT_LE(reports.back(), milliseconds(3750));
  loop.Advance(seconds(40));
  EXPECT_GE(reports.back(), seconds(3));
  loop.Advance(seconds(20));
  EXPECT_EQ(reports.back(), Duration{0}) << "a minute has passed";
  const std::size_t count = reports.size();
  loop.Advance(seconds(600));
  EXPECT_EQ(reports.size(), count) << "with nothing to tell nobody wakes up";
}

TEST_F(ServerPaceTest, AbsurdTimesDoNoHarm) {
  Answer(1, -seconds(5));
  Answer(1, std::chrono::hours(1000));
  pace->Ended(12345, true);
  loop.Advance(seconds(10));
  EXPECT_GT(reports.back(), seconds(60));
}

}  // namespace
}  // namespace berth::client
