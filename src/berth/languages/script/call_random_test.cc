// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/script/call_random.h"

#include <gtest/gtest.h>

namespace berth::script {
namespace {

TEST(CallRandom, TheSourceIsAskedOnceACallAndOnlyWhenItDraws) {
  int asked = 0;
  CallRandom random;
  random.SetSource([&asked] { return std::optional<Random>(Random(static_cast<std::uint64_t>(++asked))); });
  random.BeginCall();
  EXPECT_EQ(asked, 0);
  const std::uint64_t first = random.Draw()->Next();
  random.Draw();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(first, Random(1).Next());
  random.BeginCall();
  EXPECT_EQ(random.Draw()->Next(), Random(2).Next()) << "what an earlier call drew matters";
}

TEST(CallRandom, WhoMayNotDrawGetsAReason) {
  CallRandom random;
  EXPECT_EQ(random.Draw(), nullptr);
  EXPECT_STREQ(random.reason(), "math.random draws within calls only");
  random.SetSource([] { return std::optional<Random>(); });
  random.SetReason("not now");
  EXPECT_EQ(random.Draw(), nullptr);
  EXPECT_STREQ(random.reason(), "not now");
}

}  // namespace
}  // namespace berth::script
