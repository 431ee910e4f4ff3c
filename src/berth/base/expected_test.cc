// SPDX-License-Identifier: Apache-2.0
#include "berth/base/expected.h"

#include <string>

#include <gtest/gtest.h>

namespace berth {
namespace {

Expected<int> Half(int x) {
  if (x % 2 != 0) return InvalidError("odd");
  return x / 2;
}

Expected<int> Quarter(int x) {
  BERTH_ASSIGN_OR_RETURN(const int half, Half(x));
  return Half(half);
}

TEST(Expected, CarriesValueOrError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  const auto failed = Quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "odd");
  EXPECT_EQ(failed.error().Wrap("while dividing").message, "while dividing: odd");
}

TEST(ExpectedDeathTest, ReadingAMissingValueIsABug) {
  EXPECT_DEATH((void)Half(1).value(), "check failed: ok\\(\\) with odd");
}

}  // namespace
}  // namespace berth
