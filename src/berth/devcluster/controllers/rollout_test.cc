// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/rollout.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/codec/json.h"

namespace berth::controllers {
namespace {

codec::json::object Spec(const std::string& text) { return codec::ParseJson(text)->as_object(); }

TEST(RolloutBounds, AreUpstreams) {
  struct Case {
    const char* name;
    const char* spec;
    std::int64_t replicas;
    std::int64_t surge;
    std::int64_t unavailable;
  };
  const Case cases[] = {
      {"a quarter each where nothing is said", "{}", 10, 3, 2},
      {"percentages, up and down", R"({"strategy":{"rollingUpdate":{"maxSurge":"34%","maxUnavailable":"34%"}}})", 10, 4,
       3},
      {"numbers", R"({"strategy":{"rollingUpdate":{"maxSurge":2,"maxUnavailable":0}}})", 10, 2, 0},
      {"one must be able to move", R"({"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}}})", 10, 0, 1},
      {"a quarter of three", "{}", 3, 1, 0},
      {"a quarter of one", "{}", 1, 1, 0},
      {"a quarter of none", "{}", 0, 0, 0},
      {"never more than there are", R"({"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":5}}})", 3, 1, 3},
      {"text that is no number", R"({"strategy":{"rollingUpdate":{"maxSurge":"many","maxUnavailable":"1x"}}})", 4, 1,
       1},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const RolloutBounds bounds = ReadRolloutBounds(Spec(each.spec), each.replicas);
    EXPECT_EQ(bounds.surge_max, each.surge);
    EXPECT_EQ(bounds.unavailable_max, each.unavailable);
  }
}

TEST(Rollout, NextStep) {
  constexpr bool kNew = true;
  constexpr bool kOld = false;
  struct Case {
    const char* name;
    RolloutPlan plan;
    std::vector<std::int64_t> want;
  };
  const Case cases[] = {
      {"the first set gets all", {.replicas = 3, .bounds = {1, 0}, .sets = {{kNew, 0, 0}}}, {3}},
      {"grows", {.replicas = 50, .bounds = {13, 12}, .sets = {{kNew, 3, 3}}}, {50}},
      {"shrinks", {.replicas = 1, .bounds = {1, 0}, .sets = {{kNew, 3, 3}}}, {1}},
      {"a new set gets the surge", {.replicas = 4, .bounds = {1, 1}, .sets = {{kOld, 4, 4}, {kNew, 0, 0}}}, {4, 1}},
      {"then old ones go down to the minimum",
       {.replicas = 4, .bounds = {1, 1}, .sets = {{kOld, 4, 4}, {kNew, 1, 0}}},
       {3, 1}},
      {"no step before new ones are available",
       {.replicas = 4, .bounds = {1, 0}, .sets = {{kOld, 4, 4}, {kNew, 1, 0}}},
       {4, 1}},
      {"an available one frees an old one",
       {.replicas = 4, .bounds = {1, 0}, .sets = {{kOld, 4, 4}, {kNew, 1, 1}}},
       {3, 1}},
      {"broken old ones go first",
       {.replicas = 4, .bounds = {1, 1}, .sets = {{kOld, 2, 2}, {kOld, 2, 0}, {kNew, 1, 0}}},
       {2, 1, 1}},
      {"the oldest goes first",
       {.replicas = 4, .bounds = {0, 2}, .sets = {{kOld, 2, 2}, {kOld, 2, 2}, {kNew, 0, 0}}},
       {0, 2, 0}},
      {"done", {.replicas = 4, .bounds = {1, 1}, .sets = {{kOld, 0, 0}, {kNew, 4, 4}}}, {0, 4}},
      {"paused: nothing moves",
       {.replicas = 4, .bounds = {1, 1}, .is_paused = true, .sets = {{kOld, 4, 4}, {kNew, 0, 0}}},
       {4, 0}},
      {"paused: the number follows", {.replicas = 2, .bounds = {1, 1}, .is_paused = true, .sets = {{kOld, 4, 4}}}, {2}},
      {"Recreate ends the old",
       {.replicas = 3, .is_recreate = true, .has_old_pods = true, .sets = {{kOld, 3, 3}, {kNew, 0, 0}}},
       {0, 0}},
      {"Recreate waits for them",
       {.replicas = 3, .is_recreate = true, .has_old_pods = true, .sets = {{kOld, 0, 0}, {kNew, 0, 0}}},
       {0, 0}},
      {"Recreate starts the new", {.replicas = 3, .is_recreate = true, .sets = {{kOld, 0, 0}, {kNew, 0, 0}}}, {0, 3}},
      {"no sets", {.replicas = 3}, {}},
  };
  for (const Case& each : cases) EXPECT_EQ(NextReplicas(each.plan), each.want) << each.name;
}

// Whatever becomes available when: the bounds hold at each step, and the rollout ends.
TEST(Rollout, KeepsItsBoundsAndEnds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RolloutPlan plan;
    plan.replicas = static_cast<std::int64_t>(random.Below(12));
    plan.bounds = {static_cast<std::int64_t>(random.Below(4)), static_cast<std::int64_t>(random.Below(4))};
    if (plan.bounds.surge_max + plan.bounds.unavailable_max == 0) plan.bounds.unavailable_max = 1;
    plan.sets = {{false, plan.replicas, plan.replicas}, {true, 0, 0}};
    const std::int64_t available_min = std::max<std::int64_t>(plan.replicas - plan.bounds.unavailable_max, 0);
    int step = 0;
    for (; step < 500; ++step) {
      const auto next = NextReplicas(plan);
      for (std::size_t i = 0; i < 2; ++i) {
        plan.sets[i].replicas = next[i];
        plan.sets[i].available = std::min(plan.sets[i].available, next[i]);
      }
      EXPECT_LE(next[0] + next[1], plan.replicas + plan.bounds.surge_max);
      EXPECT_GE(plan.sets[0].available + plan.sets[1].available, available_min);
      if (next[0] == 0 && next[1] == plan.replicas && plan.sets[1].available == plan.replicas) break;
      const auto missing = static_cast<std::uint64_t>(next[1] - plan.sets[1].available);
      if (missing > 0) plan.sets[1].available += static_cast<std::int64_t>(random.Below(missing + 1));
    }
    EXPECT_LT(step, 500);
  }
}

}  // namespace
}  // namespace berth::controllers
