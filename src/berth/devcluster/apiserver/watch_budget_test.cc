// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/watch_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr Time kStart{std::chrono::seconds(1000)};

class WatchBudgetTest : public ::testing::Test {
 protected:
  // All accounts, noted as they are, at this time.
  std::vector<std::size_t> Overdrawn(Duration after_start) {
    std::vector<const WatchBudget::Account*> all;
    for (auto& account : accounts_) {
      budget_.Note(account, account.bytes, kStart + after_start);
      all.push_back(&account);
    }
    return budget_.Overdrawn(all, kStart + after_start);
  }
  void Note(std::size_t index, std::size_t mebibytes, Duration after_start) {
    budget_.Note(accounts_[index], mebibytes * kMebibyte, kStart + after_start);
  }

  WatchBudget budget_;
  std::vector<WatchBudget::Account> accounts_{4};
};

TEST_F(WatchBudgetTest, NobodyEndsWhileThereIsRoom) {
  Note(0, 60, Duration(0));
  EXPECT_FALSE(budget_.IsFull());
  EXPECT_THAT(Overdrawn(std::chrono::hours(1)), IsEmpty());
  EXPECT_EQ(budget_.total(), 60 * kMebibyte);
  budget_.Close(accounts_[0]);
  EXPECT_EQ(budget_.total(), 0u);
}

TEST_F(WatchBudgetTest, WhoeverTakesNothingEndsFirst) {
  Note(0, 40, Duration(0));
  Note(1, 40, Duration(0));
  EXPECT_TRUE(budget_.IsFull());
  EXPECT_THAT(Overdrawn(Duration(0)), IsEmpty());
  Note(1, 39, std::chrono::milliseconds(400));
  EXPECT_THAT(Overdrawn(std::chrono::milliseconds(499)), IsEmpty());
  EXPECT_THAT(Overdrawn(std::chrono::milliseconds(500)), ElementsAre(0));
}

TEST_F(WatchBudgetTest, ThenThoseThatHoldMost) {
  // All of them read, very slowly.
  for (int tenth = 0; tenth < 20; ++tenth) {
    const Duration at = std::chrono::milliseconds(100) * tenth;
    Note(0, static_cast<std::size_t>(30 - tenth % 2), at);
    Note(1, static_cast<std::size_t>(50 - tenth % 2), at);
    Note(2, static_cast<std::size_t>(2 - tenth % 2), at);
    EXPECT_THAT(Overdrawn(at), IsEmpty()) << tenth;
  }
  EXPECT_THAT(Overdrawn(std::chrono::seconds(2)), ElementsAre(1));
}

TEST_F(WatchBudgetTest, ATimeWithRoomIsForgiven) {
  Note(0, 70, Duration(0));
  EXPECT_THAT(Overdrawn(Duration(0)), IsEmpty());
  Note(0, 10, std::chrono::milliseconds(100));
  EXPECT_THAT(Overdrawn(std::chrono::seconds(10)), IsEmpty());
  Note(0, 9, std::chrono::seconds(10));
  Note(0, 80, std::chrono::seconds(10));
  EXPECT_THAT(Overdrawn(std::chrono::seconds(10)), IsEmpty());
}

}  // namespace
}  // namespace berth::apiserver
