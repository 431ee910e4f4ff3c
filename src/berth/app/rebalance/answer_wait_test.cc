// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance/answer_wait.h"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

// Goes on by a second with each look.
class SecondsClock final : public Clock {
 public:
  Time Now() const override { return now_ += std::chrono::seconds(1); }
  Time WallNow() const override { return now_; }
  int seconds() const { return static_cast<int>(now_.time_since_epoch() / std::chrono::seconds(1)); }

 private:
  mutable Time now_{};
};

TEST(AnswerWaitTest, TakesAnAnswerThatIsThereHoweverLateItIs) {
  const SecondsClock clock;
  AnswerWait wait(clock, [] { return true; });
  std::promise<int> promise;
  promise.set_value(7);
  for (int i = 0; i < 10; ++i) clock.Now();
  const auto answer = promise.get_future();
  EXPECT_TRUE(wait.Await(answer));
}

TEST(AnswerWaitTest, WaitsAsLongAsTheProgramGoesOnAndTwoSecondsAtItsEnd) {
  const SecondsClock clock;
  int looks = 0;
  AnswerWait wait(clock, [&looks] { return ++looks > 3; });
  std::promise<int> promise;
  const auto answer = promise.get_future();
  EXPECT_FALSE(wait.Await(answer));
  EXPECT_EQ(looks, 4);
  const int ended = clock.seconds();
  EXPECT_LE(ended, 4);
  // The next one has no time of its own.
  EXPECT_FALSE(wait.Await(answer));
  EXPECT_LE(clock.seconds(), ended + 1);
  EXPECT_TRUE(AnswerWait::BrokenOff().outcome_unknown);
}

}  // namespace
}  // namespace berth::app
