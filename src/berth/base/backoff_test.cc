// SPDX-License-Identifier: Apache-2.0
#include "berth/base/backoff.h"

#include <chrono>

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BackoffTest, DoublesUpToTheMost) {
  EXPECT_EQ(Doubled(milliseconds(100), seconds(1), 0), milliseconds(100));
  EXPECT_EQ(Doubled(milliseconds(100), seconds(1), 3), milliseconds(800));
  EXPECT_EQ(Doubled(milliseconds(100), seconds(1), 4), seconds(1));
  EXPECT_EQ(Doubled(milliseconds(100), seconds(1), 1'000'000), seconds(1));
}

TEST(BackoffTest, JitterStaysWithinItsBounds) {
  Random random(1);
  Duration least = seconds(1);
  Duration most{0};
  for (int i = 0; i < 1000; ++i) {
    const Duration delay = WithJitter(milliseconds(100), random);
    least = std::min(least, delay);
    most = std::max(most, delay);
    EXPECT_GE(WithJitterAbove(milliseconds(100), random), milliseconds(100));
    EXPECT_LE(WithJitterAbove(milliseconds(100), random), milliseconds(125));
  }
  EXPECT_GE(least, milliseconds(50));
  EXPECT_LT(least, milliseconds(55));
  EXPECT_GT(most, milliseconds(95));
  EXPECT_LE(most, milliseconds(100));
}

}  // namespace
}  // namespace berth
