// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reminder.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::client {
namespace {

using std::chrono::minutes;

TEST(Reminder, SaysWhatRepeatsEverLater) {
  Reminder reminder(minutes(1), minutes(6));
  std::vector<std::pair<int, std::uint64_t>> said;  // minute, count
  for (int minute = 0; minute < 25; ++minute) {
    if (const auto count = reminder.Record(Time(minutes(minute)))) said.emplace_back(minute, *count);
  }
  using ::testing::Pair;
  EXPECT_THAT(said, ::testing::ElementsAre(Pair(0, 1), Pair(1, 2), Pair(3, 4), Pair(7, 8), Pair(13, 14), Pair(19, 20)));
}

TEST(Reminder, StartsOverAfterItsEnd) {
  Reminder reminder(minutes(1), minutes(8));
  EXPECT_FALSE(reminder.End()) << "nothing was said";
  for (int minute = 0; minute < 10; ++minute) reminder.Record(Time(minutes(minute)));
  EXPECT_TRUE(reminder.End());
  EXPECT_FALSE(reminder.End());
  EXPECT_EQ(reminder.Record(Time(minutes(10))), 1U);
  EXPECT_EQ(reminder.Record(Time(minutes(10))), std::nullopt);
  EXPECT_EQ(reminder.Record(Time(minutes(11))), 3U);
}

}  // namespace
}  // namespace berth::client
