// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/informer_liveness.h"

#include <gtest/gtest.h>

namespace berth::runner {
namespace {

using std::chrono::minutes;

TEST(InformerLivenessTest, NamesThoseThatHearNothing) {
  InformerLiveness liveness;
  const Time start = Time(std::chrono::hours(1));
  std::vector<FeedSource> sources = {{"nodes", true, {.lists = 1}}, {"pods", true, {.lists = 1}}};
  EXPECT_EQ(liveness.Look(sources, start), std::nullopt);
  EXPECT_EQ(liveness.Look(sources, start + minutes(4)), std::nullopt);
  sources[0].stats.bookmarks = 1;
  EXPECT_EQ(liveness.Look(sources, start + minutes(5)), "nothing has been heard of for more than 4m0s: pods");
  sources[1].stats.events = 1;
  EXPECT_EQ(liveness.Look(sources, start + minutes(6)), std::nullopt);
  // Trying in vain is no sign of life.
  sources[0].stats.failures = 7;
  sources[1].stats.watches = 1;
  EXPECT_EQ(liveness.Look(sources, start + minutes(10)), "nothing has been heard of for more than 4m0s: nodes");
}

TEST(InformerLivenessTest, KindsThatAreNotServedAreNotWaitedFor) {
  InformerLiveness liveness;
  const std::vector<FeedSource> sources = {{"resourceclaims", true, {.failures = 1}}};
  EXPECT_EQ(liveness.Look(sources, Time(minutes(1))), std::nullopt);
  EXPECT_EQ(liveness.Look(sources, Time(minutes(60))), std::nullopt);
}

TEST(InformerLivenessTest, NamesThoseThatHaveNotBeenListed) {
  EXPECT_EQ(NotSynced({{"nodes", true, {}}, {"pods", true, {}}}), std::nullopt);
  EXPECT_EQ(NotSynced({{"nodes", false, {}}, {"pods", true, {}}, {"csinodes", false, {}}}),
            "handlers are not fully synchronized: nodes, csinodes");
}

TEST(InformerLivenessTest, SaysWhy) {
  client::ReflectorStats refused{.failures = 1};
  refused.failure = Error{ErrorCode::kForbidden, "while listing nodes: nodes is forbidden"};
  const std::vector<FeedSource> sources = {{"nodes", false, refused}, {"pods", false, {}}};
  EXPECT_EQ(NotSynced(sources),
            "handlers are not fully synchronized: nodes (while listing nodes: nodes is forbidden), pods");
  EXPECT_EQ(NotSyncedInBrief(sources), "handlers are not fully synchronized: nodes (Forbidden), pods");
  InformerLiveness liveness;
  EXPECT_EQ(liveness.Look({{"nodes", true, refused}}, Time(minutes(1))), std::nullopt);
  refused.lists = 1;
  EXPECT_EQ(liveness.Look({{"nodes", true, refused}}, Time(minutes(2))), std::nullopt);
  EXPECT_EQ(liveness.Look({{"nodes", true, refused}}, Time(minutes(7))),
            "nothing has been heard of for more than 4m0s: nodes (while listing nodes: nodes is forbidden)");
}

}  // namespace
}  // namespace berth::runner
