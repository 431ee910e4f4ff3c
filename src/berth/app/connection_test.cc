// SPDX-License-Identifier: Apache-2.0
#include "berth/app/connection.h"

#include <optional>

#include <gtest/gtest.h>

namespace berth::app {
namespace {

TEST(ConnectionTest, TheRateLimitIsThatOfKubeScheduler) {
  const struct {
    std::optional<double> qps;
    std::optional<int> burst;
    double want_qps;
    int want_burst;
  } cases[] = {
      {5, 6, 5, 6},
      {5, std::nullopt, 5, 100},
      {500, std::nullopt, 500, 100},
      {-1, 7, 0, 0},  // no limit, and the burst is ignored
      {-1, std::nullopt, 0, 0},
      {std::nullopt, 7, 0, 0},
      {std::nullopt, std::nullopt, 0, 0},
  };
  for (const auto& each : cases) {
    ConnectionOptions options;
    options.qps = each.qps;
    options.burst = each.burst;
    const RateLimit limit = RateLimitOf(options);
    EXPECT_EQ(limit.qps, each.want_qps) << each.qps.value_or(0) << " " << each.burst.value_or(0);
    EXPECT_EQ(limit.burst, each.want_burst) << each.qps.value_or(0) << " " << each.burst.value_or(0);
  }
}

}  // namespace
}  // namespace berth::app
