// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/free_memory.h"

#include <gtest/gtest.h>

namespace berth::net {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(FreedMemoryTest, ReturnsWhatWasFreedSinceTheLastTime) {
  FreedMemory freed;
  EXPECT_FALSE(freed.IsEnough(0));
  EXPECT_FALSE(freed.IsEnough(3 * kMebibyte));
  EXPECT_TRUE(freed.IsEnough(70 * kMebibyte));
  // Free still, and with the system already.
  EXPECT_FALSE(freed.IsEnough(70 * kMebibyte));
  EXPECT_FALSE(freed.IsEnough(73 * kMebibyte));
  EXPECT_TRUE(freed.IsEnough(74 * kMebibyte));
}

TEST(FreedMemoryTest, CountsWhatIsUsedAgainAndFreedAgain) {
  FreedMemory freed;
  EXPECT_TRUE(freed.IsEnough(70 * kMebibyte));
  EXPECT_FALSE(freed.IsEnough(10 * kMebibyte));
  EXPECT_TRUE(freed.IsEnough(70 * kMebibyte));
}

}  // namespace
}  // namespace berth::net
