// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/affinity_counts.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace berth::plugins {
namespace {

std::vector<Topology::Ordinal> Nonzero(const TopologyCounter& counter) {
  std::vector<Topology::Ordinal> ordinals;
  counter.CollectNonzero(ordinals);
  return ordinals;
}

// Sums are counted anew from hash maps, whose order differs from process to process; replays would too.
TEST(TopologyCounter, ForgetsTheOrderInWhichSumsCame) {
  for (const std::size_t count : {std::size_t{5}, TopologyCounter::kListMax, TopologyCounter::kListMax + 30}) {
    std::vector<Topology::Ordinal> order;
    for (std::size_t i = 0; i < count; ++i) order.push_back(static_cast<Topology::Ordinal>(1 + i * 7 % 997));
    TopologyCounter one(CountKind::kScore, 0, 1000);
    TopologyCounter other(CountKind::kScore, 0, 1000);
    for (const Topology::Ordinal ordinal : order) one.Add(ordinal, 3, 1);
    std::reverse(order.begin(), order.end());
    for (const Topology::Ordinal ordinal : order) other.Add(ordinal, 3, 1);
    ASSERT_NE(Nonzero(one), Nonzero(other)) << "the test would show nothing";
    one.ForgetOrder();
    other.ForgetOrder();
    EXPECT_EQ(Nonzero(one), Nonzero(other)) << count;
    EXPECT_EQ(Nonzero(one).size(), count);
    for (const Topology::Ordinal ordinal : order) EXPECT_EQ(one.Get(ordinal), 3);
  }
}

}  // namespace
}  // namespace berth::plugins
