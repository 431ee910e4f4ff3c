// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/victim_ranking.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using testing::MakePod;
using Kind = VictimUnit::Kind;
using Indices = std::vector<std::size_t>;

// A unit whose pods are on these nodes.
VictimUnit Unit(std::int32_t priority, const std::vector<std::string>& nodes, Kind kind = Kind::kPod) {
  static int count = 0;
  VictimUnit unit{kind, priority, {}};
  for (const std::string& node : nodes)
    unit.pods.push_back(MakePod("pod-" + std::to_string(++count)).Node(node).Priority(priority).Info());
  return unit;
}

Indices Cheapest(const VictimRanking& ranking, const std::vector<std::string_view>& nodes = {"a", "b"}) {
  return ranking.Cheapest(nodes);
}

TEST(VictimRanking, TheFirstDifferenceDecides) {
  const struct {
    const char* name;
    std::vector<VictimUnit> units;  // the most important first
    std::vector<std::int64_t> violations;
    Indices want;  // of the nodes a and b
  } cases[] = {
      {"no victims at all", {}, {}, {0, 1}},
      {"a node without victims", {Unit(1, {"a"})}, {0}, {1}},
      {"equal", {Unit(1, {"a"}), Unit(1, {"b"})}, {0, 0}, {0, 1}},
      {"budgets before priorities", {Unit(9, {"b"}), Unit(1, {"a"})}, {0, 1}, {1}},
      {"the highest priority", {Unit(9, {"a"}), Unit(1, {"b"}), Unit(1, {"b"})}, {0, 0, 0}, {1}},
      {"pods of the highest priority", {Unit(9, {"a", "a"}), Unit(9, {"b"}), Unit(1, {"b"})}, {0, 0, 0}, {1}},
      {"pods of the next priority",
       {Unit(9, {"a"}), Unit(9, {"b"}), Unit(1, {"a"}), Unit(1, {"a"}), Unit(1, {"b"})},
       {0, 0, 0, 0, 0},
       {1}},
      {"pods of all priorities", {Unit(9, {"a"}), Unit(9, {"b"}), Unit(1, {"a"})}, {0, 0, 0}, {1}},
      {"a pod before a group of one", {Unit(1, {"a"}, Kind::kPodGroup), Unit(1, {"b"})}, {0, 0}, {1}},
      {"a large group before two pods",
       {Unit(1, {"a", "a"}, Kind::kPodGroup), Unit(1, {"b"}), Unit(1, {"b"})},
       {0, 0, 0},
       {1}},
      {"pods on other nodes count",
       {Unit(1, {"a", "c"}, Kind::kPodGroup), Unit(1, {"b"}, Kind::kPodGroup)},
       {0, 0},
       {1}},
  };
  for (const auto& test : cases)
    EXPECT_EQ(Cheapest(VictimRanking(test.units, test.violations)), test.want) << test.name;
}

TEST(VictimRanking, WhatHasToGoAnywayCostsNothing) {
  const std::vector<VictimUnit> units = {Unit(5, {"a", "b"}, Kind::kPodGroup), Unit(1, {"b"}), Unit(1, {"c"})};
  const std::vector<std::int64_t> violations = {0, 0, 0};
  VictimRanking ranking(units, violations);
  const std::vector<std::string_view> nodes = {"a", "b", "c"};
  EXPECT_EQ(Cheapest(ranking, nodes), Indices{2});
  ranking.Place("first", "a");
  EXPECT_EQ(Cheapest(ranking, nodes), Indices{0}) << "the group goes from both of its nodes";
  EXPECT_EQ(Cheapest(ranking, {"b", "c"}), (Indices{0, 1}));
  ranking.Place("second", "b");
  EXPECT_EQ(Cheapest(ranking, nodes), (Indices{0, 1}));
  ranking.TakeBack("second");
  EXPECT_EQ(Cheapest(ranking, nodes), Indices{0});
  ranking.TakeBack("first");
  ranking.TakeBack("first");
  EXPECT_EQ(Cheapest(ranking, nodes), Indices{2});
}

}  // namespace
}  // namespace berth::plugins
